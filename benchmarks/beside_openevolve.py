"""R3 remix beside OpenEvolve: candidates judged per hour, with the same rewrites of one kernel as answers.

Needs OpenEvolve (``pip install openevolve==0.4.1``) and R3's extra ``remix``. A model server of R3's tests, on this
machine, gives each tool the same rewrites in the same order, without delay: R3 as regions, OpenEvolve as the file that
they make. R3 judges by replay; OpenEvolve's evaluator builds the application (nothing but the changed file, in a warm
tree), runs it once and compares what it prints. Both run in turn, A B A B. The clock runs from a tool's first question
to its last verdict, so that neither tool's start counts; ``whole`` is the whole command, R3's finals included.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.common import ROOT, Options, Summary, options_of, options_parser, report, run, toolchain_words
from benchmarks.examples import WEATHER, MiniApp, recorded
from r3cc.record.cpu_device import cpu_environment
from r3cc.remix.archive import features
from r3cc.remix.events import LoopSettings, Verdict, read_transcript
from r3cc.remix.loop.policy import open_policy
from r3cc.remix.model import Region, Texts
from r3cc.remix.planning import Unusable
from r3cc.remix.prompts.answers import format_answer, parse_answer
from r3cc.remix.proposers import open_proposers
from r3cc.remix.proposers.rules.proposer import RulesProposer
from r3cc.remix.search import Allowed
from r3cc.remix.session import Question, RemixSession
from r3cc.remix.source import ModuleSource
from r3cc.remix.source.parameters import expand, parameters_of
from r3cc.remix.watching import Silent
from r3cc.replay.events import Result
from r3cc.store import Store
from r3cc.store.demangle import base_name
from r3cc.store.model import Kernel
from r3cc.store.search import Search
from r3cc.tune.plan import Choice, KernelOptions
from tests.remix.fake_server import FakeServer

PEER = "0.4.1"
KERNEL = "tendencies_z"
CONCURRENCY = 4
OPENEVOLVE_SAYS = "# Program Evolution History"
"""What tells OpenEvolve's prompts from R3's."""
EVALUATOR = Path(__file__).parent / "openevolve_evaluator.py"


@dataclass(frozen=True)
class Rewrite:
    """One candidate, in the form of either tool's answers."""

    regions: str
    file: str


@dataclass
class Model:
    """Gives the rewrites one after the other, whatever is asked."""

    rewrites: Sequence[Rewrite]
    began: float = 0.0
    """Time of the first question."""
    _given: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, prompt: str) -> str:
        """The next rewrite; the last one again when there are no more."""
        with self._lock:
            self.began = self.began or time.time()
            rewrite = self.rewrites[min(self._given, len(self.rewrites) - 1)]
            self._given += 1
        return f"```cpp\n{rewrite.file}\n```\n" if OPENEVOLVE_SAYS in prompt else rewrite.regions


@dataclass(frozen=True)
class Judged:
    """One search of one tool. Seconds of its clock, and of the whole command."""

    candidates: int
    seconds: float
    whole: float
    ends: Mapping[str, int]
    """How the candidates ended."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """Mean seconds of a candidate's parts, where the tool works through them one after the other."""
    workers: int = 1

    @property
    def hourly(self) -> float:
        return 3600.0 * self.candidates / self.seconds

    @property
    def whole_hourly(self) -> float:
        return 3600.0 * self.candidates / self.whole

    def hourly_without(self, stage: str) -> float:
        """As if one part of each candidate took no time."""
        spared = self.stages.get(stage, 0.0) * self.candidates / self.workers
        return 3600.0 * self.candidates / max(self.seconds - spared, 1e-9)


class Quiet(Silent):
    """Nothing but why a kernel can't be had."""

    def unusable(self, kernel: Unusable) -> None:
        raise SystemExit(f"{kernel.kernel.demangled}: {kernel.reason}")

    def sends(self, files: Sequence[str], destinations: Sequence[str]) -> None:
        """Nowhere but to this machine."""

    def begins(self, search: Search, continued: bool) -> None:
        """Nothing."""


def main() -> None:
    parser = options_parser(__doc__ or "")
    parser.add_argument("--candidates", type=int, default=32, help="rewrites that each search judges [32]")
    parser.add_argument("--rounds", type=int, default=3, help="searches of each tool [3]")
    parser.add_argument("--openevolve-workers", type=int, default=len(os.sched_getaffinity(0)), help="[all cores]")
    given = parser.parse_args()
    options = options_of(given)
    require_openevolve()
    count, rounds = (4, 1) if options.quick else (given.candidates, given.rounds)
    with recorded(WEATHER, options) as store:
        kernel = next(each for each in store.kernels(store.recording(None).id) if base_name(each.demangled) == KERNEL)
        rewrites = rewrites_of(store, kernel, count)
        found: dict[str, list[Judged]] = {"r3": [], "openevolve": []}
        for _ in range(rounds):
            found["r3"].append(by_r3(options, store, kernel, rewrites))
            found["openevolve"].append(by_openevolve(options, WEATHER, rewrites, given.openevolve_workers))
    tell(options, found)


