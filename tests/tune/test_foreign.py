"""Kernels without IR: what their code says of launches, what a search may vary, and a search as a whole."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from r3cc.cli import r3
from r3cc.errors import R3Error
from r3cc.llvm import Passes, assemble
from r3cc.llvm.inspect import kernel_ptx
from r3cc.replay.compile import CodeRequest, Compiler
from r3cc.replay.events import Proposal, read_log
from r3cc.replay.foreign import foreign_setup
from r3cc.replay.model import Candidate, Numerics, Status
from r3cc.replay.targets import open_target
from r3cc.store import Store
from r3cc.store.eventlog import EventLog
from r3cc.toolchain.cuda import find_ptxas
from r3cc.tune.blocks import Shape, volume
from r3cc.tune.budget import Limits
from r3cc.tune.foreign import PTXAS_KNOBS
from r3cc.tune.foreign_facts import block_is_bound, cubin_facts, ptx_facts, sections_of
from r3cc.tune.journal import Journal
from r3cc.tune.knob_space import KnobSpace
from r3cc.tune.knobs import BLOCK, Knob
from r3cc.tune.llvm_facts import LLVMFacts
from r3cc.tune.plan import Choice, KernelOptions, build_space, choose, units_of, with_code
from r3cc.tune.search import Target, Tuner
from r3cc.tune.watcher import Silent
from tests.report.test_report import begin
from tests.store.pack_writer import PackWriter, add_recording
from tests.tune.llvm_opt import KERNEL, find_opt
from tests.tune.synthetic import SyntheticEvaluator
from tests.tune.test_knobs import CODEGEN, NAME

PTX = """
.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.func helper() { .reg .u32 %t; mov.u32 %t, %ntid.x; ret; }
.visible .entry plain(.param .u64 x)
.maxntid 512, 1, 1
{
  .reg .b64 %a; .reg .u32 %t;
  .shared .align 4 .b8 buffer[512];
  ld.param.u64 %a, [x];
  mov.u32 %t, %ntid.x; // a comment with %nctaid and shfl
  st.shared.u32 [buffer], %t;
  bar.sync 0;
  ld.shared.u32 %t, [buffer+4];
  st.global.u32 [%a], %t;
  ret;
}
.visible .entry plain2(.param .u64 x) .reqntid 128
{
  .reg .b64 %a; .reg .u32 %t;
  ld.param.u64 %a, [x];
  mov.u32 %t, %tid.x;
  st.global.u32 [%a], %t;
  ret;
}
.visible .entry calls(.param .u64 x)
{
  .reg .b64 %a; .reg .u32 %t;
  ld.param.u64 %a, [x];
  call helper;
  shfl.sync.idx.b32 %t, %t, 0, 31, 0xffffffff;
  st.shared.u32 [dynamic], %t;
  ld.shared.u32 %t, [dynamic+4];
  st.global.u32 [%a], %t;
  ret;
}
"""
UNFUSED = f"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry {NAME}(.param .u64 x)
{{
  .reg .b64 %a; .reg .f32 %f<4>;
  ld.param.u64 %a, [x];
  ld.global.f32 %f0, [%a];
  ld.global.f32 %f1, [%a+4];
  mul.f32 %f2, %f0, %f1;
  add.f32 %f3, %f2, %f1;
  st.global.f32 [%a], %f3;
  ret;
}}
"""
SHAPES = (Shape((64, 1, 1), (128, 1, 1)),)
needs_ptxas = pytest.mark.skipif(find_ptxas() is None, reason="needs ptxas")


def cubin_of(ptx: str, *flags: str) -> bytes:
    ptxas = find_ptxas()
    assert ptxas is not None
    return assemble(ptx.encode(), ptxas.path, "sm_90", flags).cubin


def machine_code(cubin: bytes, kernel: str) -> bytes:
    return next(content for name, content, _ in sections_of(cubin) if name == f".text.{kernel}")


def test_ptx_tells_what_a_launch_needs() -> None:
    facts = ptx_facts(PTX.encode(), "plain")
    description = facts.description
    assert (description.reads_block_size, description.reads_grid_size) == (True, False)
    assert (description.static_shared, description.dynamic_shared, description.max_threads) == (512, False, 512)
    assert (description.barriers, description.warp_operations, facts.required_block) == (1, 0, None)
    assert block_is_bound(facts, SHAPES) is None


def test_a_called_function_counts_as_the_kernels_own() -> None:
    description = ptx_facts(PTX.encode(), "calls").description
    assert description.reads_block_size and description.dynamic_shared and description.warp_operations == 1


