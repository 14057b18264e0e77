"""``r3 show``: one kernel, as it was recorded."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec
from rich.table import Table

from r3cc.cli.ls import kernel_document
from r3cc.cli.options import json_option, recording_option, store_option
from r3cc.cli.output import counted, human_bytes, human_dimensions, human_time, print_json, print_table
from r3cc.llvm.inspect import kernel_ir, kernel_ptx
from r3cc.store import Store
from r3cc.store.arguments import arguments, kernel_info
from r3cc.store.images import CHUNK_SIZE
from r3cc.store.model import GlobalImage, Kernel, Launch, Module, Region

WHOLE = ("launch", "address")
"""Columns that people copy from."""


@click.command()
@store_option
@recording_option
@json_option
@click.option("--ir", is_flag=True, help="Print the kernel's LLVM IR as it was before the optimisation pipeline.")
@click.option("--ptx", is_flag=True, help="Print the kernel's PTX as the recorded build makes it.")
@click.argument("kernel")
def show(store: Path, recording: str | None, as_json: bool, ir: bool, ptx: bool, kernel: str) -> None:
    """Show KERNEL: where it comes from, its geometry, arguments and memory.

    KERNEL is an id, a mangled or demangled name, or a unique part of one.
    """
    if ir + ptx + as_json > 1:
        raise click.UsageError("--ir, --ptx and --json exclude one another")
    with Store.open(store) as opened:
        found = opened.find_kernel(kernel, recording)
        if ir:
            click.echo(kernel_ir(opened.bitcode(found.module), found.name), nl=False)
            return
        module = opened.module(found.module)
        if ptx:
            bitcode = opened.bitcode(found.module)
            click.echo(kernel_ptx(bitcode, found.name, module.info.get("codegen", {})), nl=False)
            return
        launches = opened.launches(found, recording)
        changed = {launch.launch: changed_bytes(opened, launch) for launch in launches}
    if as_json:
        print_json(show_document(found, module, launches, changed))
    else:
        _print(found, module, launches, changed)


def changed_bytes(store: Store, launch: Launch) -> int:
    """Bytes in the 256 KiB chunks that a launch changed."""
    images: list[Region | GlobalImage] = [*launch.regions, *launch.globals]
    return sum(_changed(store, image.before, image.after, image.size) for image in images)


def show_document(kernel: Kernel, module: Module, launches: list[Launch], changed: dict[str, int]) -> dict[str, object]:
    """The JSON of one kernel: what ``r3 ls`` says, and its shapes, source and recorded launches."""
    info = kernel_info(module, kernel.name)
    return kernel_document(kernel) | {
        "binary": module.binary,
        "architecture": module.info.get("architecture"),
        "source": module.info.get("source"),
        "line": info.get("line") or None,
        "compiler": module.info.get("compiler"),
        "codegen": module.info.get("codegen"),
        "globals": info.get("globals", []),
        "shapes": kernel.shapes,
        "recorded_launches": [launch_document(launch, module, changed[launch.launch]) for launch in launches],
    }


def launch_document(launch: Launch, module: Module, changed: int) -> dict[str, object]:
    """The JSON of one launch; sizes in bytes, addresses as hexadecimal text."""
    return {
        "launch": launch.launch,
        "ordinal": launch.ordinal,
        "grid": launch.grid,
        "block": launch.block,
        "shared": launch.shared,
        "held_out": launch.held_out,
        "device": launch.device,
        "time_ns": launch.time_ns,
        "snapshot": launch.snapshot,
        "arguments": [msgspec.to_builtins(argument) for argument in arguments(launch, module)],
        "regions": [{"address": hex(region.address), "size": region.size} for region in launch.regions],
        "globals": [{"name": image.name, "size": image.size} for image in launch.globals],
        "changed_bytes": changed,
    }


def _changed(store: Store, before: str, after: str, size: int) -> int:
    if before == after:
        return 0
    pairs = zip(store.chunk_keys(before, size), store.chunk_keys(after, size), strict=True)
    return sum(min(CHUNK_SIZE, size - position * CHUNK_SIZE) for position, (old, new) in enumerate(pairs) if old != new)


def _print(kernel: Kernel, module: Module, launches: list[Launch], changed: dict[str, int]) -> None:
    _print_head(kernel, module)
    if kernel.shapes:
        click.echo("\nGeometry")
        print_table(_shape_table(kernel))
    if launches:
        click.echo("\nRecorded launches")
        print_table(_launch_table(launches, changed))
        click.echo(f"\nArguments of launch {launches[0].ordinal}")
        print_table(_argument_table(launches[0], module))
        click.echo(f"\nMemory of launch {launches[0].ordinal}")
        print_table(_memory_table(launches[0]))


def _print_head(kernel: Kernel, module: Module) -> None:
    line = kernel_info(module, kernel.name).get("line")
    source = module.info.get("source", "unknown")
    facts = {
        "kernel": kernel.demangled,
        "name": kernel.name,
        "id": kernel.id,
        "module": kernel.module,
        "binary": module.binary,
        "source": f"{source}:{line}" if line else source,
        "built for": f"{module.info.get('architecture', 'unknown')} by {module.info.get('compiler', 'unknown')}",
        "device": kernel.device,
        "time": f"{human_time(kernel.total_ns)} in {counted(kernel.launches, 'launch')}, {kernel.share:.1%} of all",
        "recorded": counted(kernel.recorded, "launch"),
    }
    for label, value in facts.items():
        click.echo(f"{label:10} {value}")
    for entry in kernel.not_recordable:
        click.echo(f"{'':10} not recordable: {counted(entry.launches, 'launch')}: {entry.reason}")


def _shape_table(kernel: Kernel) -> Table:
    table = _table("grid", "block", "shared", "launches", "total")
    for shape in kernel.shapes:
        table.add_row(
            human_dimensions(shape.grid),
            human_dimensions(shape.block),
            human_bytes(shape.shared),
            str(shape.launches),
            human_time(shape.total_ns),
        )
    return table


def _launch_table(launches: list[Launch], changed: dict[str, int]) -> Table:
    table = _table("launch", "ordinal", "grid", "block", "time", "memory", "changed", "held out")
    for launch in launches:
        size = sum(region.size for region in launch.regions) + sum(image.size for image in launch.globals)
        table.add_row(
            launch.launch,
            str(launch.ordinal),
            human_dimensions(launch.grid),
            human_dimensions(launch.block),
            human_time(launch.time_ns) if launch.time_ns else "-",
            human_bytes(size),
            human_bytes(changed[launch.launch]),
            "yes" if launch.held_out else "",
        )
    return table


def _argument_table(launch: Launch, module: Module) -> Table:
    table = _table("offset", "size", "type", "name", "value")
    for argument in arguments(launch, module):
        table.add_row(str(argument.offset), str(argument.size), argument.type, argument.name, argument.value)
    return table


def _memory_table(launch: Launch) -> Table:
    table = _table("address", "size", "changed", "global")
    images: list[Region | GlobalImage] = [*launch.regions, *launch.globals]
    for image in images:
        name = image.name if isinstance(image, GlobalImage) else ""
        table.add_row(hex(image.address), human_bytes(image.size), "yes" if image.before != image.after else "", name)
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in WHOLE)
    return table
