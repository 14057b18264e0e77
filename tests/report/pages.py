"""A store with a search that has something of everything that the page shows; also for looking at it by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from r3cc.replay.events import VERSION, Answer, Begin, End, Event, KernelPlan, Result
from r3cc.replay.model import Candidate, Evaluation, Interval, LaunchConfiguration, Status
from r3cc.store import Store
from r3cc.store.eventlog import EventLog
from r3cc.store.search import Search
from tests.conftest import REDUCE, SAXPY
from tests.tune.test_search import run

RECORDING = "20260102-030405-abcd"
ORIGINAL = "__global__ void reduce(const double *x, double *y) {\n  y[0] += x[threadIdx.x];\n}\n"


def plans(store: Store) -> tuple[KernelPlan, ...]:
    """Both kernels of the small store."""
    kernels = {kernel.name: kernel for kernel in store.kernels(RECORDING)}
    return tuple(
        KernelPlan(
            kernel=kernels[name].id,
            module=kernels[name].module,
            name=name,
            demangled=kernels[name].demangled,
            share=kernels[name].share,
            numerics="rounding",
        )
        for name in (SAXPY, REDUCE)
    )


def begin(store: Store, optimizer: str = "r3", device: str = "cpu") -> Begin:
    return Begin(
        at=1.0,
        version=VERSION,
        recording=RECORDING,
        device=device,
        device_name="a <device> & more",
        optimizer=optimizer,
        seed=1,
        kernels=plans(store),
        versions={"llvm": "22.1.8"},
    )


def tune_search(store: Store, *, complete: bool = True) -> Search:
    """A real search on a synthetic kernel, with failures, winners and changes taken away."""
    made = store.searches.create()
    with EventLog(made.events_path) as log:
        log.append(begin(store))
    if complete:
        run(made.events_path, plans=plans(store), budget=120)
    return made


def remix_search(store: Store) -> Search:
    """A remix search's log, as docs/search-log.md says: three measured rewrites, one a child of another."""
    made = store.searches.create()
    saxpy, reduce = plans(store)
    with EventLog(made.events_path) as log:
        for event in (begin(store, "remix"), *_remix_lines(reduce.kernel), *_verdicts(saxpy, reduce)):
            log.append(event)
    return made


def _remix_lines(kernel: str) -> list[dict[str, Any]]:
    region = {
        "name": "reduce",
        "path": "src/app.cu",
        "begin": 0,
        "end": len(ORIGINAL),
        "text": ORIGINAL,
        "kernel": True,
    }
    settings = {"dimensions": ["shared", "registers"]}
    source = {"kernel": kernel, "name": REDUCE, "regions": [region]}
    common = {"at": 1.0, "kernel": kernel, "island": 0, "operator": "rewrite", "proposer": "rules"}
    first = ORIGINAL.replace("y[0] +=", "y[1] +=")
    measured: list[tuple[int, int | None, float, str, list[list[Any]]]] = [
        (0, None, 0.8, first, [["shared", 0], ["registers", 1]]),
        (1, None, 0.9, ORIGINAL + "// <b>", [["shared", 0], ["registers", 1]]),
        (3, 0, 0.5, first.replace("double *y", "double *__restrict__ y"), [["shared", 2], ["registers", 0]]),
    ]
    verdicts = [
        common
        | {
            "event": "verdict",
            "n": n,
            "parent": parent,
            "stage": "time",
            "strategy": f"strategy {n}",
            "texts": {"reduce": text},
            "variant": f"{n:016x}",
            "candidate": {"variant": f"{n:016x}"},
            "features": {"bins": bins},
            "ratio": {"median": ratio, "low": ratio - 0.01, "high": ratio + 0.01, "samples": 15},
        }
        for n, parent, ratio, text, bins in measured
    ]
    wrong = common | {"event": "verdict", "n": 2, "parent": None, "stage": "correct", "reason": "mismatch"}
    return [
        {"event": "remix", "at": 1.0, "proposers": ["rules"], "policy": "p", "settings": settings},
        {"event": "source", "at": 1.0, "kernel": kernel, "source": source},
        verdicts[0],
        verdicts[1],
        wrong,
        verdicts[2],
    ]


def _verdicts(saxpy: KernelPlan, reduce: KernelPlan) -> list[Event]:
    winner = Candidate("default<O3>", (("maxnreg", "64"),), LaunchConfiguration(block=(64, 1, 1)), f"{3:016x}")
    seen = [
        (0, Candidate(variant=f"{0:016x}"), 0.8),
        (3, winner, 0.5),
        (4, msgspec.structs.replace(winner, codegen=()), 0.55),
        (5, Candidate("default<O3>"), 0.95),
    ]
    answers = [
        Answer(
            at=1.0,
            n=n,
            kernel=reduce.kernel,
            evaluation=Evaluation(candidate, Status.OK, ratio=Interval(ratio, ratio - 0.01, ratio + 0.01, 15)),
            loss=0.0,
        )
        for n, candidate, ratio in seen
    ]
    none = Result(
        at=2.0,
        kernel=saxpy.kernel,
        n=None,
        candidate=Candidate(),
        changes=(),
        baseline_ns=Interval(1e4, 9e3, 1.1e4, 61),
        best_ns=None,
        speedup=Interval(1.01, 0.97, 1.05, 61),
        note="the interval holds 1",
    )
    won = Result(
        at=2.0,
        kernel=reduce.kernel,
        n=3,
        candidate=winner,
        changes=("source: strategy 3", "block 64,1,1"),
        baseline_ns=Interval(2e4, 1.9e4, 2.1e4, 61),
        best_ns=Interval(1e4, 0.9e4, 1.1e4, 61),
        speedup=Interval(2.0, 1.9, 2.1, 61),
    )
    return [*answers, none, won, End(at=3.0)]


def write_both(folder: Path, store: Store) -> tuple[Path, Path]:
    """Pages of both kinds of search."""
    from r3cc.report.page import write_page

    tune, remix = folder / "tune.html", folder / "remix.html"
    write_page(store, tune_search(store), tune)
    write_page(store, remix_search(store), remix)
    return tune, remix
