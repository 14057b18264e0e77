"""Packs: whatever is cut off or damaged, what stands before it is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r3cc.store.pack import DamagedRecord, PackReader, Record, RecordType, Torn
from tests.store.pack_writer import record

contents = st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=300)), max_size=6)


def scan(path: Path) -> tuple[list[tuple[int, bytes]], Torn | None]:
    """Intact records as (type, content), and the torn tail if there is one."""
    reader = PackReader(path)
    entries = list(reader.scan())
    torn = entries.pop() if entries and isinstance(entries[-1], Torn) else None
    assert all(isinstance(entry, Record) for entry in entries)
    assert torn is None or isinstance(torn, Torn)
    return [(entry.type, reader.content(entry)) for entry in entries if isinstance(entry, Record)], torn


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pack") / "one.r3pack"


@given(contents)
@settings(max_examples=50)
def test_what_was_written_is_read(pack: Path, written: list[tuple[int, bytes]]) -> None:
    pack.write_bytes(b"".join(record(*entry) for entry in written))
    assert scan(pack) == (written, None)


@given(contents, st.data())
@settings(max_examples=100)
def test_truncation_keeps_the_complete_records(
    pack: Path, written: list[tuple[int, bytes]], data: st.DataObject
) -> None:
    records = [record(*entry) for entry in written]
    whole = b"".join(records)
    length = data.draw(st.integers(0, len(whole)))
    pack.write_bytes(whole[:length])

    ends = [sum(map(len, records[: count + 1])) for count in range(len(records))]
    complete = sum(end <= length for end in ends)
    found, torn = scan(pack)
    assert found == written[:complete]
    assert (torn is None) == (length == (ends[complete - 1] if complete else 0))


@given(st.binary(min_size=1, max_size=300), st.data())
@settings(max_examples=100)
def test_a_flipped_bit_in_the_last_record_is_seen(pack: Path, content: bytes, data: st.DataObject) -> None:
    first, last = record(2, b"{}"), bytearray(record(1, content))
    position = data.draw(st.integers(0, len(last) * 8 - 1))
    last[position // 8] ^= 1 << position % 8
    pack.write_bytes(first + last)
    found, torn = scan(pack)
    assert found == [(RecordType.DOCUMENT, b"{}")]
    assert torn is not None
    assert torn.offset == len(first)


def test_a_damaged_chunk_in_the_middle_is_refused_when_read(tmp_path: Path) -> None:
    chunk = bytearray(record(1, b"some memory"))
    chunk[-1] ^= 1
    path = tmp_path / "damaged.r3pack"
    path.write_bytes(bytes(chunk) + record(2, b"{}"))
    reader = PackReader(path)
    first, second = reader.scan()
    assert isinstance(first, Record)
    assert isinstance(second, Record)
    with pytest.raises(DamagedRecord):
        reader.content(first)
    with pytest.raises(DamagedRecord, match="checksum"):
        reader.stored(first)
    assert reader.content(second) == b"{}"


def test_a_key_that_does_not_fit_the_content_is_refused(tmp_path: Path) -> None:
    import struct

    import xxhash
    import zstandard

    payload = zstandard.ZstdCompressor().compress(b"other")
    checked = b"R3PK" + struct.pack("<IQ", 1, len(payload)) + xxhash.xxh3_128_digest(b"content")
    path = tmp_path / "wrong.r3pack"
    path.write_bytes(checked + struct.pack("<Q", xxhash.xxh3_64_intdigest(checked + payload)) + payload)
    reader = PackReader(path)
    (only,) = reader.scan()
    assert isinstance(only, Record)
    with pytest.raises(DamagedRecord, match="key"):
        reader.content(only)
