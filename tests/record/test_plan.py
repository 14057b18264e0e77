"""Which launches stand for the rest, by their times."""

from __future__ import annotations

from r3cc.record.options import RecordOptions
from r3cc.record.plan import plan_launches
from r3cc.store.documents import KernelDocument
from r3cc.store.model import Shape


def kernel(name: str, *shapes: Shape) -> KernelDocument:
    total = sum(shape.total_ns for shape in shapes)
    return KernelDocument("m", name, 1, total, 1, 0, (), shapes)


def shape(x: int, launches: int, total: int) -> Shape:
    return Shape((x, 1, 1), (32, 1, 1), 0, launches, total)


def planned(documents: list[KernelDocument], options: RecordOptions) -> dict[str, list[list[tuple[int, bool]]]]:
    plan = plan_launches(documents, options)
    return {
        kernel.name: [[(each.ordinal, each.held_out) for each in shape.launches] for shape in kernel.shapes]
        for kernel in plan.kernels
    }


def test_launches_are_the_middles_of_equal_parts_of_the_run() -> None:
    found = planned([kernel("a", shape(1, 800, 100))], RecordOptions())
    assert found == {"a": [[(100, False), (300, True), (500, False), (700, False)]]}


def test_a_short_run_keeps_what_there_is() -> None:
    assert planned([kernel("a", shape(1, 1, 100))], RecordOptions()) == {"a": [[(0, False)]]}
    assert planned([kernel("a", shape(1, 2, 100))], RecordOptions()) == {"a": [[(0, False), (1, True)]]}


def test_as_many_are_held_out_as_asked_for() -> None:
    (launches,) = planned([kernel("a", shape(1, 100, 1))], RecordOptions(launches=1, held_out=4))["a"]
    assert [held_out for _, held_out in launches] == [False, True, True, True, True]
    (launches,) = planned([kernel("a", shape(1, 100, 1))], RecordOptions(launches=0, held_out=2))["a"]
    assert [held_out for _, held_out in launches] == [True, True]


def test_kernels_and_shapes_that_take_no_time_are_left_out() -> None:
    documents = [
        kernel("long", shape(1, 10, 9000), shape(2, 10, 100)),
        kernel("middle", shape(1, 10, 800)),
        kernel("short", shape(1, 1000, 10)),
    ]
    found = planned(documents, RecordOptions())
    assert list(found) == ["long", "middle"]
    assert len(found["long"]) == 1


def test_ordinals_are_those_of_one_process() -> None:
    documents = [kernel("a", shape(1, 40, 100)), kernel("a", shape(1, 80, 300)), kernel("a", shape(1, 40, 200))]
    (launches,) = planned(documents, RecordOptions(launches=1, held_out=0))["a"]
    assert launches == [(40, False)]


def test_the_shape_that_stands_for_many_is_not_planned() -> None:
    assert planned([kernel("a", Shape((0, 0, 0), (0, 0, 0), 0, 5, 100))], RecordOptions()) == {"a": []}
