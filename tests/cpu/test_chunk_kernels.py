"""The recorder's own kernels (record_runtime/cuda), run on the cpu device: fingerprints of chunks, and pointers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from tests.cpu.conftest import KERNELS, Runner
from tests.cpu.engine import Launch

SOURCE = str(Path(KERNELS).parents[2] / "record_runtime/cuda/source/chunk_kernels.cu")
CHUNK = 4096
THREADS = (256, 1, 1)
SIZE = 3 * CHUNK + 1003
"""The last chunk is short, and ends in the middle of a vector and of a word."""

Bytes = npt.NDArray[np.uint8]


def memory(seed: int = 1) -> Bytes:
    return np.random.default_rng(seed).integers(0, 256, SIZE, np.uint8)


def fingerprints(launch: Runner, contents: list[Bytes]) -> list[list[tuple[int, ...]]]:
    """Of each content, those of its chunks."""
    calls = []
    for content in contents:
        out = np.zeros((-(-len(content) // CHUNK), 2), np.uint64)
        size = np.uint64(len(content))
        calls.append(Launch("r3_fingerprints", (len(out), 1, 1), THREADS, (content, size, np.uint64(CHUNK), out)))
    answer = launch(SOURCE, calls)
    assert answer.status == 0, answer.message
    return [[tuple(map(int, row)) for row in arrays[1]] for arrays in answer.arrays]


def test_equal_chunks_have_one_fingerprint_and_others_another(launch: Runner) -> None:
    content = memory()
    content[CHUNK : 2 * CHUNK] = content[:CHUNK]
    first, again = fingerprints(launch, [content, content.copy()])
    assert first == again
    assert first[0] == first[1]
    assert len(set(first)) == 3


@pytest.mark.parametrize("at", [0, 7, 8, 4095, SIZE - 1, SIZE - 4, SIZE - 12, 3 * CHUNK])
def test_one_changed_bit_changes_both_halves_of_its_chunks_fingerprint(launch: Runner, at: int) -> None:
    content = memory()
    changed = content.copy()
    changed[at] ^= 16
    before, after = fingerprints(launch, [content, changed])
    for number, (left, right) in enumerate(zip(before, after, strict=True)):
        if number == at // CHUNK:
            assert left[0] != right[0] and left[1] != right[1]
        else:
            assert left == right


def test_order_and_length_count(launch: Runner) -> None:
    words = np.arange(CHUNK // 8, dtype=np.uint64)
    swapped = words.copy()
    swapped[[3, 300]] = swapped[[300, 3]]
    shifted = np.roll(words, 2)  # to another thread
    contents = [words, swapped, shifted, words[:-1], np.zeros(512, np.uint64), np.zeros(511, np.uint64)]
    found = [each[0] for each in fingerprints(launch, [content.view(np.uint8) for content in contents])]
    assert len(set(found)) == len(contents)


def test_chunks_that_differ_little_have_all_different_fingerprints(launch: Runner) -> None:
    count = 20_000
    content = np.zeros((count, 64), np.uint64)
    content[np.arange(count), np.arange(count) % 64] = np.arange(count) // 64 + 1
    out = np.zeros((count, 2), np.uint64)
    arguments = (content, np.uint64(content.nbytes), np.uint64(512), out)
    answer = launch(SOURCE, Launch("r3_fingerprints", (count, 1, 1), THREADS, arguments))
    for half in answer.arrays[0][1].T:
        assert len(set(half.tolist())) == count


def test_words_that_lie_in_targets_are_found(launch: Runner) -> None:
    draw = np.random.default_rng(3)
    base = 0x600000000000
    starts = base + np.sort(draw.choice(10_000, 50, replace=False)).astype(np.uint64) * np.uint64(0x100)
    targets = np.stack([starts, starts + draw.integers(0, 0x100, 50).astype(np.uint64)], axis=1)
    targets[7, 1] = targets[8, 0]  # the end of one is the beginning of the next
    words = draw.integers(base - 0x1000, base + 10_100 * 0x100, 5000).astype(np.uint64)
    words[:3] = targets[8, 0], targets[0, 0], targets[-1, 1]
    words[3:1000] = draw.integers(0, 1 << 63, 997)
    hits = np.zeros(50, np.uint8)
    arguments = (words, np.uint64(len(words)), targets, np.uint32(50), hits)
    answer = launch(SOURCE, Launch("r3_find_pointers", (3, 1, 1), THREADS, arguments))
    assert answer.status == 0, answer.message
    expected = [bool(((words >= first) & (words <= last)).any()) for first, last in targets]
    assert answer.arrays[0][-1].astype(bool).tolist() == expected
    assert all(expected[each] for each in (0, 7, 8, 49))
    assert not all(expected)