def require_openevolve() -> None:
    try:
        installed = version("openevolve")
    except PackageNotFoundError:
        installed = ""
    if installed != PEER:
        raise SystemExit(f"this needs OpenEvolve {PEER}: pip install openevolve=={PEER}")


def rewrites_of(store: Store, kernel: Kernel, count: int) -> list[Rewrite]:
    """The first rewrites that R3's catalogue has for the kernel, parameters at their defaults."""
    with ModuleSource.open(store, kernel.module) as module:
        regions = module.regions(kernel.name)
    if len({region.path for region in regions}) != 1:
        raise SystemExit(f"{kernel.demangled}: its regions lie in several files, and OpenEvolve evolves one")
    source = (ROOT / WEATHER.source).read_text(encoding="utf-8")
    original = {region.name: region.text for region in regions}
    rules = RulesProposer()
    texts: list[dict[str, str]] = []
    while len(texts) < count:
        answer = rules.answer(original, len(texts))
        if answer is None:
            raise SystemExit(f"the catalogue has {len(texts)} rewrites of {kernel.demangled}, not {count}")
        parsed = parse_answer(answer, original)
        texts.append(with_defaults(original | dict(getattr(parsed, "texts", {}))))
    return [
        Rewrite(format_answer(f"rewrite {number}", each), replaced(source, regions, each))
        for number, each in enumerate(texts)
    ]


def with_defaults(texts: Texts) -> dict[str, str]:
    values = {parameter.name: parameter.values[0] for parameter in parameters_of(texts)}
    return {name: expand(text, values) for name, text in texts.items()}


def replaced(source: str, regions: Sequence[Region], texts: Texts) -> str:
    """The file with other texts of its regions, whose offsets are in bytes."""
    content = source.encode()
    for region in sorted(regions, key=lambda each: each.begin, reverse=True):
        content = content[: region.begin] + texts[region.name].encode() + content[region.end :]
    return content.decode()


def by_r3(options: Options, store: Store, kernel: Kernel, rewrites: Sequence[Rewrite]) -> Judged:
    """One search in a copy of the store that has no code cached, without repairs and without the nested tuner."""
    path = options.out / "beside-r3-store"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(store.path, path, ignore=shutil.ignore_patterns("cache", "searches", "variants"))
    dimensions = features.ON_CPU if options.device == "cpu" else features.ON_GPU
    settings = LoopSettings(dimensions=dimensions, repairs=0, tune_evaluations=0)
    model, start = Model(rewrites), time.monotonic()
    with FakeServer(answer=model.answer) as server, Store.open(path) as opened:
        specs = (f"openai:fixed@{server.url}/v1",)
        choice = Choice(kernel, options.device, KernelOptions(), False)
        question = Question(opened.recording(None).id, (choice,), specs, "fixed", 1, settings)
        allowed = Allowed(proposals=len(rewrites), concurrency=CONCURRENCY)
        session = RemixSession(opened, question, open_proposers(specs), open_policy("fixed"), allowed)
        search = session.run(Quiet(), fresh=True)
    events = read_transcript(search.events_path)
    verdicts = [event for event in events if isinstance(event, Verdict)]
    if len(verdicts) < len(rewrites):
        notes = [event.note for event in events if isinstance(event, Result)]
        raise SystemExit(f"R3 judged {len(verdicts)} of {len(rewrites)} candidates: {'; '.join(notes)}")
    ends = Counter(verdict.reason or "measured" for verdict in verdicts)
    return Judged(len(verdicts), verdicts[-1].at - model.began, time.monotonic() - start, ends)


