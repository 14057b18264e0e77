"""Ids of recordings and searches."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from r3cc.store.identifiers import PATTERN, new_id

MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))


@given(MOMENTS, st.timedeltas(timedelta(microseconds=16), timedelta(days=1000)))
def test_a_later_id_sorts_behind(moment: datetime, later: timedelta) -> None:
    first, second = new_id(moment), new_id(moment + later)
    assert PATTERN.fullmatch(first) and PATTERN.fullmatch(second)
    assert first < second
