"""Ids of recordings and searches: UTC start time and a fraction of its second in four hex digits: they sort by time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from r3cc.errors import R3Error

PATTERN = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")


def new_id(now: datetime | None = None) -> str:
    """The id of this moment, ``YYYYMMDD-HHMMSS-xxxx``; where it is taken, that of a later one is free."""
    moment = now or datetime.now(UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{moment.microsecond * 65536 // 1_000_000:04x}"


def choose_id(what: str, given: str, known: Iterable[str]) -> str:
    """The one id of ``known`` that is or contains ``given``; raises R3Error when there is none, or several."""
    ids = sorted(known)
    matches = [given] if given in ids else [candidate for candidate in ids if given in candidate]
    if len(matches) == 1:
        return matches[0]
    listed = ", ".join(matches or ids) or "none"
    problem = f"names several {what}s" if matches else f"names no {what}"
    raise R3Error(f"'{given}' {problem}; {'these match' if matches else 'there are'}: {listed}")
