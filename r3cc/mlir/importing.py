"""``r3 store import FILE.mlir``: a recording whose launches were made up (docs/mlir.md)."""

from __future__ import annotations

import hashlib
import platform
import statistics
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import xxhash

from r3cc.devices.base import Arguments, Geometry
from r3cc.errors import R3Error
from r3cc.farm.compile_pool import CompilePool
from r3cc.farm.process import Failed, ProcessLost, SupervisedProcess
from r3cc.llvm import KernelDescription, ModuleDescription, Passes
from r3cc.mlir.launches import Plan, PlannedLaunch, dimensions, pack_arguments, read_plan
from r3cc.mlir.runner import Memory, RunAnswer, RunRequest
from r3cc.mlir.translate import FEATURES, compiler_of, translate
from r3cc.replay.compile import CodeRequest, CompileSetup
from r3cc.store import Store
from r3cc.store.model import Recording
from r3cc.store.pack_writer import PackWriter
from r3cc.store.recordings import Recordings
from r3cc.store.whole_file import write_whole

_RUNNER = "r3cc.mlir.runner"
_ARENA = 0x440000000000
"""Where the recorder has memory, too."""
_SPACING = 1 << 21
_DEADLINE_S = 120.0


class ImportedModule(msgspec.Struct, frozen=True):
    """One GPU module of the file."""

    bitcode: bytes
    description: ModuleDescription
    info: dict[str, Any]
    """The JSON of docs/binary-format.md."""

    @property
    def id(self) -> str:
        """SHA-256 of the bitcode."""
        return str(self.info["module"])


class MadeLaunch(msgspec.Struct, frozen=True):
    """A launch that was made, with all that a recording holds of it."""

    module: ImportedModule
    planned: PlannedLaunch
    request: RunRequest
    answer: RunAnswer


def import_mlir(store: Store, source: Path, launches: Path, device: str) -> Recording:
    """Translate a file, make the launches of ``launches`` once on ``device``, and store them as a recording.

    Raises R3Error for what cannot be read, translated, compiled or launched.
    """
    if device.startswith("hip:"):
        raise R3Error(f"kernels are imported for NVIDIA's GPUs and the cpu device, not for {device}")
    plan = read_plan(launches)
    modules = [_module(bitcode, source, plan.architecture) for bitcode in translate(source, plan.architecture)]
    made = [_launch(store, _holder(modules, each), each, launches.parent, device) for each in plan.launches]
    return _write(store, source, plan, made, device)


def _module(bitcode: bytes, source: Path, architecture: str) -> ImportedModule:
    description = Passes().describe(bitcode)
    info = {
        "version": 1,
        "module": hashlib.sha256(bitcode).hexdigest(),
        "architecture": architecture,
        "triple": "nvptx64-nvidia-cuda",
        "source": source.name,
        "source_sha256": hashlib.sha256(source.read_bytes()).hexdigest(),
        "directory": str(source.absolute().parent),
        "command": [],
        "compiler": compiler_of(source),
        "codegen": _codegen(architecture),
        "kernels": [msgspec.to_builtins(_described(kernel)) for kernel in description.kernels],
        "globals": [msgspec.to_builtins(each) for each in description.globals],
    }
    return ImportedModule(bitcode, description, info)


def _described(kernel: KernelDescription) -> dict[str, Any]:
    return {"name": kernel.name, "line": kernel.line, "parameters": kernel.parameters, "globals": kernel.globals}


def _codegen(architecture: str) -> dict[str, Any]:
    """What the baseline is: nobody has built the kernel yet, so it is -O3."""
    return {
        "pipeline": "default<O3>",
        "opt_level": 3,
        "codegen_level": 3,
        "fp_contract": "on",
        "features": FEATURES,
        "cpu": architecture,
        "vectorize_loops": True,
        "vectorize_slp": True,
        "unroll_loops": True,
        "relocatable": False,
        "mllvm": [],
        "ptxas": ["-O3"],
        "libdevice_sha256": "",
    }


def _holder(modules: Sequence[ImportedModule], launch: PlannedLaunch) -> ImportedModule:
    names = [kernel.name for module in modules for kernel in module.description.kernels]
    for module in modules:
        if any(kernel.name == launch.kernel for kernel in module.description.kernels):
            return module
    raise R3Error(f"the file has no kernel '{launch.kernel}'; it has {', '.join(names) or 'none'}")


