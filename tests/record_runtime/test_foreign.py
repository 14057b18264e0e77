"""Kernels without an R3 note: their code, found in what a program loads, and their launches."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from r3cc.toolchain.cuda import find_cuda
from tests.record_runtime.bench import Bench
from tests.record_runtime.build_programs import SAMPLE, SCALE

SOURCES = Path(__file__).parents[2] / "record_runtime/cuda/source"
PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 counter;
.global .align 4 .b8 _ZL5table[1200];
.const .align 8 .b8 scale[32];
.visible .entry kern(.param .u64 x) {
  .reg .b64 %a<6>; .reg .f32 %v<4>; .reg .u32 %c;
  ld.param.u64 %a0, [x];
  ld.const.f32 %v0, [scale];
  ld.global.f32 %v1, [_ZL5table];
  ld.global.u32 %c, [counter];
  st.global.u32 [_ZL5table+8], %c;
  st.global.u32 [counter], %c;
  add.f32 %v2, %v0, %v1;
  st.global.f32 [%a0], %v2;
  ret;
}
"""
VARIABLES = {"counter", "_ZL5table", "scale"}


def tool(name: str) -> str:
    cuda = find_cuda()
    path = cuda.path / "bin" / name if cuda else None
    if path is None or not path.is_file():
        pytest.skip(f"needs {name} of a CUDA tree")
    return str(path)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("g++") is None or not Path("/usr/include/zstd.h").exists():
        pytest.skip("needs g++ and the header of zstd")
    program = tmp_path_factory.mktemp("reader") / "read_foreign"
    own = [Path(__file__).parent / "inputs/read_foreign.cpp", SOURCES / "foreign_code.cpp", SOURCES / "lz4_block.cpp"]
    subprocess.run(["g++", "-std=c++17", "-O1", f"-I{SOURCES}", *own, "-o", program, "-lzstd"], check=True)
    return program


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a kernel as PTX and as machine code."""
    folder = tmp_path_factory.mktemp("code")
    (folder / "k.ptx").write_text(PTX)
    subprocess.run([tool("ptxas"), "-arch=sm_90", "k.ptx", "-o", "k.cubin"], cwd=folder, check=True)
    return folder


def read(
    reader: Path, image: Path, kernel: str = "kern", ptx: int = 90, binary: int = 90
) -> tuple[str, set[str], bytes]:
    output = image.with_suffix(".out")
    command = [reader, image, kernel, str(ptx), str(binary), output]
    kind, *names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return kind, set(names), output.read_bytes()


@pytest.mark.parametrize("mode", ["none", "speed", "balance", "size"])
def test_code_in_a_fat_binary(reader: Path, code: Path, mode: str) -> None:
    image = code / f"{mode}.fatbin"
    pieces = [f"--image3=kind={kind},sm=90,file={code / name}" for kind, name in (("elf", "k.cubin"), ("ptx", "k.ptx"))]
    command = [tool("fatbinary"), "-64", f"--create={image}", f"--compress-mode={mode}", "--compress-all", *pieces]
    subprocess.run(command, check=True)
    kind, names, content = read(reader, image)
    assert (kind, names) == ("cubin", VARIABLES)
    assert content == (code / "k.cubin").read_bytes()
    beside = image.with_suffix(".out.ptx")
    assert beside.read_bytes().rstrip(b"\0").split() == PTX.encode().split()
    beside.unlink()
    read(reader, image, ptx=80, binary=90)
    assert beside.exists()
    kind, names, content = read(reader, image, binary=100)  # the driver compiled the PTX for a newer device
    assert (kind, names) == ("ptx", VARIABLES)
    assert content.rstrip(b"\0").split() == PTX.encode().split()  # fatbinary drops white space


@pytest.mark.parametrize("name", ["k.cubin", "k.ptx"])
def test_code_by_itself(reader: Path, code: Path, name: str) -> None:
    kind, names, content = read(reader, code / name)
    assert (kind, names) == (name[2:], VARIABLES)
    assert content == (code / name).read_bytes()


def test_managed_variables_are_seen(reader: Path, tmp_path: Path) -> None:
    text = PTX.replace(".visible .global .align 4 .u32 counter", ".visible .global .attribute(.managed) .u32 counter")
    (tmp_path / "k.ptx").write_text(text)
    subprocess.run([tool("ptxas"), "-arch=sm_90", "k.ptx", "-o", "k.cubin"], cwd=tmp_path, check=True)
    for name in ("k.cubin", "k.ptx"):
        assert read(reader, tmp_path / name)[1] == VARIABLES | {"managed"}


def test_what_is_damaged_or_lacks_the_kernel_gives_nothing(reader: Path, code: Path, tmp_path: Path) -> None:
    cubin = (code / "k.cubin").read_bytes()
    damaged = [cubin[: len(cubin) // 2], b"\x50\xed\x55\xba\x01\x00\x10\x00" + b"\xff" * 90, b"\x7fELF", b""]
    for number, content in enumerate(damaged):
        image = tmp_path / str(number)
        image.write_bytes(content)
        assert subprocess.run([reader, image, "kern", "90", "90", tmp_path / "out"], check=False).returncode == 1
    assert subprocess.run([reader, code / "k.ptx", "other", "90", "90", tmp_path / "out"], check=False).returncode == 1


def test_foreign_kernels_are_recorded_on_request(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "foreign", R3_RECORD_FOREIGN="1")
    assert recorded.output == bench.plain(bench.programs.dynamic, "foreign")
    kernel = recorded.kernel(SCALE)
    assert (kernel.launches, kernel.recorded, kernel.not_recordable) == (20, 3, ())
    module = recorded.store.module(kernel.module)
    assert kernel.module.startswith("foreign:") and module.bitcode is None and module.image is not None
    assert module.info == {"format": "ptx", "architecture": "sm_90"}
    assert b".visible .entry _Z5scalePffi" in recorded.store.blob(module.image)
    (launch, *_) = recorded.launches(SCALE)
    assert {variable.name for variable in launch.globals} == {"counter", "table"}
    assert [(parameter.offset, parameter.size) for parameter in launch.parameters] == [(0, 8), (8, 4), (12, 4)]


def test_foreign_launches_with_textures_are_refused(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "foreigntexture", "5", R3_RECORD_FOREIGN="1")
    reason = "an argument may be a texture or surface, whose handle means nothing at replay"
    assert 1 <= recorded.refusals(SAMPLE)[reason] <= 5
    assert [launch.ordinal for launch in recorded.launches(SAMPLE)] == [8]  # no such texture any more
