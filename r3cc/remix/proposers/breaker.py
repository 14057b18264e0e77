"""Circuit breaker: a provider that fails again and again is left alone for a while."""

from __future__ import annotations

import time
from collections.abc import Callable

FAILURES_TO_OPEN = 5
FIRST_PAUSE_S = 15.0
LONGEST_PAUSE_S = 600.0


class CircuitBreaker:
    """Counts a provider's failures in a row; after some it is parked, each time for twice as long.

    When a pause ends, requests go out again, and the first failure parks the provider anew.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._pause_s = FIRST_PAUSE_S
        self._parked_until = 0.0

    def wait_s(self) -> float:
        """Seconds until the provider may be asked; 0 for now."""
        return max(0.0, self._parked_until - self._clock())

    def succeeded(self) -> None:
        """An answer came."""
        self._failures = 0
        self._pause_s = FIRST_PAUSE_S

    def failed(self) -> None:
        """The provider, not the request, was at fault."""
        self._failures += 1
        if self._failures >= FAILURES_TO_OPEN and self.wait_s() == 0.0:
            self.park(self._pause_s)
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    def park(self, seconds: float) -> None:
        """Leave the provider alone for that long, as it asked."""
        self._parked_until = max(self._parked_until, self._clock() + seconds)


class Breakers:
    """One breaker a provider, shared by all models that it serves."""

    def __init__(self) -> None:
        self._breakers: dict[str, CircuitBreaker] = {}

    def of(self, provider: str) -> CircuitBreaker:
        """The breaker of a provider's host."""
        return self._breakers.setdefault(provider, CircuitBreaker())
