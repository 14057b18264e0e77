"""Host memory at recorded addresses, with a driver that only keeps account."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from r3cc.devices.base import DeviceUnavailable, Range
from r3cc.devices.pinned import HOST, PinnedMemory

MEBIBYTE = 1 << 20


class Accounts:
    """The driver's functions for registered memory; the device sees it ``shift`` bytes further."""

    CU_MEMHOSTREGISTER_PORTABLE = 1
    CU_MEMHOSTREGISTER_DEVICEMAP = 2

    def __init__(self, shift: int = 0) -> None:
        self.registered: dict[int, int] = {}
        self._shift = shift

    def cuMemHostRegister(self, address: int, size: int, flags: int) -> None:
        assert flags == 3
        self.registered[address] = size

    def cuMemHostUnregister(self, address: int) -> None:
        del self.registered[address]

    def cuMemHostGetDevicePointer(self, address: int, _flags: int) -> int:
        return address + self._shift


def call(_error: type[Exception], function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def test_memory_lies_at_its_address_until_it_is_given_back() -> None:
    driver = Accounts()
    pinned = PinnedMemory(driver, call)
    whole, part = Range(HOST.address, 64 * MEBIBYTE), Range(HOST.address + 2 * MEBIBYTE, 4 * MEBIBYTE)
    pinned.reserve(whole)
    pinned.map(part)
    assert driver.registered == {part.address: part.size}
    ctypes.memset(part.address, 7, part.size)
    pinned.unmap(part)
    assert driver.registered == {}
    pinned.map(part)  # the addresses were kept, the content was not
    assert ctypes.string_at(part.address, 16) == bytes(16)
    pinned.unmap(part)
    pinned.release(whole)
    pinned.reserve(whole)


def test_taken_addresses_are_an_error() -> None:
    pinned = PinnedMemory(Accounts(), call)
    taken = Range(HOST.address + 512 * MEBIBYTE, 2 * MEBIBYTE)
    pinned.reserve(taken)
    with pytest.raises(DeviceUnavailable, match="0x400020000000"):
        pinned.reserve(taken)


def test_a_driver_that_sees_it_elsewhere_is_an_error() -> None:
    driver = Accounts(shift=4096)
    pinned = PinnedMemory(driver, call)
    place = Range(HOST.address + 1024 * MEBIBYTE, 2 * MEBIBYTE)
    pinned.reserve(place)
    with pytest.raises(DeviceUnavailable, match="at 0x400040001000"):
        pinned.map(place)
    assert driver.registered == {}
