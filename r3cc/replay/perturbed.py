"""Recorded launches on slightly other data: what computes is right there, too, and what remembers is not.

Floating-point memory and scalar arguments are changed at random by up to one part in 64; signs, zeros, infinities, NaN
and the order of sorted arrays stay. Memory of other types that the kernel only writes holds noise. Whatever else may be
an index, a size or a pointer is left alone. What the launch has to give is then not in the recording: the original
kernel says it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np
import numpy.typing as npt

from r3cc.replay.elements import floats, is_float, region_elements
from r3cc.replay.facts import FLOATS, KernelFacts
from r3cc.replay.launches import LaunchSource, RecordedLaunch
from r3cc.replay.model import BYTES
from r3cc.store.model import GlobalImage, Launch, Region
from r3cc.store.pack import content_key

Bytes = npt.NDArray[np.uint8]

LARGEST_CHANGE = 1.0 / 64
"""Relative to the element: far more than any tolerance, too little to leave the range that a kernel is made for."""
SEED = 20
_THREADS = 8
_PIECE = 1 << 15
"""Elements that are changed at a time."""

_SCALARS = {"double": "<f8", "float": "<f4"}
_TYPES: Mapping[str, type[np.floating]] = {"double": np.float64, "float": np.float32, "half": np.float16}


Other = Callable[[Region | GlobalImage, int, str], Bytes | None]
"""From an image, its number in the launch and its element type to other content; None where it stays."""


class PerturbedLaunches:
    """A source of launches whose images are those of another one, and new ones by content."""

    def __init__(self, source: LaunchSource) -> None:
        self._source = source
        self._images: dict[str, Bytes] = {}

    def launches(self) -> tuple[RecordedLaunch, ...]:
        """The other source's."""
        return self._source.launches()

    def image(self, key: str, size: int) -> Bytes:
        """A memory image of ``size`` bytes."""
        if key in self._images:
            return self._images[key].copy()
        return self._source.image(key, size)

    def read_part(self, key: str, size: int, start: int, out: Bytes) -> None:
        """A part of such an image."""
        if key in self._images:
            out[:] = self._images[key][start : start + len(out)]
        else:
            self._source.read_part(key, size, start, out)

    def chunk_keys(self, key: str, size: int) -> list[bytes]:
        """The other source's; those of new images are not known."""
        return [] if key in self._images else self._source.chunk_keys(key, size)

    def keep(self, content: Bytes) -> str:
        """Key of a new image."""
        key = f"perturbed:{content_key(content.data).hex()}"
        self._images[key] = content
        return key

    def forget(self) -> None:
        """Drop all new images."""
        self._images.clear()

    def perturb(self, launch: Launch, facts: KernelFacts, fixed: frozenset[int] = frozenset()) -> Launch | None:
        """The launch on other data, nothing changed by it yet; None where nothing of it can be perturbed.

        Arguments with the indices ``fixed`` keep their values.
        """
        written = _only_written(launch, facts)

        def other(each: Region | GlobalImage, number: int, element: str) -> Bytes | None:
            random = np.random.default_rng((SEED, number))
            if is_float(element):
                return perturb_elements(self._source.image(each.before, each.size), element, random)
            noise = isinstance(each, Region) and each.address in written
            return random.integers(0, 256, each.size, np.uint8) if noise else None

        arguments = _perturb_arguments(launch, facts, fixed, np.random.default_rng(SEED))
        return self.on_others(launch, facts, other, arguments)

    def on_others(self, launch: Launch, facts: KernelFacts, other: Other, arguments: bytes) -> Launch | None:
        """The launch on other memory and arguments, nothing changed by it yet; None where all of it is the same."""
        elements = region_elements(launch, facts.parameter_elements)

        def on_other(each: Region | GlobalImage, number: int, element: str) -> Region | GlobalImage:
            content = other(each, number, element)
            key = each.before if content is None else self.keep(content)
            return msgspec.structs.replace(each, before=key, after=key)

        images: list[Region | GlobalImage] = [*launch.regions, *launch.globals]
        kinds = [
            *(elements.get(region.address, BYTES) for region in launch.regions),
            *(facts.global_elements.get(variable.name, BYTES) for variable in launch.globals),
        ]
        with ThreadPoolExecutor(_THREADS) as pool:
            made = tuple(pool.map(on_other, images, range(len(images)), kinds))
        count = len(launch.regions)
        changed = msgspec.structs.replace(launch, arguments=arguments, regions=made[:count], globals=made[count:])
        return changed if _inputs(changed) != _inputs(launch) else None

    def answered(self, launch: Launch, read: Callable[[Region | GlobalImage], Bytes]) -> Launch:
        """The launch with what memory holds now as what it has to give."""

        def after(each: Region | GlobalImage) -> str:
            content, before = read(each), self._images.get(each.before)
            same = np.array_equal(content, self.image(each.before, each.size) if before is None else before)
            return each.before if same else self.keep(content)

        return msgspec.structs.replace(
            launch,
            regions=tuple(msgspec.structs.replace(each, after=after(each)) for each in launch.regions),
            globals=tuple(msgspec.structs.replace(each, after=after(each)) for each in launch.globals),
        )


