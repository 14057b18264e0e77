"""The commands that make a number of the report again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from r3cc.replay.events import Begin, Session
from r3cc.replay.model import Candidate, Specialisation
from r3cc.replay.specialise import DIMENSIONS
from r3cc.report.search import KernelReport, SearchReport, verb_of
from r3cc.store.model import Recording

SAMPLES = 61
"""Where the finals do not say how many pairs they took."""


def record_command(recording: Recording) -> str:
    """How the application was recorded."""
    device = ["--device", "cpu"] if recording.device == "cpu" else []
    return shlex.join(["r3", "record", *device, "--", *recording.command])


def search_command(begin: Begin, session: Session | None, proposers: Sequence[str] = ()) -> str:
    """How the search was begun; ``proposers`` are those of a remix search."""
    verb = verb_of(begin.optimizer)
    words = ["r3", verb, *(plan.kernel for plan in begin.kernels), "--recording", begin.recording]
    words += ["--seed", str(begin.seed)]
    judged = {_judged(plan.numerics, plan.rtol, plan.atol) for plan in begin.kernels}
    words += judged.pop() if len(judged) == 1 else ()
    if any(plan.specialise for plan in begin.kernels):
        words.append("--specialise")
    if verb == "tune" and begin.optimizer != "r3":
        words += ["--optimizer", begin.optimizer]
    words += [word for proposer in proposers for word in ("--llm", proposer)]
    if session is not None and session.budget is not None:
        words += ["--budget", str(session.budget)]
    if session is not None and session.time_s is not None:
        words += ["--time", f"{session.time_s:g}s"]
    entries = "  # with the numerics and tolerances of the settings file's [[kernel]] entries" if judged else ""
    return shlex.join(words) + entries


def _judged(numerics: str, rtol: float | None, atol: float | None) -> tuple[str, ...]:
    """How results were judged."""
    words = ["--numerics", numerics]
    for option, value in (("--rtol", rtol), ("--atol", atol)):
        words += [option, repr(value)] if value is not None else []
    return tuple(words)


def replay_command(report: SearchReport, kernel: KernelReport, candidate: Candidate) -> str:
    """How a candidate is judged again on the recorded launches, with as many pairs as in the finals."""
    words = ["r3", "replay", kernel.id, "--recording", report.recording]
    words += _judged(kernel.numerics, kernel.rtol, kernel.atol)
    if candidate.pipeline is not None:
        words += ["--passes", candidate.pipeline]
    for key, value in candidate.codegen:
        words += ["--codegen", f"{key}={value}"]
    words += [word for constant in constants(candidate.specialisation) for word in ("--fix", constant)]
    for option, dimensions in (("--block", candidate.launch.block), ("--grid", candidate.launch.grid)):
        if dimensions is not None:
            words += [option, ",".join(map(str, dimensions))]
    if candidate.variant is not None:
        words += ["--variant", candidate.variant]
    if kernel.l2 is not None:
        words += ["--l2", kernel.l2.value]
    samples = kernel.speedup.samples if kernel.speedup is not None else SAMPLES
    command = shlex.join([*words, "--samples", str(samples)])
    if candidate.launch.by_shape:
        return f"{command}  # the winner has other blocks for {len(candidate.launch.by_shape)} of the launch shapes"
    served = len(candidate.launch.shapes)
    return f"{command}  # the winner has this block for {served} of the launch shapes alone" if served else command


def constants(special: Specialisation) -> list[str]:
    """What ``--fix`` takes for a specialisation: it finds the values in the recorded launches."""
    words = [str(index) for index, _ in special.arguments]
    words += [name for name in DIMENSIONS if getattr(special, name) is not None]
    words += [table.variable or str(table.argument) for table in special.tables]
    return list(dict.fromkeys(words))  # a pointer's table has a part for each place behind it


def check_command(report: SearchReport) -> str:
    """How that profile is held against the recording."""
    return shlex.join(["r3", "check", "--recording", report.recording, "--profile", "tuned.r3.json"])


def apply_command(report: SearchReport) -> str:
    """How the winners become a profile."""
    device = ["--device", "cpu"] if report.heading is not None else []  # the host's results are taken by name alone
    return shlex.join(["r3", "apply", "--search", report.search, *device, "-o", "tuned.r3.json"])
