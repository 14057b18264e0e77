"""``r3 ls``: kernels of a recording by share of device time, or modules of a binary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from r3cc.cli.options import json_option, recording_option, store_option
from r3cc.cli.output import human_dimensions, human_time, print_json, print_table, say
from r3cc.store import Store
from r3cc.store.binary import EmbeddedModule, read_binary
from r3cc.store.demangle import demangle, label, shorten
from r3cc.store.kernels import no_kernel
from r3cc.store.model import Kernel


@click.command()
@store_option
@recording_option
@json_option
@click.option("--binary", type=click.Path(path_type=Path), metavar="FILE", help="List what FILE carries instead.")
def ls(store: Path, recording: str | None, as_json: bool, binary: Path | None) -> None:
    """List the kernels of a recording by their share of device time."""
    if binary is not None:
        list_binary(binary, as_json)
        return
    with Store.open(store) as opened:
        chosen = opened.recording(recording)
        kernels = opened.kernels(chosen.id)
    if as_json:
        print_json({"kernels": [kernel_document(kernel) for kernel in kernels]})
        return
    if not kernels:
        say(no_kernel(chosen.id))
        return
    print_table(kernel_table(kernels))


def kernel_document(kernel: Kernel) -> dict[str, object]:
    """The JSON of one kernel that scripts rely on; times in milliseconds."""
    return {
        "id": kernel.id,
        "name": kernel.name,
        "demangled": kernel.demangled,
        "module": kernel.module,
        "device": kernel.device,
        "share": kernel.share,
        "total_ms": kernel.total_ns / 1e6,
        "launches": kernel.launches,
        "recorded": kernel.recorded,
        "not_recordable": [{"reason": entry.reason, "launches": entry.launches} for entry in kernel.not_recordable],
    }


def kernel_table(kernels: list[Kernel]) -> Table:
    """One row a kernel."""
    table = Table(box=None, pad_edge=False)
    table.add_column("id", no_wrap=True)
    table.add_column("kernel", overflow="fold", ratio=3)
    for name in ("share", "total", "launches", "recorded"):
        table.add_column(name, justify="right", no_wrap=True)
    lacking = any(kernel.not_recordable for kernel in kernels)
    if lacking:
        table.add_column("not recordable", overflow="fold", ratio=2)
    for kernel in kernels:
        reasons = "; ".join(f"{entry.launches}: {entry.reason}" for entry in kernel.not_recordable)
        table.add_row(
            kernel.id,
            label(kernel.demangled),
            f"{kernel.share:.1%}",
            human_time(kernel.total_ns),
            str(kernel.launches),
            str(kernel.recorded),
            *([reasons] if lacking else []),
        )
    return table


def list_binary(path: Path, as_json: bool) -> None:
    """Print the modules, architectures and kernels that a binary carries."""
    modules = read_binary(path)
    if as_json:
        print_json({"binary": str(path), "modules": [binary_document(module) for module in modules]})
        return
    if not modules:
        say(f"{path} carries no device module; build it with r3-clang++")
        return
    tuned = any(module.tuned for module in modules)
    table = Table(box=None, pad_edge=False)
    for name in ("module", "architecture", "source"):
        table.add_column(name, no_wrap=True)
    table.add_column("kernel", overflow="fold")
    if tuned:
        table.add_column("profile", overflow="fold")
    for module in modules:
        rows = [(shorten(demangle(kernel["name"])), profile_text(kernel)) for kernel in module.info.get("kernels", [])]
        source = str(module.info.get("source", "")) + (" (RDC)" if module.relocatable else "")
        head = (module_text(module), str(module.info.get("architecture", "")), source)
        for number, (kernel, profile) in enumerate(rows or [("", "")]):
            cells = (*(head if number == 0 else ("", "", "")), kernel)
            table.add_row(*cells, *((profile,) if tuned else ()))
    print_table(table)


def module_text(module: EmbeddedModule) -> str:
    """Start of a module's id; a tuned build has no module but a profile."""
    return str(module.info.get("module", ""))[:12] or f"tuned by {module.profile[:12]}"


def profile_text(kernel: dict[str, Any]) -> str:
    """What a profile did to a kernel of a tuned build: ``tuned: pipeline, minctasm=4, block 128,1,1``."""
    parts = ["pipeline"] if kernel.get("pipeline") else []
    parts += [f"{key}={value}" for field in ("attributes", "module") for key, value in kernel.get(field, {}).items()]
    if kernel.get("launch"):
        own = [f"{human_dimensions(each['block'])} for a shape" for each in kernel["launch"].get("by_shape", [])]
        parts.append(f"block {', '.join([human_dimensions(kernel['launch']['block']), *own])}")
    if kernel.get("specialised"):
        parts.append(f"a second version for {version_text(kernel['specialised'])}")
    parts += kernel.get("notes", [])
    status = str(kernel.get("profile", ""))
    return f"{status}: {', '.join(parts)}" if parts else status


def version_text(version: dict[str, Any]) -> str:
    """The guard of a kernel's second version: ``argument 0, block 128,1,1``."""
    parts = [f"argument {argument['index']}" for argument in version["arguments"]]
    parts += [f"{name} {human_dimensions(version[name])}" for name in ("block", "grid") if version[name]]
    tables = version.get("tables", [])
    parts += [each.get("variable") or f"what argument {each['argument']} points to" for each in tables]
    parts += [f"at most {version['threads']} threads a block"] if version["threads"] else []
    return ", ".join(parts)


def binary_document(module: EmbeddedModule) -> dict[str, object]:
    """The JSON of one module in a binary."""
    return {
        "module": module.info.get("module"),
        "architecture": module.info.get("architecture"),
        "source": module.info.get("source"),
        "relocatable": module.relocatable,
        "tuned": module.tuned,
        "profile": module.profile or None,
        "bitcode_bytes": len(module.bitcode),
        "kernels": [kernel_of_binary(kernel) for kernel in module.info.get("kernels", [])],
    }


def kernel_of_binary(kernel: dict[str, Any]) -> dict[str, object]:
    """The JSON of one kernel in a binary, with what a profile did to it where it is a tuned build."""
    document = {"name": kernel["name"], "demangled": demangle(kernel["name"]), "line": kernel.get("line") or None}
    fields = ("profile", "device", "digest", "pipeline", "attributes", "module", "launch", "specialised", "version_of")
    return document | {key: kernel[key] for key in (*fields, "notes") if key in kernel}
