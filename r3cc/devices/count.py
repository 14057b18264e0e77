"""GPUs of this machine, asked of the driver without opening them."""

from __future__ import annotations

import ctypes

_LONGEST_NAME = 256


def cuda_device_names() -> list[str]:
    """Names of the GPUs that the CUDA driver offers to this process, in its order; none without a driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    return [_name(driver, number) for number in range(count.value)]


def _name(driver: ctypes.CDLL, number: int) -> str:
    device, name = ctypes.c_int(0), ctypes.create_string_buffer(_LONGEST_NAME)
    if driver.cuDeviceGet(ctypes.byref(device), number) != 0:
        return ""
    driver.cuDeviceGetName(name, _LONGEST_NAME, device)
    return name.value.decode(errors="replace")
