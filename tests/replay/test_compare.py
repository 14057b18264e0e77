import msgspec
import numpy as np
import pytest

from r3cc.replay.compare import Area, Magnitude, magnitude_of
from r3cc.replay.elements import region_elements, tolerance
from r3cc.replay.model import BYTES, Mismatch, Numerics
from tests.replay.launches import MemoryLaunches, make_launch

ROUNDING = {element: tolerance(element, Numerics.ROUNDING, None, None) for element in ("double", "float", "half")}


def raw(array):
    return np.ascontiguousarray(array).view(np.uint8).reshape(-1)


def judge(expected, actual, element, allowed):
    area = Area("0x1000", 0, expected.nbytes, element, lambda: magnitude_of(raw(expected), element))
    return area.judge([(0, raw(expected), raw(actual))], allowed)


def test_equal_bytes_are_no_mismatch():
    values = np.array([1.0, np.nan, np.inf, -0.0])
    assert judge(values, values, "double", None) is None
    assert judge(values, values, "double", ROUNDING["double"]) is None


def test_last_bit_is_within_rounding_and_not_bitwise():
    expected = np.linspace(1.0, 2.0, 100)
    actual = np.nextafter(expected, 10.0)
    assert judge(expected, actual, "double", ROUNDING["double"]) is None
    found = judge(expected, actual, "double", None)
    assert found.count == 100 and 0 < found.max_rel < 1e-15


def test_mismatch_says_where_how_many_and_how_large():
    expected = np.ones(100)
    actual = expected.copy()
    actual[[10, 20]] = [1.5, 3.0]
    found = judge(expected, actual, "double", ROUNDING["double"])
    assert (found.where, found.element, found.count) == ("0x1000+80", "double", 2)
    assert (found.max_abs, found.max_rel) == (2.0, 2.0)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_never_pass_for_a_number(wrong):
    expected, actual = np.ones(4), np.ones(4)
    actual[2] = wrong
    assert judge(expected, actual, "double", ROUNDING["double"]).count == 1
    assert judge(actual, expected, "double", ROUNDING["double"]).count == 1


def test_nan_with_another_payload_is_the_same_nan_unless_bitwise():
    expected = np.array([np.nan, 1.0])
    actual = expected.copy()
    actual.view(np.uint64)[0] ^= 1
    assert judge(expected, actual, "double", ROUNDING["double"]) is None
    assert judge(expected, actual, "double", None).count == 1


def test_infinity_of_the_other_sign_is_a_mismatch():
    found = judge(np.array([np.inf]), np.array([-np.inf]), "double", ROUNDING["double"])
    assert found.count == 1 and found.max_abs is None
    assert msgspec.json.decode(msgspec.json.encode(found), type=Mismatch) == found  # as event logs keep it


def test_absolute_floor_scales_with_the_buffer():
    expected = np.array([0.0, 1e6])
    tiny, large = np.array([1e-8, 1e6]), np.array([1e-3, 1e6])
    assert judge(expected, tiny, "double", ROUNDING["double"]) is None
    assert judge(expected, large, "double", ROUNDING["double"]).count == 1


def test_many_small_differences_break_the_norm():
    expected = np.ones(10_000)
    drifted = expected * (1 + 9e-10)  # each element within its tolerance
    found = judge(expected, drifted, "double", ROUNDING["double"])
    assert found is not None and found.count == 10_000


def test_given_tolerances_count():
    expected, actual = np.ones(8), np.ones(8) * 1.01
    assert judge(expected, actual, "double", tolerance("double", Numerics.ROUNDING, 0.02, None)) is None
    assert judge(expected, actual, "double", tolerance("double", Numerics.ROUNDING, None, 0.02)) is None
    assert judge(expected, actual, "double", tolerance("double", Numerics.ROUNDING, 0.001, None)).count == 8


def test_integers_are_as_far_apart_as_their_values():
    expected, actual = np.array([1, -2, 0], np.int32), np.array([1, 2, -3], np.int32)
    found = judge(expected, actual, "i32", None)
    assert (found.count, found.max_abs, found.max_rel) == (2, 4.0, 3.0)
    assert found.furthest == ("4", "3")
    assert judge(expected, actual, BYTES, None).furthest == ("-", "-"), "nobody knows what they are"


def test_integers_and_bytes_are_exact_at_every_level():
    expected, actual = np.array([1, 2, 3], np.int32), np.array([1, 2, 4], np.int32)
    assert tolerance("i32", Numerics.APPROX, 1.0, 1.0) is None
    found = judge(expected, actual, "i32", None)
    assert (found.where, found.count) == ("0x1000+8", 1)
    assert judge(expected, actual, "bytes", None).count == 1


def test_half_precision_is_judged_as_such():
    expected = np.array([1.0, 2.0], np.float16)
    assert judge(expected, np.nextafter(expected, np.float16(9)), "half", ROUNDING["half"]) is None
    assert judge(expected, expected * np.float16(1.5), "half", ROUNDING["half"]).count == 2


def test_spread_of_the_baseline_widens_what_a_candidate_may_do():
    expected = np.full(16, 100.0)
    replay = expected + 0.01
    beyond = expected + 1.0
    area = Area("0x1000", 0, expected.nbytes, "double", lambda: magnitude_of(raw(expected), "double"))
    assert area.judge([(0, raw(expected), raw(replay))], ROUNDING["double"]).count == 16
    area.widen([(0, raw(expected), raw(replay))])
    assert not area.deterministic
    assert area.judge([(0, raw(expected), raw(replay))], ROUNDING["double"]) is None
    assert area.judge([(0, raw(expected), raw(beyond))], ROUNDING["double"]).count == 16


def test_bitwise_exempts_only_what_the_baseline_itself_varies():
    expected, replay = np.arange(8.0), np.arange(8.0)
    replay[3] += 1e-12
    area = Area("0x1000", 0, expected.nbytes, "double", lambda: magnitude_of(raw(expected), "double"))
    area.widen([(0, raw(expected), raw(replay))])
    assert area.judge([(0, raw(expected), raw(replay))], None) is None
    other = expected.copy()
    other[4] += 1e-12
    assert area.judge([(0, raw(expected), raw(other))], None).count == 1


def test_memory_that_does_not_hold_whole_elements_is_bytes():
    assert Area("0x1000", 0, 12, "double", Magnitude).element == "bytes"
    assert Area("0x1004", 4, 16, "double", Magnitude).element == "bytes"


def test_pointer_parameters_give_regions_their_element_types():
    source = MemoryLaunches()
    ones = np.ones(8)
    regions = [source.region(address, ones, ones) for address in (0x1000, 0x2000, 0x3000)]
    pointers = np.array([0x1000, 0x2010, 0x3000, 0x3008], np.uint64).tobytes()
    launch = make_launch(regions, arguments=pointers, sizes=(8, 8, 8, 8))
    found = region_elements(launch, {0: "double", 1: "float", 2: "double", 3: "i32", 9: "float"})
    assert found == {0x1000: "double", 0x2000: "float"}  # two types in one region: unknown


def test_pointers_in_a_struct_parameter_count_too():
    source = MemoryLaunches()
    ones = np.ones(8)
    regions = [source.region(address, ones, ones) for address in (0x1000, 0x2000)]
    words = np.array([5, 0x1000, 0x2008], np.uint64).tobytes()
    launch = make_launch(regions, arguments=words + bytes(4), sizes=(24, 4))
    assert region_elements(launch, {0: "double", 1: "float"}) == {0x1000: "double", 0x2000: "double"}
