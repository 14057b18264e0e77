"""Whether this machine has a GPU that an application could run on."""

from __future__ import annotations

import ctypes


def count_cuda_devices() -> int:
    """GPUs that the CUDA driver offers to this process; 0 without a driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value
