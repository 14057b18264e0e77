"""Which memory the recorded launches agree about."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from r3cc.llvm.model import MemoryTable, TablesFound, VariableTable
from r3cc.replay.model import Table
from r3cc.replay.tables import recorded_tables
from r3cc.store.model import GlobalImage, Launch, Parameter, Region

ADDRESS = 0x600000000000
IMAGES = {"a": bytes(range(16)), "b": bytes(range(8)) + bytes(8)}


class Images:
    """A store as far as it is asked for images."""

    def image(self, key: str, size: int) -> npt.NDArray[np.uint8]:
        return self.part(key, size, 0, size)

    def part(self, key: str, size: int, start: int, length: int) -> npt.NDArray[np.uint8]:
        return np.frombuffer(IMAGES[key][start : start + length], np.uint8)


def launch(variable: tuple[str, str], region: tuple[str, str], pointer: int = ADDRESS) -> Launch:
    fields = {
        "arguments": bytes(8) + pointer.to_bytes(8, "little"),
        "parameters": (Parameter(0, 4), Parameter(8, 8)),
        "regions": (Region(ADDRESS, 16, *region),),
        "globals": (GlobalImage("_ZL1c", 0, 16, *variable),),
    }
    return Launch(**{**dict.fromkeys(Launch.__struct_fields__, None), **fields})  # type: ignore[arg-type]


FOUND = TablesFound((VariableTable("_ZL1c", 16),), (MemoryTable(1, 0, 8), MemoryTable(1, 12, 4)))


def places(*launches: Launch, found: TablesFound = FOUND) -> dict[str, tuple[Table, ...]]:
    tables = recorded_tables(found, ("n", "x"), launches, Images())  # type: ignore[arg-type]
    return {table.place: table.parts for table in tables}


def test_content_that_all_launches_share() -> None:
    found = recorded_tables(FOUND, ("n", "x"), [launch(("a", "a"), ("a", "a"))], Images())  # type: ignore[arg-type]
    assert [(table.place, table.text) for table in found] == [
        ("@_ZL1c", "the 16 bytes of c"),
        ("*1", "12 bytes behind argument x"),
    ]
    assert found[0].parts == (Table(IMAGES["a"].hex(), "_ZL1c"),)
    assert found[1].parts == (Table("0001020304050607", argument=1), Table("0c0d0e0f", argument=1, offset=12))
    assert [str(part) for part in found[1].parts] == ["1+0=0001020304050607", "1+12=0c0d0e0f"]


def test_what_differs_between_launches_or_in_one_is_left_out() -> None:
    between = places(launch(("a", "a"), ("a", "a")), launch(("b", "b"), ("b", "b")))
    assert between == {"*1": (Table("0001020304050607", argument=1),)}
    assert places(launch(("a", "b"), ("a", "b"))) == between


def test_what_was_not_recorded_is_left_out() -> None:
    assert set(places(launch(("a", "a"), ("a", "a"), pointer=0))) == {"@_ZL1c"}
    assert places(launch(("a", "a"), ("a", "a"), pointer=ADDRESS + 8))["*1"] == (Table("08090a0b0c0d0e0f", argument=1),)
    assert set(places(launch(("a", "a"), ("a", "a")), found=TablesFound((VariableTable("other", 4),)))) == set()
    assert places(found=FOUND) == {}
