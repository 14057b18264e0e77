"""Fixtures that several parts' tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from r3cc.store import Store
from tests.store.pack_writer import PackWriter, add_recording

SAXPY = "_Z5saxpyifPfS_"
REDUCE = "_Z6reducePKdPd"


@pytest.fixture(scope="session", autouse=True)
def deadly_signals() -> None:
    """Programs under test die of signals, also where nohup or a shell's background job has these ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the person who runs the tests reaches them."""
    for name in ("R3_STORE", "R3_DEVICE", "R3_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("R3_LIBRARY", "")


@pytest.fixture
def small_store(tmp_path: Path) -> Iterator[Store]:
    """A store with one recording of two kernels of one module; saxpy has one recorded launch."""
    with Store.create(tmp_path / "r3-store") as store:
        pack = PackWriter(add_recording(store.path) / "node1-4242-1.r3pack")
        pack.process()
        module = pack.module(
            b"BC\xc0\xde bitcode",
            source="src/app.cu",
            architecture="sm_90",
            kernels=[
                {
                    "name": SAXPY,
                    "line": 12,
                    "parameters": [{"offset": 0, "size": 4, "type": "i32", "name": "n"}],
                    "globals": [],
                }
            ],
            globals=[],
        )
        x = pack.image(b"\x01" * 1000)
        y = pack.image(b"\x02" * 300_000)
        after = pack.image(b"\x02" * 262_144 + b"\x03" * 37_856)
        pack.launch(
            module,
            SAXPY,
            arguments="0a000000",
            parameters=[{"offset": 0, "size": 4}],
            regions=[
                {"address": "0x600000000000", "size": 1000, "before": x, "after": x},
                {"address": "0x600000001000", "size": 300_000, "before": y, "after": after},
            ],
        )
        shape = {"grid": [4, 1, 1], "block": [128, 1, 1], "shared": 0, "launches": 10, "total_ns": 3000}
        pack.kernel(module, SAXPY, total_ns=3000, shapes=[shape])
        pack.kernel(module, REDUCE, recorded=0, not_recordable=[{"reason": "texture over an array", "launches": 10}])
        pack.end()
        yield store
