import random

from r3cc.devices.base import PAGE, Range, merge_pages
from r3cc.devices.pinned import HOST
from r3cc.replay.memory import (
    GUARD,
    clip,
    coalesce,
    granules_of,
    join_near,
    page_numbers,
    spans_of,
    union,
    without,
)
from r3cc.store.model import Region


def covered(ranges):
    return {byte for each in ranges for byte in range(each.address, each.end)}


def test_operations_agree_with_sets_of_bytes():
    draw = random.Random(3)
    for _ in range(200):
        left = [Range(draw.randrange(100), draw.randrange(1, 20)) for _ in range(draw.randrange(6))]
        right = [Range(draw.randrange(100), draw.randrange(1, 20)) for _ in range(draw.randrange(6))]
        window = Range(draw.randrange(50), draw.randrange(1, 60))
        assert covered(union(left)) == covered(left)
        assert covered(clip(left, window)) == covered(left) & covered([window])
        assert covered(without(left, right)) == covered(left) - covered(right)


def test_coalescing_keeps_the_number_of_copies_small_and_loses_nothing():
    draw = random.Random(4)
    ranges = union([Range(draw.randrange(10**6), draw.randrange(1, 50)) for _ in range(500)])
    few = coalesce(ranges)
    assert len(few) <= 64 < len(ranges)
    assert all(any(wide.holds(each) for wide in few) for each in ranges)
    assert few[-1].end == ranges[-1].end


def test_what_lies_near_is_joined_and_what_does_not_stays_apart():
    assert join_near([Range(0, 10), Range(20, 10), Range(1 << 20, 5)]) == [Range(0, 30), Range(1 << 20, 5)]
    assert join_near([]) == []


def test_pages_of_ranges_are_listed_once_each():
    ranges = [Range(0, 1), Range(PAGE - 1, 1), Range(3 * PAGE - 1, 2), Range(9 * PAGE, PAGE)]
    assert page_numbers(ranges).tolist() == [0, 2, 3, 9]


def test_granules_that_touch_are_merged():
    regions = [Region(address, size, "", "") for address, size in ((0x10010, 16), (0x10FF0, 32), (0x20000, 0x1000))]
    assert granules_of(regions, 0x1000) == [Range(0x10000, 0x2000), Range(0x20000, 0x1000)]


def test_spans_have_a_guard_in_front():
    start = 1 << 40
    regions = [Region(start + offset, 16, "", "") for offset in (16, GUARD // 2, 5 * GUARD)]
    assert spans_of(regions, 0x1000) == [
        Range(start - GUARD, GUARD + GUARD // 2 + 0x1000),
        Range(start + 4 * GUARD, GUARD + 0x1000),
    ]
    assert spans_of([Region(HOST.address, 16, "", "")], 0x1000) == [Range(HOST.address, 0x1000)]


def test_flagged_pages_become_merged_offsets():
    assert merge_pages(bytes([0, 1, 1, 0, 1]), 4 * PAGE + 10) == [Range(PAGE, 2 * PAGE), Range(4 * PAGE, 10)]
    assert merge_pages(b"", 0) == []
