"""Evaluations per second on all GPUs of one model against one of them, in turn, on the same candidates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import Summary, options_of, options_parser, report
from benchmarks.evaluations import compile_bound, distinct, launch_only, measure, recording
from r3cc.farm.local import devices_of
from r3cc.replay.model import Candidate

ALL = "cuda:*"


def main() -> None:
    parser = options_parser(__doc__ or "")
    parser.add_argument("--rounds", type=int, default=3, help="how often each number of GPUs has its turn")
    given = parser.parse_args()
    options = options_of(given)
    devices = devices_of(ALL)
    if len(devices) < 2:
        raise SystemExit("this machine has no two GPUs of one model, so there is nothing to compare")
    store = recording(options)
    count, rounds = (16, 1) if options.quick else (200, given.rounds)
    work = {"compile_bound": distinct(compile_bound(count)), "launch_only": distinct(launch_only(count))}
    results = {name: _in_turn(candidates, store, devices, rounds) for name, candidates in work.items()}
    report(options, "scaling", results, [row for name, found in results.items() for row in _rows(name, found)])


def _in_turn(candidates: Sequence[Candidate], store: Path, devices: Sequence[str], rounds: int) -> dict[str, Any]:
    """Rates on one GPU and on all, A B A B; a ratio is one round's."""
    pairs = [[measure(candidates, store, device) for device in (devices[0], ALL)] for _ in range(rounds)]
    rates = [(one["per_second"], every["per_second"]) for one, every in pairs]
    return {
        "devices": len(devices),
        "rounds": pairs,
        "one": Summary.of([one for one, _ in rates]),
        "all": Summary.of([every for _, every in rates]),
        "ratio": Summary.of([every / one for one, every in rates]),
    }


def _rows(name: str, found: dict[str, Any]) -> list[tuple[str, str]]:
    title = name.replace("_", " ")
    return [
        (f"{title}: one GPU", found["one"].text("a second")),
        (f"{title}: {found['devices']} GPUs", found["all"].text("a second")),
        (f"{title}: ratio", found["ratio"].text("times")),
    ]


if __name__ == "__main__":
    main()
