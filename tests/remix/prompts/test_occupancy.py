"""Occupancy, against numbers of NVIDIA's own calculator."""

from __future__ import annotations

import pytest

from r3cc.remix.archive.sampling import Draw, Sibling
from r3cc.remix.prompts.layout import Layout
from r3cc.remix.prompts.occupancy import occupancy
from tests.remix.prompts.test_layout import state
from tests.remix.synthetic import SOURCE, sheet


@pytest.mark.parametrize(
    ("architecture", "threads", "resources", "dynamic", "share", "limit"),
    [
        ("sm_90", 256, {"registers": 32}, 0, 1.0, "threads"),
        ("sm_90", 256, {"registers": 96}, 0, 0.25, "registers"),
        ("sm_90a", 128, {"registers": 64}, 0, 0.5, "registers"),
        ("sm_80", 256, {"registers": 32, "shared_bytes": 48 << 10}, 0, 0.375, "shared memory"),
        ("sm_90", 256, {"registers": 32}, 100 << 10, 0.25, "shared memory"),
        ("sm_90", 32, {"registers": 16}, 0, 0.5, "blocks"),
        ("sm_86", 1024, {"registers": 32}, 0, 2 / 3, "threads"),
        ("sm_75", 256, {"registers": 33}, 0, 1.0, "threads"),
    ],
)
def test_known_values(
    architecture: str, threads: int, resources: dict[str, int], dynamic: int, share: float, limit: str
) -> None:
    found = occupancy(architecture, threads, resources, dynamic)
    assert found is not None
    assert (found.share, found.limit) == (pytest.approx(share), limit)


def test_what_is_not_known_is_not_said() -> None:
    assert occupancy("", 256, {"registers": 32}, 0) is None
    assert occupancy("sm_999", 256, {"registers": 32}, 0) is None
    assert occupancy("sm_90", 256, {"fibers": 1}, 0) is None


def test_a_parent_is_told_its_occupancy() -> None:
    import msgspec

    found = state(2)
    parent = msgspec.structs.replace(found.measured[1], resources={"registers": 96})
    described = msgspec.structs.replace(sheet(), architecture="sm_90", block_threads=256)
    layout = Layout(described, SOURCE, 1000, {"registers": 40})
    text = layout.prompt(found, Draw(0, parent, (Sibling("improve"),)), Sibling("improve"), 0).text
    assert "registers 96 (40), occupancy 25%, limited by registers" in text
