"""Ids of recordings and searches: UTC start time and four random hex digits, so that they sort by time."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime

from r3cc.errors import R3Error

PATTERN = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")


def new_id(now: datetime | None = None) -> str:
    """A fresh id, ``YYYYMMDD-HHMMSS-xxxx``."""
    return (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S-") + secrets.token_hex(2)


def choose_id(what: str, given: str, known: Iterable[str]) -> str:
    """The one id of ``known`` that is or contains ``given``; raises R3Error when there is none, or several."""
    ids = sorted(known)
    matches = [given] if given in ids else [candidate for candidate in ids if given in candidate]
    if len(matches) == 1:
        return matches[0]
    listed = ", ".join(matches or ids) or "none"
    problem = f"names several {what}s" if matches else f"names no {what}"
    raise R3Error(f"'{given}' {problem}; {'these match' if matches else 'there are'}: {listed}")