@needs_ptxas
def test_machine_code_tells_its_limits() -> None:
    code = cubin_of(PTX)
    facts = cubin_facts(code, "plain")
    assert (facts.description.static_shared, facts.description.max_threads) == (512, 512)
    assert cubin_facts(code, "calls").description.static_shared == 0
    assert block_is_bound(facts, SHAPES) is None


@needs_ptxas
def test_a_required_block_stays() -> None:
    for facts in (ptx_facts(PTX.encode(), "plain2"), cubin_facts(cubin_of(PTX), "plain2")):
        assert facts.required_block == (128, 1, 1)
        assert "blocks of 128" in (block_is_bound(facts, SHAPES) or "")


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 90])
def test_a_damaged_cubin_is_one_without_facts(content: bytes) -> None:
    assert cubin_facts(content, "plain").description.max_threads is None


@pytest.fixture(scope="module")
def ptx(tmp_path_factory: pytest.TempPathFactory) -> str:
    """PTX of a kernel with loops."""
    try:
        Passes()
    except R3Error as missing:
        pytest.skip(str(missing))
    path = tmp_path_factory.mktemp("bitcode") / "kernel.bc"
    subprocess.run([find_opt(), "-passes=", str(KERNEL), "-o", str(path)], check=True)
    return kernel_ptx(path.read_bytes(), NAME, CODEGEN)


def store_of(folder: Path, ptx: str, image: bytes | None = None) -> Store:
    """A store with one recorded launch of a kernel without IR: PTX, or machine code with the PTX beside it."""
    Store.create(folder / "store").close()
    pack = PackWriter(add_recording(folder / "store", device="cuda:0") / "node1-1-1.r3pack")
    pack.process(device="cuda:0", device_name="GPU", architecture="sm_90")
    text = pack.chunk(ptx.encode() + b"\0")
    code = {"image": text} if image is None else {"image": pack.chunk(image), "ptx": text}
    info = {"format": "ptx" if image is None else "cubin", "architecture": "sm_90"}
    pack.document("module", module="foreign:1", bitcode=None, info=info, binary="/apps/app", **code)
    pack.launch("foreign:1", NAME, device="cuda:0", grid=[64, 1, 1], block=[128, 1, 1])
    pack.kernel("foreign:1", NAME, device="cuda:0")
    pack.end()
    return Store.open(folder / "store")


def choice_in(store: Store, numerics: Numerics = Numerics.ROUNDING) -> tuple[str, Choice]:
    recording = store.recording(None).id
    (choice,) = choose(store, recording, (), None, lambda _: KernelOptions(numerics), with_code)
    return recording, choice


def space_in(store: Store, numerics: Numerics = Numerics.ROUNDING) -> KnobSpace:
    with LLVMFacts() as facts:
        space = build_space(store, *choice_in(store, numerics), facts)
    assert isinstance(space, KnobSpace)
    return space


@needs_ptxas
@pytest.mark.parametrize("knob", PTXAS_KNOBS, ids=lambda knob: knob.key)
def test_every_knob_changes_the_machine_code(ptx: str, knob: Knob, tmp_path: Path) -> None:
    with store_of(tmp_path, UNFUSED if knob.key == "ptxas:fmad" else ptx) as store:
        (kernel,) = store.kernels()
        setup = foreign_setup(store, store.module(kernel.module), kernel, "cuda:0", "sm_90")
    compiler = Compiler(setup, open_target(setup))
    made = [compiler.compile(CodeRequest(codegen=((knob.key, value),))) for value in knob.values]
    assert all(code.status is Status.OK for code in made), [code.message for code in made]
    plain = compiler.compile(CodeRequest())
    codes = [machine_code(code.path.read_bytes(), NAME) for code in (plain, *made) if code.path is not None]
    assert any(code != codes[0] for code in codes[1:])


@needs_ptxas
def test_ptx_beside_machine_code_serves_candidates_alone(ptx: str, tmp_path: Path) -> None:
    recorded = cubin_of(ptx, "-O1")
    with store_of(tmp_path, ptx, recorded) as store:
        (kernel,) = store.kernels()
        setup = foreign_setup(store, store.module(kernel.module), kernel, "cuda:0", "sm_90")
        assert {knob.key for knob in space_in(store).knobs} >= {knob.key for knob in PTXAS_KNOBS} | {BLOCK}
    compiler = Compiler(setup, open_target(setup))
    plain, again = compiler.compile(CodeRequest()), compiler.compile(CodeRequest(codegen=(("ptxas-opt", "3"),)))
    assert plain.path is not None and again.path is not None, again.message
    assert plain.path.read_bytes() == recorded
    assert machine_code(again.path.read_bytes(), NAME) == machine_code(cubin_of(ptx), NAME)


