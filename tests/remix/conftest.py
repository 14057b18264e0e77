"""No test of remix talks to anything but this machine."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

import nevergrad  # noqa: F401  # it sets variables of the environment: before a test is held to leave them alone
import pytest

from r3cc.remix.proposers.redaction import KEY_VARIABLES


class OutsideError(AssertionError):
    """A test tried to leave the machine."""


def _check(host: object) -> None:
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return
    try:
        inside = ipaddress.ip_address(str(name)).is_loopback
    except ValueError:
        inside = False
    if not inside:
        raise OutsideError(f"a test tried to reach {name}")


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets beyond loopback, and look-ups of names, fail the test."""
    connect, resolve = socket.socket.connect, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _check(address[0])
        connect(self, address)

    def guarded_resolve(host: Any, *arguments: Any, **options: Any) -> Any:
        _check(host)
        return resolve(host, *arguments, **options)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_resolve)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of the person who runs the tests reaches them."""
    for name in (*KEY_VARIABLES, "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