def by_openevolve(options: Options, app: MiniApp, rewrites: Sequence[Rewrite], workers: int) -> Judged:
    """One search with full rewrites; each worker has a build tree of its own, warmed before the clock starts."""
    folder = options.out / "beside-openevolve"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    task, evaluations = folder / "task.json", folder / "evaluations.jsonl"
    task.write_text(json.dumps(task_of(options, app, folder, workers)))
    initial = folder / "initial.cu"
    shutil.copy(ROOT / app.source, initial)
    model, start = Model(rewrites), time.monotonic()
    with FakeServer(answer=model.answer) as server:
        config = folder / "config.yaml"
        config.write_text(json.dumps(config_of(f"{server.url}/v1", task, workers)))
        files = [str(initial), str(EVALUATOR), "--config", str(config), "--output", str(folder / "out")]
        command = [sys.executable, "-m", "openevolve.cli", *files, "--iterations", str(len(rewrites))]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    whole = time.monotonic() - start
    lines = [json.loads(line) for line in evaluations.read_text().splitlines()] if evaluations.exists() else []
    judged = [line for line in lines if line["began"] > model.began > 0]
    if done.returncode != 0 or len(judged) < len(rewrites):
        raise SystemExit(f"OpenEvolve judged {len(judged)} of {len(rewrites)} candidates:\n{done.stderr[-3000:]}")
    parts = sorted({name for line in judged for name in line["stages"]})
    stages = {name: sum(line["stages"].get(name, 0.0) for line in judged) / len(judged) for name in parts}
    ends = Counter(line["end"] for line in judged)
    return Judged(len(judged), max(line["ended"] for line in judged) - model.began, whole, ends, stages, workers)


def task_of(options: Options, app: MiniApp, folder: Path, workers: int) -> dict[str, object]:
    """What the evaluator needs to know; makes the trees."""
    arguments = list(app.small if options.device == "cpu" else app.large)
    compiler, libraries = toolchain_words(options)
    compile_line = [*compiler, "-c", "app.cu", "-o", "app.o"]
    link_line = [*compiler, "app.o", "-o", "app", *libraries]
    trees = workers + 1  # OpenEvolve's own process judges the original, and keeps its tree
    for number in range(trees):
        tree = folder / f"tree{number}"
        tree.mkdir()
        shutil.copy(ROOT / app.source, tree / "app.cu")
        for line in (compile_line, link_line):
            subprocess.run(line, cwd=tree, check=True)
        printed = run([tree / "app", *arguments], environment_of(options, tree))
    return {
        "device": options.device,
        "folder": str(folder),
        "compile": compile_line,
        "link": link_line,
        "arguments": arguments,
        "expected": printed,
        "trees": trees,
    }


def environment_of(options: Options, tree: Path) -> dict[str, str]:
    """On the cpu device a program's kernels are compiled for the host before it starts, as ``r3 record`` does it."""
    if options.device != "cpu":
        return {}
    with Store.create(tree / "store") as store:
        return cpu_environment(tree / "app", store)


def config_of(url: str, task: Path, workers: int) -> dict[str, object]:
    """OpenEvolve's defaults, but for what the answers' form, the server and the file's length ask for."""
    return {
        "language": "cpp",
        "file_suffix": ".cu",
        "diff_based_evolution": False,
        "max_code_length": 1_000_000,
        "checkpoint_interval": 1_000_000,
        "llm": {"api_base": url, "api_key": "none", "models": [{"name": "fixed", "weight": 1.0}], "retries": 0},
        "evaluator": {
            "cascade_evaluation": False,
            "parallel_evaluations": workers,
            "evaluator_args": {"task": str(task)},
        },
    }


def tell(options: Options, found: Mapping[str, Sequence[Judged]]) -> None:
    hourly = {tool: Summary.of([each.hourly for each in searches]) for tool, searches in found.items()}
    whole = {tool: Summary.of([each.whole_hourly for each in searches]) for tool, searches in found.items()}
    pairs = list(zip(found["r3"], found["openevolve"], strict=True))
    ratios = {
        "ratio": Summary.of([ours.hourly / theirs.hourly for ours, theirs in pairs]),
        "ratio, whole command": Summary.of([ours.whole_hourly / theirs.whole_hourly for ours, theirs in pairs]),
    }
    if options.device == "cpu":
        bare = [ours.hourly / theirs.hourly_without("prepare") for ours, theirs in pairs]
        ratios["ratio, the peer's prepare left out"] = Summary.of(bare)
    rows = [(f"{tool}, judged per hour", per_hour(each)) for tool, each in hourly.items()]
    rows += [(f"{tool}, whole command", per_hour(each)) for tool, each in whole.items()]
    rows += [(name, ratio.text("x")) for name, ratio in ratios.items()]
    rows += [(f"{tool}, ends", counted(searches)) for tool, searches in found.items()]
    for name in found["openevolve"][-1].stages:
        seconds = Summary.of([each.stages[name] for each in found["openevolve"]])
        rows.append((f"openevolve, {name}", seconds.text("s")))
    report(options, "beside_openevolve", {"searches": found, "hourly": hourly, "whole": whole, "ratios": ratios}, rows)


def per_hour(found: Summary) -> str:
    return f"{found.median:.0f} ({found.low:.0f} to {found.high:.0f})"


def counted(searches: Sequence[Judged]) -> str:
    total: Counter[str] = Counter()
    for each in searches:
        total.update(each.ends)
    return ", ".join(f"{name} {count}" for name, count in total.most_common())


if __name__ == "__main__":
    main()
