"""An evaluator without a compiler: a deterministic model of a kernel's time, with noise and failures of every kind."""

from __future__ import annotations

import copy
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

import msgspec
import numpy as np

from r3cc.llvm import KernelDescription
from r3cc.replay.events import KernelPlan
from r3cc.replay.model import Candidate, Evaluation, Interval, Status, TimingPlan
from r3cc.tune.blocks import Shape
from r3cc.tune.edits import BasePipeline
from r3cc.tune.knobs import KERNEL_KNOBS
from r3cc.tune.passes import vocabulary
from r3cc.tune.space import Space

BASE_TEXT = (
    "globalopt,function(sroa<modify-cfg>,early-cse<>),cgscc(inline,function(instcombine<no-verify-fixpoint>,"
    "loop-mssa(licm<allowspeculation>),gvn<>,dse)),function(slp-vectorizer,loop-unroll<O3>,sink,adce),globaldce"
)
FUNCTION_PASSES = (
    "sroa early-cse instcombine gvn dse slp-vectorizer loop-unroll sink adce slsr nary-reassociate newgvn bdce dce "
    "sccp reassociate jump-threading mem2reg float2int consthoist flatten-cfg loop-sink loop-fusion gvn-hoist"
)
LISTING = {
    "module": ["globalopt", "globaldce", "constmerge"],
    "cgscc": ["inline", "argpromotion"],
    "function": FUNCTION_PASSES.split(),
    "loop": ["indvars", "loop-deletion", "loop-idiom", "loop-unroll-full"],
    "loop-mssa": ["licm", "lnicm"],
    "parameters": {
        "loop-unroll": "O1;O2;O3;no-partial;partial;no-runtime;runtime",
        "licm": "allowspeculation;no-allowspeculation",
        "gvn": "no-pre;pre",
    },
}
CRASHES = (Status.COMPILE_ERROR, Status.COMPILE_TIMEOUT, Status.DEVICE_FAULT, Status.MISMATCH, Status.WORKER_LOST)
BASELINE_NS = 1e6
Model = Callable[[Candidate], float | Status]


def describe(**facts: object) -> KernelDescription:
    """A kernel that reads its block size and is otherwise plain."""
    plain = {
        "name": "k",
        "line": 1,
        "parameters": [],
        "globals": [],
        "reads_block_size": True,
        "reads_grid_size": False,
        "static_shared": 0,
        "dynamic_shared": False,
        "barriers": 0,
        "warp_operations": 0,
        "atomics": 0,
        "max_threads": None,
        "element_types": {},
        "global_element_types": {},
    }
    return msgspec.convert({**plain, **facts}, KernelDescription)


def space() -> Space:
    shape = Shape(grid=(64, 1, 1), block=(128, 1, 1))
    return Space(BasePipeline(BASE_TEXT), vocabulary(LISTING), KERNEL_KNOBS, describe(), [shape])


def plan(kernel: str = "abc", share: float = 1.0) -> KernelPlan:
    return KernelPlan(kernel=kernel, module="m", name="k", demangled="k(int)", share=share, numerics="rounding")


def rugged(candidate: Candidate) -> float | Status:
    """True time over the baseline's: single passes matter a little, pairs and orders more, some pipelines crash."""
    text = candidate.pipeline or BASE_TEXT
    codegen = dict(candidate.codegen)
    if "gvn<no-pre>" in text or text.count("inline") > 3:
        return CRASHES[_hash(lot(candidate)) % len(CRASHES)]
    ratio = 1.0
    ratio *= 0.9 if "slsr" in text else 1
    ratio *= 0.85 if 0 <= text.find("slsr") < text.rfind("nary-reassociate") else 1
    ratio *= 0.92 if text.count("licm") >= 3 else 1
    ratio *= 0.9 if "loop-unroll<" in text and "runtime" in text and "no-runtime" not in text else 1
    ratio *= 0.93 if "slp-vectorizer" not in text else 1
    ratio *= 1.25 if "sroa" not in text else 1
    ratio *= 1 + 0.01 * max(0, text.count(",") - 18)
    ratio *= {None: 1.0, "64": 0.9, "32": 1.3}.get(codegen.get("maxnreg"), 1.1)
    block = candidate.launch.block
    ratio *= 1.0 if block is None else 1 + 0.1 * abs(np.log2(block[0]) - 8) - 0.1
    return ratio


