"""``r3 apply`` and ``r3 check`` on a store of the cpu device, from a search's log to exit statuses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner, Result

from r3cc.cli import r3
from r3cc.cli.apply import how_to_use
from r3cc.llvm.inspect import kernel_identity
from r3cc.replay.events import VERSION, Begin, End, Final, KernelPlan, RegionChange
from r3cc.replay.events import Result as Decision
from r3cc.replay.model import Candidate, Evaluation, Interval, LaunchConfiguration, Specialisation, Status
from r3cc.store import Store
from r3cc.store.variants import variant_paths
from tests.replay.cpu_kernels import built
from tests.replay.modules import bitcode, module_info
from tests.replay.sources import SAXPY
from tests.report.test_report import write
from tests.store.pack_writer import PackWriter, add_recording

pytestmark = pytest.mark.skipif(
    not (built("libr3cpu.so") and built("libR3Passes.so")), reason="libr3cpu.so and libR3Passes.so are not built"
)
COUNT = 1000
X, Y = 0x600000000000, 0x600000010000
VARIANT = "0123456789abcdef"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """One recording of a saxpy kernel on the cpu device."""
    store = Store.create(tmp_path / "r3-store")
    pack = PackWriter(add_recording(store.path) / "node1-4242-1.r3pack")
    pack.process()
    module = bitcode(SAXPY)
    info = module_info(module)
    kinds = (("i32", 0, 4), ("double", 8, 8), ("ptr", 16, 8), ("ptr", 24, 8))
    parameters = [{"offset": offset, "size": size, "type": kind, "name": ""} for kind, offset, size in kinds]
    pack.module(
        module,
        **info
        | {
            "directory": str(tmp_path),
            "kernels": [{"name": "saxpy", "line": 0, "parameters": parameters, "globals": []}],
        },
    )
    x, y = np.linspace(0.0, 1.0, COUNT), np.full(COUNT, 2.0)
    before, after = pack.image(y.tobytes()), pack.image((3.0 * x + y).tobytes())
    only_read = pack.image(x.tobytes())
    shape = {"grid": [4, 1, 1], "block": [256, 1, 1], "shared": 0}
    arguments = np.array([COUNT, 0], np.int32).tobytes() + np.array([3.0]).tobytes()
    pack.launch(
        info["module"],
        "saxpy",
        arguments=(arguments + np.array([X, Y], np.uint64).tobytes()).hex(),
        parameters=[{"offset": offset, "size": size} for offset, size in ((0, 4), (8, 8), (16, 8), (24, 8))],
        regions=[
            {"address": f"{X:#x}", "size": x.nbytes, "before": only_read, "after": only_read},
            {"address": f"{Y:#x}", "size": y.nbytes, "before": before, "after": after},
        ],
        **shape,
    )
    pack.kernel(info["module"], "saxpy", shapes=[shape | {"launches": 10, "total_ns": 1000}])
    pack.end()
    return store


def search(
    store: Store,
    candidate: Candidate | None,
    device: str = "cpu",
    device_name: str = "",
    speedup: Interval | None = None,
) -> str:
    """A finished search with this winner, or without one."""
    kernel = store.find_kernel("saxpy")
    plan = KernelPlan(
        kernel=kernel.id, module=kernel.module, name="saxpy", demangled="saxpy", share=1.0, numerics="rounding"
    )
    begin = Begin(
        at=1.0,
        version=VERSION,
        recording=store.recording().id,
        device=device,
        device_name=device_name,
        optimizer="r3",
        seed=1,
        kernels=(plan,),
        versions={"llvm": "22.1.8"},
    )
    ratio = Interval(0.5, 0.45, 0.55, 61)
    winner = candidate or Candidate()
    evaluation = Evaluation(winner, Status.OK, ratio=ratio, launches=4)
    final = Final(at=2.0, kernel=kernel.id, n=7, round=2, evaluation=evaluation)
    result = Decision(
        at=3.0,
        kernel=kernel.id,
        n=7 if candidate else None,
        candidate=winner,
        changes=("a change",),
        baseline_ns=None,
        best_ns=None,
        speedup=speedup,
    )
    made = store.searches.create()
    write(made.events_path, begin, final, result, End(at=4.0))
    return made.id


def invoke(store: Store, *arguments: str) -> Result:
    verb, *rest = arguments
    return CliRunner().invoke(r3, [verb, "--store", str(store.path), *rest], prog_name="r3")


def apply(store: Store, file: Path, *options: str) -> dict[str, Any]:
    done = invoke(store, "apply", "-o", str(file), *options)
    assert done.exit_code == 0, done.output
    document: dict[str, Any] = json.loads(file.read_text())
    return document


BLOCK = Candidate(
    "default<O2>", (("maxntid", "64"), ("minctasm", "2"), ("ptxas-opt", "2")), LaunchConfiguration(block=(64, 1, 1))
)


def test_a_winner_becomes_an_entry(store: Store, tmp_path: Path) -> None:
    identifier = search(store, BLOCK, "cuda:0", "NVIDIA H200")
    (entry,) = apply(store, tmp_path / "t.json", "--guard-scalars")["kernels"]
    assert entry["device"] == "NVIDIA H200"
    assert entry["architecture"] == "sm_90"
    assert len(entry["digest"]) == 64
    assert entry["pipeline"] == "default<O2>"
    assert entry["attributes"] == {"maxntid": "64", "minctasm": "2"}
    assert entry["module"] == {"ptxas-opt": "2"}
    assert entry["left_out"] == []
    # Bounds that the source does not have are those of a second version.
    assert entry["specialised"] == {"arguments": [], "block": None, "grid": None, "tables": []}
    assert entry["evidence"]["search"] == identifier
    assert entry["evidence"]["launches"] == 4
    rule = entry["launch"]
    assert (rule["block"], rule["grid"]) == ([64, 1, 1], "derived")
    assert rule["guard"]["shapes"] == [{"grid": [4, 1, 1], "block": [256, 1, 1], "shared": 0}]
    # n and a; pointers are no scalars.
    assert [(s["index"], s["size"], s["values"]) for s in rule["guard"]["scalars"]] == [
        (0, 4, ["e8030000"]),
        (1, 8, ["0000000000000840"]),
    ]
    (bounded,) = apply(store, tmp_path / "bounded.json", "--launch-bounds")["kernels"]
    assert bounded["attributes"] == {"maxntid": "64", "minctasm": "2"}
    assert bounded["launch"]["guard"]["scalars"] == []
    assert bounded["specialised"] is None


def test_a_specialised_winner_becomes_a_second_version(store: Store, tmp_path: Path) -> None:
    special = Specialisation(((0, "e8030000"), (1, "0000000000000840")), (64, 1, 1), (16, 1, 1))
    search(store, Candidate(None, (), LaunchConfiguration(block=(64, 1, 1)), None, special))
    file = tmp_path / "t.json"
    (entry,) = apply(store, file, "--device", "cpu")["kernels"]
    assert entry["pipeline"], "a version is always compiled by a pipeline of its own"
    assert entry["specialised"] == {
        "arguments": [
            {"index": 0, "offset": 0, "size": 4, "value": "e8030000"},
            {"index": 1, "offset": 8, "size": 8, "value": "0000000000000840"},
        ],
        "block": [64, 1, 1],
        "grid": [16, 1, 1],
        "tables": [],
    }
    assert check(store, file, "--min-speedup", "0").exit_code == 0
    # The code is right for its values alone, so a launch that has others is not one of the build's second version.
    text = file.read_text()
    file.write_text(text.replace("0000000000000840", "0000000000001040"))
    done = check(store, file, "--min-speedup", "0")
    assert (done.exit_code, "no recorded launch is one that its guard admits" in done.stderr) == (4, True)
    file.write_text(text.replace('"version": 3', '"version": 1').replace('"specialised"', '"unknown"'))
    assert "is damaged" in sentence(check(store, file), 2)


def test_searches_of_several_devices_share_a_file(store: Store, tmp_path: Path) -> None:
    kernels: list[dict[str, Any]] = []
    for device, candidate in (
        ("NVIDIA H200", BLOCK),
        ("NVIDIA H100", Candidate("default<O1>")),
        ("NVIDIA H200", Candidate("default<Os>")),
    ):
        identifier = search(store, candidate, "cuda:0", device)
        kernels = apply(store, tmp_path / "t.json", "--search", identifier)["kernels"]
    assert [(each["device"], each["pipeline"]) for each in kernels] == [
        ("NVIDIA H200", "default<Os>"),
        ("NVIDIA H100", "default<O1>"),
    ]


def test_of_several_searches_each_kernel_gets_its_fastest_winner(store: Store, tmp_path: Path) -> None:
    quick = search(store, Candidate("default<O1>"), speedup=Interval(3.0, 2.9, 3.1, 40))
    slow = search(store, Candidate("default<O2>"), speedup=Interval(2.0, 1.9, 2.1, 40))
    nothing = search(store, None)
    given = [option for made in (quick, slow, nothing) for option in ("--search", made)]
    (entry,) = apply(store, tmp_path / "t.r3.json", "--device", "cpu", *given)["kernels"]
    assert (entry["pipeline"], entry["evidence"]["search"]) == ("default<O1>", quick)
    done = invoke(store, "apply", "--device", "cpu", *given, "-o", str(tmp_path / "t.r3.json"))
    assert "no improvement" not in done.stderr


def sentence(done: Result, status: int) -> str:
    assert done.exit_code == status, done.output
    assert all(line.startswith("r3: ") for line in done.stderr.splitlines())
    return done.stderr.splitlines()[-1]


def test_what_cannot_be_applied_is_one_sentence(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    assert "run `r3 tune` first" in sentence(invoke(store, "apply", "-o", str(file)), 1)
    search(store, None, "cuda:0")
    assert "has no winner" in sentence(invoke(store, "apply", "-o", str(file)), 1)
    named = ("--search", search(store, BLOCK))
    assert "--device cpu takes it" in sentence(invoke(store, "apply", "-o", str(file), *named), 2)
    assert not file.exists()
    assert "is what the patch would be called" in sentence(invoke(store, "apply", "-o", str(tmp_path / "t.patch")), 2)
    assert "there is no folder" in sentence(invoke(store, "apply", "-o", str(tmp_path / "none" / "t.json")), 2)
    file.write_text("{}")
    assert "is not a profile" in sentence(invoke(store, "apply", "-o", str(file), "--device", "cpu"), 2)
    assert file.read_text() == "{}"


def check(store: Store, file: Path, *options: str) -> Result:
    return invoke(store, "check", "--profile", str(file), "--samples", "3", *options)


def test_a_good_profile_passes_in_silence(store: Store, tmp_path: Path) -> None:
    search(store, Candidate("default<O2>", (), LaunchConfiguration(block=(64, 1, 1))))
    apply(store, tmp_path / "t.json", "--device", "cpu")
    done = check(store, tmp_path / "t.json", "--min-speedup", "0")
    assert (done.exit_code, done.output) == (0, "")
    done = check(store, tmp_path / "t.json", "--min-speedup", "0", "--json")
    (kernel,) = json.loads(done.stdout)["kernels"]
    assert kernel["verdict"] == "good"
    assert kernel["evaluation"]["status"] == "ok"
    assert "lost speedup" in check(store, tmp_path / "t.json", "--min-speedup", "1000").stderr
    assert check(store, tmp_path / "t.json", "--min-speedup", "1000").exit_code == 3


def test_a_wrong_kernel_is_a_mismatch(store: Store, tmp_path: Path) -> None:
    # One block of 64 threads computes a part of the result only.
    search(store, Candidate(None, (), LaunchConfiguration(block=(64, 1, 1), grid=(1, 1, 1))))
    apply(store, tmp_path / "t.json", "--device", "cpu")
    done = check(store, tmp_path / "t.json")
    assert done.exit_code == 1, done.output
    assert "saxpy: mismatch: " in done.stderr


def test_what_cannot_run_exits_with_four(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    assert "cannot read the profile" in sentence(check(store, file), 2)
    search(store, BLOCK, "cuda:0", "NVIDIA H200")
    apply(store, file)
    assert "the profile has nothing for cpu" in check(store, file).stderr
    assert check(store, file).exit_code == 4
    apply(store, file, "--device", "cpu", "--search", search(store, Candidate("default<O2>")))
    document = json.loads(file.read_text())
    for entry in document["kernels"]:
        entry["digest"] = "0" * 64
    file.write_text(json.dumps(document))
    done = check(store, file)
    assert done.exit_code == 4
    assert "has changed since the profile was made" in done.stderr
    for entry in document["kernels"]:
        entry["name"] = "another"
    file.write_text(json.dumps(document))
    assert "holds no kernel that the profile names" in sentence(check(store, file), 4)


def rewritten(store: Store, source: Path) -> str:
    """A finished search whose winner rewrites the kernel in ``source``."""
    before, after = "y[i] = a * x[i] + y[i];", "y[i] += a * x[i];"
    source.write_text(SAXPY)
    path, _ = variant_paths(store.path, VARIANT)
    path.parent.mkdir()
    path.write_bytes(bitcode(SAXPY.replace(before, after)))
    made = search(store, Candidate("default<O2>", (), LaunchConfiguration(block=(64, 1, 1)), VARIANT))
    log = store.searches.find(made).events_path
    begin = SAXPY.index(before)
    regions = [RegionChange("saxpy", source.name, begin, begin + len(before), before, after)]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if line["event"] == "result":
            line |= {"strategy": "adds in place", "regions": msgspec.to_builtins(regions)}
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return made


def test_a_source_winner_becomes_a_patch_and_two_entries(store: Store, tmp_path: Path) -> None:
    source, file = tmp_path / "app.cu", tmp_path / "t.r3.json"
    made = rewritten(store, source)
    tuned, plain = apply(store, file, "--device", "cpu", "--search", made)["kernels"]
    assert tuned["digest"] != plain["digest"]
    assert (tuned["pipeline"], tuned["launch"]["block"]) == ("default<O2>", [64, 1, 1])
    assert tuned["changes"][0].startswith("source: adds in place")
    assert (plain["pipeline"], plain["launch"], plain["changes"]) == (None, None, [])
    assert plain["left_out"][0].startswith("source: the patch")
    assert source.read_text() == SAXPY
    subprocess.run(["git", "apply", "t.r3.patch"], cwd=tmp_path, check=True)
    assert kernel_identity(bitcode(source.read_text()), "saxpy").digest == tuned["digest"]
    # Before the patch the recorded kernel is checked with the entry of the recorded source.
    assert check(store, file, "--min-speedup", "0").exit_code == 0


def test_a_patch_with_sources_of_other_kernels_is_not_written_over(store: Store, tmp_path: Path) -> None:
    file, patch = tmp_path / "t.r3.json", tmp_path / "t.r3.patch"
    made = rewritten(store, tmp_path / "app.cu")
    document = apply(store, file, "--device", "cpu", "--search", made)
    for entry in document["kernels"]:
        entry["name"] = entry["demangled"] = "axpby"
    file.write_text(json.dumps(document))
    before = file.read_bytes(), patch.read_bytes()
    done = invoke(store, "apply", "-o", str(file), "--device", "cpu", "--search", made)
    assert "holds the new source of axpby from an earlier `r3 apply`" in sentence(done, 2)
    assert (file.read_bytes(), patch.read_bytes()) == before
    patch.unlink()
    assert len(apply(store, file, "--device", "cpu", "--search", made)["kernels"]) == 4


def test_before_the_patch_an_earlier_winner_holds(store: Store, tmp_path: Path) -> None:
    search(store, Candidate("default<O1>"))
    made = rewritten(store, tmp_path / "app.cu")
    _, plain = apply(store, tmp_path / "t.r3.json", "--device", "cpu", "--search", made)["kernels"]
    assert plain["pipeline"] == "default<O1>"


def test_a_source_that_has_changed_gives_no_profile(store: Store, tmp_path: Path) -> None:
    made = rewritten(store, tmp_path / "app.cu")
    (tmp_path / "app.cu").write_text("// another\n")
    done = invoke(store, "apply", "-o", str(tmp_path / "t.r3.json"), "--device", "cpu", "--search", made)
    assert "app.cu has changed since saxpy was recorded" in sentence(done, 1)
    assert not list(tmp_path.glob("t.r3.*"))


def test_a_candidate_of_ones_own_becomes_an_entry(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "t.r3.json"
    own = ("--kernel", "saxpy", "--device", "cpu", "--passes", "default<O1>", "--block", "64", "--samples", "3")
    (entry,) = apply(store, file, *own)["kernels"]
    assert (entry["device"], entry["pipeline"], entry["launch"]["block"]) == ("cpu", "default<O1>", [64, 1, 1])
    assert entry["changes"] == ["pipeline default<O1>", "block 64,1,1"]
    assert entry["evidence"]["search"] == "by hand"
    assert entry["evidence"]["ratio"]["samples"] == 3
    assert check(store, file, "--min-speedup", "0").exit_code == 0


def test_a_wrong_candidate_of_ones_own_is_refused(store: Store, tmp_path: Path) -> None:
    own = ("apply", "-o", str(tmp_path / "t.r3.json"), "--device", "cpu", "--kernel", "saxpy", "--samples", "3")
    assert "is not valid: mismatch" in sentence(invoke(store, *own, "--block", "64", "--grid", "1"), 1)
    assert "takes a candidate" in sentence(invoke(store, *own), 2)
    assert "is not KEY=VALUE" in sentence(invoke(store, *own, "--codegen", "fast"), 2)
    assert not (tmp_path / "t.r3.json").exists()


def test_constants_by_hand_are_those_of_the_recorded_launches(store: Store, tmp_path: Path) -> None:
    fixed = ("--fix", "0", "--fix", "block", "--fix", "grid")
    done = invoke(store, "replay", "saxpy", "--block", "64", *fixed, "--samples", "1", "--json")
    assert done.exit_code == 0, done.output
    special = json.loads(done.stdout)["candidate"]["specialisation"]
    assert special == {"arguments": [[0, "e8030000"]], "block": [64, 1, 1], "grid": [16, 1, 1]}
    assert "argument 2 of saxpy is no scalar: it is a ptr" in sentence(
        invoke(store, "replay", "saxpy", "--fix", "2"), 1
    )
    assert "saxpy has no argument 'n'" in sentence(invoke(store, "replay", "saxpy", "--fix", "n"), 1)
    given = ("apply", "-o", str(tmp_path / "t.json"), "--fix", "0")
    assert "belongs to it" in sentence(invoke(store, *given), 2)


@pytest.mark.parametrize(
    ("path", "given"),
    [("/a/tuned.r3.json", "--r3-use=/a/tuned.r3.json"), ("/a b/t.json", "R3_USE='/a b/t.json' in its environment")],
)
def test_a_path_with_blanks_goes_to_the_build_by_its_environment(path: str, given: str) -> None:
    assert how_to_use(Path(path)) == given