def test_machine_code_alone_has_its_launch_shape(tmp_path: Path, ptx: str) -> None:
    with store_of(tmp_path, ptx) as store:
        module = store.module("foreign:1")
    pack = PackWriter(tmp_path / "store/recordings" / "20260102-030405-abcd" / "node1-1-1.r3pack")
    pack.document("module", module="foreign:1", bitcode=None, image=module.image, info={"format": "cubin"}, binary="")
    with Store.open(tmp_path / "store") as store:
        assert [knob.key for knob in space_in(store).knobs] == [BLOCK]
        setup = foreign_setup(store, store.module("foreign:1"), store.kernels()[0], "cuda:0", "sm_90")
    made = Compiler(setup, open_target(setup)).compile(CodeRequest(codegen=(("maxrregcount", "32"),)))
    assert made.status is Status.REJECTED and "need PTX" in made.message


@needs_ptxas
def test_bitwise_numerics_leave_fusion_alone(ptx: str, tmp_path: Path) -> None:
    with store_of(tmp_path, ptx) as store:
        assert "ptxas:fmad" not in {knob.key for knob in space_in(store, Numerics.BITWISE).knobs}


def smooth(candidate: Candidate) -> float | Status:
    """Registers and blocks matter; one option makes the kernel wrong."""
    codegen = dict(candidate.codegen)
    if codegen.get("ptxas:fmad") == "false":
        return Status.MISMATCH
    ratio = {None: 1.0, "64": 0.8, "48": 0.85}.get(codegen.get("maxrregcount"), 1.2)
    block = candidate.launch.block
    return ratio * (1.0 if block is None else 0.8 if volume(block) <= 64 else 1.1)


@needs_ptxas
def test_a_search_finds_and_confirms_what_is_faster(ptx: str, tmp_path: Path) -> None:
    count = itertools.count()
    with store_of(tmp_path, ptx) as store, store.searches.create().open_log() as log:
        recording, choice = choice_in(store)
        log.append(begin(choice.plan))
        assert units_of(store, recording, [choice]) == []
        target = Target(choice.plan, space_in(store), lambda: SyntheticEvaluator(smooth, seed=next(count)))
        (result,) = Tuner(Journal(log, ()), [target], Silent(), "r3", 1, Limits(150, None)).run()
        events = read_log(store.searches.all()[0].events_path)
    proposals = [event for event in events if isinstance(event, Proposal)]
    assert all(proposal.candidate.pipeline is None for proposal in proposals)
    assert result.n is not None and result.speedup is not None
    assert result.candidate.codegen == (("maxrregcount", "64"),)
    assert result.candidate.launch.block is not None and volume(result.candidate.launch.block) <= 64
    assert result.speedup.median == pytest.approx(1 / 0.64, rel=0.05)


@needs_ptxas
def test_a_search_of_o3_alone_ends_at_once(ptx: str, tmp_path: Path) -> None:
    with store_of(tmp_path, ptx) as store, EventLog(tmp_path / "log") as log:
        _, choice = choice_in(store)
        target = Target(choice.plan, space_in(store), lambda: SyntheticEvaluator(smooth))
        (result,) = Tuner(Journal(log, ()), [target], Silent(), "o3-only", 1, Limits(50, None)).run()
    assert result.n is None


@needs_ptxas
def test_the_space_as_it_is_shown(ptx: str, tmp_path: Path) -> None:
    store_of(tmp_path, ptx).close()
    shown = CliRunner().invoke(r3, ["tune", "--show-space", "--store", str(tmp_path / "store")])
    assert shown.exit_code == 0, shown.output
    assert "pipeline: none, its code carries no IR" in shown.stdout
    assert "maxrregcount" in shown.stdout and "block" in shown.stdout


@needs_ptxas
def test_a_winner_is_told_and_not_applied(ptx: str, tmp_path: Path) -> None:
    with store_of(tmp_path, ptx) as store:
        recording, choice = choice_in(store)
        search = store.searches.create()
        count = itertools.count()
        with search.open_log() as log:
            log.append(msgspec.structs.replace(begin(choice.plan, device="cuda:0"), recording=recording))
            journal = Journal(log, read_log(search.events_path))
            target = Target(choice.plan, space_in(store), lambda: SyntheticEvaluator(smooth, seed=next(count)))
            Tuner(journal, [target], Silent(), "r3", 1, Limits(150, None)).run()
    arguments = ["apply", "--store", str(tmp_path / "store"), "-o", str(tmp_path / "tuned.r3.json")]
    told = CliRunner().invoke(r3, arguments)
    assert "maxrregcount=64" in told.stderr and "carries no IR" in told.stderr
    assert not (tmp_path / "tuned.r3.json").exists()
    reported = CliRunner().invoke(r3, ["report", "--store", str(tmp_path / "store")])
    assert reported.exit_code == 0, reported.output
    assert "maxrregcount=64" in reported.stdout