def _launch(store: Store, module: ImportedModule, planned: PlannedLaunch, folder: Path, device: str) -> MadeLaunch:
    kernel = module.description.kernel(planned.kernel)
    regions, addresses, place = [], [], _ARENA
    for argument in planned.arguments:
        addresses.append(place if argument.size else 0)
        if argument.size:
            regions.append(Memory(argument.content(folder).tobytes(), place))
            place += -(-argument.size // _SPACING) * _SPACING
    parameters = tuple((each.offset, each.size) for each in kernel.parameters)
    mutable = {each.name for each in module.description.globals if each.mutable}
    request = RunRequest(
        _compiled(store, module, kernel.name, device),
        kernel.name,
        Geometry(dimensions(planned.grid), dimensions(planned.block), planned.shared),
        Arguments(pack_arguments(kernel, planned, addresses), parameters),
        tuple(regions),
        tuple(name for name in kernel.globals if name in mutable),
    )
    return MadeLaunch(module, planned, request, _run(device, request))


def _compiled(store: Store, module: ImportedModule, kernel: str, device: str) -> Path:
    """The baseline's code object. Raises R3Error where it does not compile."""
    bitcode = store.cache / "modules" / f"{module.id}.bc"
    if not bitcode.is_file():
        write_whole(bitcode, module.bitcode)
    setup = CompileSetup(bitcode, module.info, kernel, device, str(module.info["architecture"]), store.cache)
    pool = CompilePool(setup, 1, _DEADLINE_S)
    try:
        code = pool.submit(CodeRequest()).result()
    finally:
        pool.close()
    if code.path is None:
        raise R3Error(f"{kernel} does not compile: {code.message}")
    return code.path


def _run(device: str, request: RunRequest) -> RunAnswer:
    process = SupervisedProcess(_RUNNER, device)
    try:
        answer: RunAnswer | Failed = process.ask(request, _DEADLINE_S)
    except ProcessLost as error:
        raise R3Error(f"the launch of {request.kernel} failed: its process was {error}") from None
    finally:
        process.close()
    if isinstance(answer, Failed):
        raise R3Error(f"the launch of {request.kernel} failed: {answer.message}")
    return answer


def _write(store: Store, source: Path, plan: Plan, made: Sequence[MadeLaunch], device: str) -> Recording:
    recordings = Recordings(store.path / "recordings")
    identifier = recordings.reserve()
    total = int(sum(each.answer.time_ns for each in made))
    host = platform.node()
    start = datetime.now(UTC).isoformat(timespec="seconds")
    command = ("r3", "store", "import", source.name)
    recording = Recording(identifier, command, start, total, host, device, 0)
    pack = PackWriter(recordings.path / identifier / f"{host}-0-0.r3pack")
    try:
        _write_process(pack, recording, made[0].answer)
        _write_launches(pack, made, device)
        pack.document("end", launches=len(made), recorded=len(made), recording_ns=0, wall_ns=total)
    finally:
        pack.close()
    recordings.write(recording)
    return recording


def _write_process(pack: PackWriter, recording: Recording, answer: RunAnswer) -> None:
    properties = answer.properties
    pack.document(
        "process",
        pid=0,
        host=recording.host,
        executable=recording.command[-1],
        arguments=recording.command,
        rank=None,
        start=recording.start,
        device=recording.device,
        device_name=properties.name,
        architecture=properties.architecture,
        driver=properties.driver,
        arena_base=hex(_ARENA),
        arena_size=1 << 40,
    )


def _write_launches(pack: PackWriter, made: Sequence[MadeLaunch], device: str) -> None:
    for module in {each.module.id: each.module for each in made}.values():
        source = f"{module.info['directory']}/{module.info['source']}"
        pack.document("module", module=module.id, bitcode=pack.blob(module.bitcode), info=module.info, binary=source)
    of_kernel: dict[tuple[str, str], list[MadeLaunch]] = defaultdict(list)
    for each in made:
        of_kernel[each.module.id, each.request.kernel].append(each)
    number = 0
    for (module_id, name), launches in of_kernel.items():
        for ordinal, each in enumerate(launches):
            _write_launch(pack, each, f"{pack.path.stem}/{number}", ordinal, device)
            number += 1
        _write_kernel(pack, module_id, name, launches)


def _write_launch(pack: PackWriter, made: MadeLaunch, identifier: str, ordinal: int, device: str) -> None:
    request, answer = made.request, made.answer
    regions = [
        {
            "address": hex(before.address),
            "size": len(before.content),
            "before": pack.image(before.content),
            "after": pack.image(after),
        }
        for before, after in zip(request.regions, answer.regions, strict=True)
    ]
    variables = [
        {
            "name": before.name,
            "address": hex(before.address),
            "size": len(before.content),
            "before": pack.image(before.content),
            "after": pack.image(after.content),
        }
        for before, after in zip(answer.before, answer.after, strict=True)
    ]
    pack.document(
        "launch",
        launch=identifier,
        module=made.module.id,
        name=request.kernel,
        ordinal=ordinal,
        grid=request.geometry.grid,
        block=request.geometry.block,
        shared=request.geometry.shared,
        held_out=made.planned.held_out,
        identity=_identity(request, [str(each["before"]) for each in (*regions, *variables)]),
        device=device,
        time_ns=int(answer.time_ns),
        snapshot="all",
        arguments=request.arguments.data.hex(),
        parameters=[{"offset": offset, "size": size} for offset, size in request.arguments.parameters],
        regions=regions,
        globals=variables,
    )


def _identity(request: RunRequest, images: Sequence[str]) -> str:
    content = msgspec.json.encode([request.kernel, request.geometry, request.arguments.data.hex(), images])
    return xxhash.xxh3_128_hexdigest(content)


def _write_kernel(pack: PackWriter, module: str, name: str, launches: Sequence[MadeLaunch]) -> None:
    of_shape: dict[Geometry, list[int]] = defaultdict(list)
    for each in launches:
        of_shape[each.request.geometry].append(int(each.answer.time_ns))
    shapes = [
        {
            **msgspec.to_builtins(geometry),
            "launches": len(times),
            "total_ns": sum(times),
            "median_ns": int(statistics.median(times)),
        }
        for geometry, times in of_shape.items()
    ]
    pack.document(
        "kernel",
        module=module,
        name=name,
        launches=len(launches),
        total_ns=sum(sum(times) for times in of_shape.values()),
        timed=len(launches),
        recorded=len(launches),
        not_recordable=[],
        shapes=shapes,
    )
