"""What searching buys: best-so-far of R3's optimizer, of random search and of O3 alone, on the examples' kernels.

All arms have the same budget, seeds and evaluator. A curve is the best ratio to the baseline after each evaluation, the
interval over seeds; the number beside it is what the finals confirm.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import Options, Summary, parse_options, report
from benchmarks.examples import ALL, WEATHER, heaviest, recorded, spaces
from r3cc.farm import EvaluatorSettings, LocalEvaluator
from r3cc.replay.events import Answer, Result, decode_event
from r3cc.replay.model import Status
from r3cc.store import Store
from r3cc.store.eventlog import EventLog, read_events
from r3cc.tune.budget import Limits
from r3cc.tune.journal import Journal
from r3cc.tune.plan import Choice
from r3cc.tune.search import OPTIMIZERS, Target, Tuner
from r3cc.tune.space import Space
from r3cc.tune.watcher import Silent


def main() -> None:
    options = parse_options(__doc__ or "")
    seeds, budget, kernels = (2, 24, 1) if options.quick else (5, 150, 2)
    results: dict[str, Any] = {}
    rows = []
    for app in (WEATHER,) if options.quick else ALL:
        store = recorded(app, options)
        for choice, space in spaces(store, heaviest(store, kernels), options.device):
            for optimizer in OPTIMIZERS:
                runs = [search(store, choice, space, optimizer, seed, budget, options) for seed in range(seeds)]
                name = f"{app.name} {choice.kernel.name} {optimizer}"
                results[name] = {"curves": [curve for curve, _ in runs], "finals": [final for _, final in runs]}
                rows.append((name, text(runs)))
                print(*rows[-1], flush=True)
    report(options, "curves", results, rows)


def search(
    store: Store, choice: Choice, space: Space, optimizer: str, seed: int, budget: int, options: Options
) -> tuple[list[float], float]:
    """Best ratio after each evaluation, and the ratio that the finals confirm: 1 for no improvement."""
    folder = options.out / "curve"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    log = folder / "events.jsonl"

    def open_evaluator() -> LocalEvaluator:
        return LocalEvaluator.open(store, choice.kernel, choice.device, EvaluatorSettings())

    with EventLog(log) as events:
        target = Target(choice.plan, space, open_evaluator)
        Tuner(Journal(events, ()), [target], Silent(), optimizer, seed, Limits(budget)).run()
    found = read_answers(log)
    return curve_of(found), confirmed(found)


def read_answers(log: Path) -> Sequence[Answer | Result]:
    """Answers and the result of a log."""
    return [event for event in map(decode_event, read_events(log)) if isinstance(event, (Answer, Result))]


def curve_of(events: Sequence[Answer | Result]) -> list[float]:
    """Best ratio so far, evaluation by evaluation."""
    best, curve = 1.0, []
    for event in events:
        if isinstance(event, Answer):
            ratio = event.evaluation.ratio
            if event.evaluation.status is Status.OK and ratio is not None:
                best = min(best, ratio.median)
            curve.append(best)
    return curve


def confirmed(events: Sequence[Answer | Result]) -> float:
    """The ratio in the finals."""
    result = next(event for event in events if isinstance(event, Result))
    return 1.0 if result.n is None or result.speedup is None else 1 / result.speedup.median


def text(runs: Sequence[tuple[list[float], float]]) -> str:
    """Best seen and best confirmed, over seeds."""
    seen = Summary.of([curve[-1] for curve, _ in runs])
    kept = Summary.of([final for _, final in runs])
    return f"best seen {seen.text('of the baseline')}; confirmed {kept.text('')}"


if __name__ == "__main__":
    main()
