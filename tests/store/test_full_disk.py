"""A store that can be read but not written to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from r3cc.store import Store
from tests.conftest import REDUCE
from tests.store.pack_writer import PackWriter

READ = """
import resource, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from r3cc.store import Store
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # from here on every write to a file fails
with Store.open(Path({store!r})) as store:
    kernels = [kernel.name for kernel in store.kernels()]
    print(len(kernels), len(store.launches(store.find_kernel("saxpy"))), *kernels)
"""


def read(store: Path) -> tuple[str, list[str]]:
    """What a process that can't write reads of a store, and its messages."""
    script = READ.format(root=str(Path(__file__).parents[2]), store=str(store))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.splitlines()


def in_memory(messages: list[str]) -> bool:
    """Whether one message, and nothing else, says that the index is kept in memory."""
    return len(messages) == 1 and messages[0].startswith("r3: cannot write ") and "into memory" in messages[0]


@pytest.mark.parametrize("index", ["missing", "empty"])
def test_a_store_without_an_index_is_read(small_store: Store, index: str) -> None:
    small_store.close()
    (small_store.path / "index.sqlite").unlink()
    if index == "empty":
        (small_store.path / "index.sqlite").touch()
    output, messages = read(small_store.path)
    assert output.startswith("2 1 ")
    assert in_memory(messages)


def test_an_index_that_is_behind_is_left_alone(small_store: Store) -> None:
    names = {kernel.name for kernel in small_store.kernels()}
    small_store.close()
    before = (small_store.path / "index.sqlite").read_bytes()
    pack = PackWriter(small_store.recording_path(small_store.recording().id) / "node2-1-1.r3pack")
    pack.process()
    pack.kernel("f" * 64, "_Z3newv")
    output, messages = read(small_store.path)
    assert set(output.split()[2:]) == names | {"_Z3newv"}
    assert in_memory(messages)
    assert (small_store.path / "index.sqlite").read_bytes() == before


def test_an_index_that_is_up_to_date_is_used(small_store: Store) -> None:
    small_store.kernels()
    small_store.close()
    output, messages = read(small_store.path)
    assert REDUCE in output
    assert messages == []
