"""``r3 doctor``: the tools that R3 found, what is missing, and what brings it."""

from __future__ import annotations

import click
from rich.table import Table

from r3cc.cli.options import json_option
from r3cc.cli.output import counted, print_json, print_table, say
from r3cc.devices.count import count_cuda_devices
from r3cc.toolchain.diagnosis import Finding, Need, build_works, diagnose


@click.command()
@json_option
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Show the tools that R3 found, and what is missing; exit with 1 when a build can't work."""
    findings = diagnose()
    gpus = count_cuda_devices()
    works = build_works(findings)
    if as_json:
        print_json({"build_works": works, "gpus": gpus, "tools": [tool_document(finding) for finding in findings]})
    else:
        print_table(tool_table(findings))
        _say_verdict(findings, gpus, works)
    ctx.exit(0 if works else 1)


def tool_document(finding: Finding) -> dict[str, object]:
    """The JSON of one tool; path, version and origin are null when it is missing."""
    tool = finding.tool
    return {
        "name": finding.name,
        "purpose": finding.purpose,
        "need": finding.need,
        "path": str(tool.path) if tool else None,
        "version": tool.version if tool else None,
        "origin": tool.origin if tool else None,
        "problem": finding.problem,
        "remedy": finding.remedy,
    }


def tool_table(findings: list[Finding]) -> Table:
    """One row a tool."""
    table = Table(box=None, pad_edge=False)
    for name in ("tool", "version", "from"):
        table.add_column(name, no_wrap=True)
    for name in ("path", "for"):
        table.add_column(name, overflow="fold")
    for finding in findings:
        tool = finding.tool
        if tool is None:
            table.add_row(finding.name, "missing", "", "", finding.purpose)
        else:
            table.add_row(finding.name, tool.version or "?", tool.origin, str(tool.path), finding.purpose)
    return table


def _say_verdict(findings: list[Finding], gpus: int, works: bool) -> None:
    for finding in findings:
        if finding.problem:
            weight = "needed" if finding.need is Need.BUILD else "optional"
            say(f"{finding.name} ({weight}): {finding.problem}; `{finding.remedy}`")
    say(counted(gpus, "NVIDIA GPU") if gpus else "no NVIDIA GPU: `--device cpu` runs kernels on the host")
    say("builds with R3 work" if works else "builds with R3 cannot work until what is needed is there")