def perturb_elements(content: Bytes, element: str, random: np.random.Generator) -> Bytes:
    """Other content of about the same values; what is not whole elements at the end stays."""
    whole = len(content) - len(content) % FLOATS[element]
    direction = _direction(content[:whole], element)
    changed = [_perturb_piece(piece, element, random) for piece in _pieces(content[:whole], element)]
    if direction:
        rising = np.sort(floats(np.concatenate(changed), element))
        changed = [_encode(rising[::direction], element)]
    return np.concatenate([*changed, content[whole:]])


def _perturb_piece(content: Bytes, element: str, random: np.random.Generator) -> Bytes:
    values = floats(content, element)
    factors = random.uniform(1.0 - LARGEST_CHANGE, 1.0 + LARGEST_CHANGE, len(values))
    with np.errstate(all="ignore"):
        factors *= values
    finite = np.isfinite(values)
    return _encode(factors if finite.all() else np.where(finite, factors, values), element)


def _pieces(content: Bytes, element: str, overlap: int = 0) -> Iterator[Bytes]:
    """Pieces of whole elements that a core's cache has room for, each with ``overlap`` elements of the next one."""
    size = _PIECE * FLOATS[element]
    for start in range(0, len(content), size):
        yield content[start : start + size + overlap * FLOATS[element]]


def _direction(content: Bytes, element: str) -> int:
    """1 for a sorted array, -1 for one that falls, 0 for any other and for one value over and over."""
    rises = falls = len(content) > 2 * FLOATS[element]
    for piece in _pieces(content, element, overlap=1):
        with np.errstate(invalid="ignore"):
            steps = np.diff(floats(piece, element))
        rises, falls = rises and bool(np.all(steps >= 0)), falls and bool(np.all(steps <= 0))
        if not rises and not falls:
            break
    return rises - falls


def _encode(values: npt.NDArray[np.float64], element: str) -> Bytes:
    with np.errstate(all="ignore"):
        if element == "bfloat":
            encoded = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
        else:
            encoded = np.ascontiguousarray(values.astype(_TYPES[element])).view(np.uint8)
    return encoded


def _perturb_arguments(launch: Launch, facts: KernelFacts, fixed: frozenset[int], random: np.random.Generator) -> bytes:
    arguments = bytearray(launch.arguments)
    for index, kind in facts.scalars.items():
        if kind in _SCALARS and index not in fixed and index < len(launch.parameters):
            place = launch.parameters[index]
            value = np.frombuffer(arguments, _SCALARS[kind], 1, place.offset)
            if np.isfinite(value[0]):
                factor = 1.0 + random.uniform(LARGEST_CHANGE / 2, LARGEST_CHANGE)
                arguments[place.offset : place.offset + place.size] = (value * factor).astype(value.dtype).tobytes()
    return bytes(arguments)


def _only_written(launch: Launch, facts: KernelFacts) -> set[int]:
    """Addresses of regions that no parameter but those written through points into."""
    every = dict.fromkeys(range(len(launch.parameters)), "any")
    read = {index: "read" for index in every if index not in facts.written_only}
    reached = region_elements(launch, every | read)
    return {address for address, how in reached.items() if how == "any"}


def _inputs(launch: Launch) -> tuple[object, ...]:
    return launch.arguments, [each.before for each in launch.regions], [each.before for each in launch.globals]
