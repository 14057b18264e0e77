"""A/A: searches in which every candidate is a copy of the baseline's own code. Each has to end as no improvement.

A copy is the baseline's code object with a few bytes behind its end: another file with another hash, loaded to another
place, but the same instructions. The search, the finals and the verdict are those of ``r3 tune``.
"""

from __future__ import annotations

import hashlib
import itertools
import shutil
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.common import Options, parse_options, report
from benchmarks.examples import ALL, heaviest, recorded, spaces
from r3cc.farm import EvaluatorSettings
from r3cc.farm.local import LocalEvaluator
from r3cc.replay.compile import CodeObject, CodeRequest, write_whole
from r3cc.replay.events import Result
from r3cc.store import Store
from r3cc.store.eventlog import EventLog
from r3cc.tune.budget import Limits
from r3cc.tune.journal import Journal
from r3cc.tune.plan import Choice
from r3cc.tune.search import Target, Tuner
from r3cc.tune.space import Space
from r3cc.tune.watcher import Silent

SEARCHES = 20
BUDGET = 12
KERNELS = 2
"""Of each mini-app."""


def main() -> None:
    options = parse_options(__doc__ or "")
    subjects = []
    for app in ALL:
        store = recorded(app, options)
        subjects += [
            (store, choice, space) for choice, space in spaces(store, heaviest(store, KERNELS), options.device)
        ]
    searches = []
    rows = []
    for number, subject in zip(range(2 if options.quick else SEARCHES), itertools.cycle(subjects), strict=False):
        result = search(number, *subject, options)
        searches.append(found(subject[1], result))
        rows.append((f"{number + 1} {subject[1].kernel.name}", verdict(result)))
        print(*rows[-1], flush=True)
    held = sum(not each["improved"] for each in searches)
    rows.append(("no improvement", f"{held} of {len(searches)}"))
    report(options, "against_itself", {"searches": searches, "held": held}, rows)


def search(number: int, store: Store, choice: Choice, space: Space, options: Options) -> Result:
    """One search over copies; its event log stays in the output folder."""
    folder = options.out / f"against-itself-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()

    def open_evaluator() -> CopyEvaluator:
        CopyEvaluator.copies = folder
        return CopyEvaluator.open(store, choice.kernel, choice.device, EvaluatorSettings())

    log = folder / "events.jsonl"
    space.knobs = ()  # another block shape makes the same code faster or slower in truth
    with EventLog(log) as events:
        target = Target(choice.plan, space, open_evaluator)
        (result,) = Tuner(Journal(events, ()), [target], Silent(), "random", number, Limits(BUDGET, None)).run()
    shutil.rmtree(folder)
    return result


class CopyEvaluator(LocalEvaluator):
    """Compiles every candidate to a copy of the baseline's code object."""

    copies: Path

    def _code(self, request: CodeRequest) -> Future[CodeObject]:
        own = super()._code(CodeRequest())
        if request == CodeRequest():
            return own
        copied: Future[CodeObject] = Future()
        own.add_done_callback(lambda done: copied.set_result(self._copy(done.result(), request)))
        return copied

    def _copy(self, own: CodeObject, request: CodeRequest) -> CodeObject:
        assert own.path is not None, own.message
        content = own.path.read_bytes() + hashlib.sha256(msgspec.json.encode(request)).digest()
        name = hashlib.sha256(content).hexdigest()
        write_whole(self.copies / name, content)
        return msgspec.structs.replace(own, path=self.copies / name, object_hash=name)


def found(choice: Choice, result: Result) -> dict[str, Any]:
    """A search's verdict for the JSON."""
    return {
        "kernel": choice.kernel.name,
        "improved": result.n is not None,
        "speedup": msgspec.to_builtins(result.speedup),
        "note": result.note,
    }


def verdict(result: Result) -> str:
    """A search's verdict for people."""
    if result.speedup is None:
        return result.note
    value = result.speedup
    sign = "no improvement" if result.n is None else "IMPROVEMENT"
    return f"{sign}: {value.median:.3f}x [{value.low:.3f}, {value.high:.3f}] {result.note}"


if __name__ == "__main__":
    main()