def indifferent(candidate: Candidate) -> float | Status:
    """Nothing that a search does matters."""
    return 1.0


def broken(candidate: Candidate) -> float | Status:
    """Everything but the baseline fails, each in another way."""
    return 1.0 if candidate == Candidate() else CRASHES[_hash(lot(candidate)) % len(CRASHES)]


def lot(candidate: Candidate) -> str:
    """What a candidate's noise and failures are drawn by."""
    return hashlib.sha256(msgspec.json.encode(candidate)).hexdigest()[:16]


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


class SyntheticEvaluator:
    """Real in all that a search sees of an evaluator. ``delay`` seconds pass for each evaluation, in order."""

    width = 3

    def __init__(self, model: Model = rugged, *, noise: float = 0.01, seed: int = 0, delay: float = 0.0) -> None:
        self._model = model
        self._noise = noise
        self._seed = seed
        self._delay = delay
        self._pool = ThreadPoolExecutor(1)
        self.submitted: Counter[str] = Counter()

    def fresh(self) -> Self:
        other = copy.copy(self)
        other._pool, other._seed = ThreadPoolExecutor(1), self._seed + 10007
        return other

    def prepare(self, jobs: int = 1) -> Future[int]:
        room: Future[int] = Future()
        room.set_result(0)
        return room

    def baseline(self) -> Evaluation:
        return self._evaluate(Candidate(), TimingPlan(samples=11))

    def submit(self, candidate: Candidate, plan: TimingPlan = TimingPlan()) -> Future[Evaluation]:  # noqa: B008
        self.submitted[candidate.id] += 1
        if self._delay:
            return self._pool.submit(self._evaluate, candidate, plan)
        future: Future[Evaluation] = Future()
        future.set_result(self._evaluate(candidate, plan))
        return future

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _evaluate(self, candidate: Candidate, plan: TimingPlan) -> Evaluation:
        time.sleep(self._delay)
        outcome = self._model(candidate)
        if isinstance(outcome, Status):
            return Evaluation(candidate, outcome, message="as the model says")
        ratio = self._interval(candidate, outcome, plan)
        scaled = Interval(*(BASELINE_NS * value for value in (ratio.median, ratio.low, ratio.high)), ratio.samples)
        baseline = Interval(BASELINE_NS, BASELINE_NS * 0.99, BASELINE_NS * 1.01, plan.samples)
        return Evaluation(
            candidate,
            Status.OK,
            object_hash=hashlib.sha256(candidate.canonical()).hexdigest(),
            time_ns=scaled,
            baseline_ns=baseline,
            ratio=ratio,
            launches=1,
        )

    def _interval(self, candidate: Candidate, true_ratio: float, plan: TimingPlan) -> Interval:
        """Median and its interval of noisy samples, with outliers; equal calls give equal ones."""
        samples, again = plan.samples, f" {plan.repetition}" if plan.repetition else ""
        rng = np.random.RandomState(_hash(f"{lot(candidate)} {self._seed} {samples}{again}"))
        drawn = true_ratio * np.exp(rng.normal(0, self._noise, samples))
        drawn = np.sort(np.where(rng.rand(samples) < 0.01, drawn * 1.3, drawn))
        half = int(np.ceil(0.98 * np.sqrt(samples)))
        middle = samples // 2
        low, high = drawn[max(0, middle - half)], drawn[min(samples - 1, middle + half)]
        return Interval(float(np.median(drawn)), float(low), float(high), samples)


def best_true_ratio(candidates: Sequence[Candidate], model: Model = rugged) -> float:
    """What a choice among candidates is really worth."""
    return min(value for candidate in candidates if isinstance(value := model(candidate), float))
