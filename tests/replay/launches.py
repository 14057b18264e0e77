"""Recorded launches in memory: what a capture store would give, for tests of replay."""

import hashlib

import numpy as np

from r3cc.replay.launches import RecordedLaunch
from r3cc.store.images import CHUNK_SIZE
from r3cc.store.model import GlobalImage, Launch, Parameter, Region


class MemoryLaunches:
    """A launch source whose images are arrays."""

    def __init__(self):
        self._images = {}
        self._launches = []

    def keep(self, data):
        content = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
        key = hashlib.sha256(content.tobytes()).hexdigest()[:32]
        self._images[key] = content
        return key

    def region(self, address, before, after):
        assert before.nbytes == after.nbytes
        return Region(address, before.nbytes, self.keep(before), self.keep(after))

    def variable(self, name, before, after):
        return GlobalImage(name, 0x1000, before.nbytes, self.keep(before), self.keep(after))

    def add(self, launch, weight=1.0, app_ns=0.0):
        self._launches.append(RecordedLaunch(launch, weight, app_ns))

    def launches(self):
        return tuple(self._launches)

    def image(self, key, size):
        content = self._images[key].copy()
        assert len(content) == size
        return content

    def read_part(self, key, size, start, out):
        out[:] = self.image(key, size)[start : start + len(out)]

    def chunk_keys(self, key, size):
        content = self.image(key, size)
        return [hashlib.sha256(content[at : at + CHUNK_SIZE]).digest() for at in range(0, size, CHUNK_SIZE)]


def make_launch(
    regions=(), variables=(), arguments=b"", sizes=(), name="_Z4testPd", grid=(4, 1, 1), block=(64, 1, 1), **more
):
    """A launch whose parameters of the given sizes lie one after another in ``arguments``."""
    offsets = [sum(sizes[:index]) for index in range(len(sizes))]
    values = {
        "launch": "host-1-0/0",
        "module": "m" * 64,
        "ordinal": 0,
        "shared": 0,
        "held_out": False,
        "identity": "0" * 32,
        "device": "cpu",
        "time_ns": 0,
        "snapshot": "reachable",
    } | more
    return Launch(
        name=name,
        grid=grid,
        block=block,
        arguments=arguments,
        parameters=tuple(Parameter(offset, size) for offset, size in zip(offsets, sizes, strict=True)),
        regions=tuple(regions),
        globals=tuple(variables),
        **values,
    )
