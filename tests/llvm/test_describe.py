from __future__ import annotations

import pytest

from r3cc.llvm import Passes
from tests.llvm.conftest import Capture


def test_launch_facts_of_a_reduction(passes: Passes, pipeline_start: Capture) -> None:
    kernel = passes.describe(pipeline_start("reduction.cu", 3)).kernel("_Z6reducePKdPdi")
    assert (kernel.reads_block_size, kernel.reads_grid_size) == (True, True)
    assert (kernel.static_shared, kernel.dynamic_shared) == (2048, True)
    assert (kernel.barriers, kernel.warp_operations, kernel.atomics) == (2, 1, 1)
    assert kernel.max_threads == 256
    assert kernel.element_types == {"0": "double", "1": "double"}
    assert [p.offset for p in kernel.parameters] == [0, 8, 16]


def test_launch_facts_of_a_tile(passes: Passes, pipeline_start: Capture) -> None:
    kernel = passes.describe(pipeline_start("reduction.cu", 0)).kernel("_Z7stencilILi16EEvPKfPfii")
    assert (kernel.reads_block_size, kernel.reads_grid_size, kernel.dynamic_shared) == (False, False, False)
    assert (kernel.static_shared, kernel.barriers, kernel.max_threads) == (18 * 18 * 4, 1, None)
    assert kernel.element_types == {"0": "float", "1": "float"}
    assert kernel.written_only == (1,)


def test_globals_and_their_types(passes: Passes, pipeline_start: Capture) -> None:
    module = passes.describe(pipeline_start("device_state.cu", 3))
    reader = module.kernel("_Z6readerPfi")
    assert reader.global_element_types == {
        "_ZL11permutation": "i32",
        "_ZL5table": "float",
        "_ZL7weights": "i32",
        "coefficients": "float",
        "counter": "i32",
        "where": "ptr",
    }
    assert set(reader.globals) == reader.global_element_types.keys()
    mutable = {variable.name: variable.mutable for variable in module.globals}
    assert mutable["_ZL5table"] and not mutable["_ZL7weights"]


def test_pointers_in_a_struct_by_value(passes: Passes, pipeline_start: Capture) -> None:
    kernel = passes.describe(pipeline_start("device_math.cu", 3)).kernel("_Z8bystruct6Params")
    assert kernel.element_types == {"0": "double"}
    assert kernel.parameters[0].size == 32


def test_what_is_read_and_written_is_not_only_written(passes: Passes, pipeline_start: Capture) -> None:
    assert passes.describe(pipeline_start("saxpy.cu", 3)).kernel("_Z5saxpyifPKfPf").written_only == ()


FAR = None
PATTERNS = {
    "transpose": {(4, (4, FAR, 0)), (4, (FAR, 4, 0))},
    "rows": {(8, (0, FAR, 0)), (8, (8, FAR, 0))},
    "fixed_rows": {(4, (4, 256, 0))},
    "structs": {(8, (24, 0, 0))},
    "indirect": {(4, (4, 0, 0)), (8, (FAR, 0, 0)), (8, (8, 0, 0))},
    "clamped": {(4, (4, 0, 0))},
    "split": {(8, (8, 0, 0))},
    "grid_stride": {(8, (8, 0, 0))},
    "backwards": {(8, (-8, 0, 0))},
    "inner_loop": {(8, (32, 0, 0)), (8, (8, 0, 0))},
    "counted": {(4, (0, 0, 4))},
    "staged": {(8, (FAR, FAR, FAR))},
}


@pytest.mark.parametrize("kernel", PATTERNS)
def test_strides_of_accesses(passes: Passes, pipeline_start: Capture, kernel: str) -> None:
    found = passes.describe(pipeline_start("strides.cu", 3)).kernel(kernel).accesses
    assert {(access.bytes, access.strides) for access in found} == PATTERNS[kernel]


@pytest.mark.parametrize("source", ["reduction.cu", "device_state.cu", "device_math.cu", "strides.cu"])
def test_a_kernel_alone_is_described_as_among_others(passes: Passes, pipeline_start: Capture, source: str) -> None:
    bitcode = pipeline_start(source, 3)
    module = passes.describe(bitcode)
    for kernel in module.kernels:
        alone = passes.describe_kernel(bitcode, kernel.name)
        assert alone.kernels == (kernel,)
        assert alone.globals == module.globals


def test_pointers_that_are_followed_come_to_an_end(passes: Passes, pipeline_start: Capture) -> None:
    assert passes.describe(pipeline_start("strides.cu", 3)).kernel("followed").accesses
