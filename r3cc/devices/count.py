"""GPUs of this machine, asked of the driver without opening them."""

from __future__ import annotations

import ctypes

_LONGEST_NAME = 256


def count_cuda_devices() -> int:
    """GPUs that the CUDA driver offers to this process; 0 without a driver."""
    driver = _driver()
    count = ctypes.c_int(0)
    if driver is None or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def cuda_device_names() -> list[str]:
    """Names of these GPUs, in the driver's order."""
    driver = _driver()
    return [] if driver is None else [_name(driver, number) for number in range(count_cuda_devices())]


def _driver() -> ctypes.CDLL | None:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    return driver if driver.cuInit(0) == 0 else None


def _name(driver: ctypes.CDLL, number: int) -> str:
    device, name = ctypes.c_int(0), ctypes.create_string_buffer(_LONGEST_NAME)
    if driver.cuDeviceGet(ctypes.byref(device), number) != 0:
        return ""
    driver.cuDeviceGetName(name, _LONGEST_NAME, device)
    return name.value.decode(errors="replace")
