"""The memory of one recorded launch on a device: put back before a run, checked after it.

Pristine images of what was before the launch and of what the application had after it stay on the device while they
fit, so that neither restoring nor checking crosses the bus.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from r3cc.devices.base import PAGE, Code, Device, LoadError, OutOfDeviceMemory, Range, cut
from r3cc.devices.pinned import HOST
from r3cc.replay.compare import Area, Magnitude, Piece, magnitude_of
from r3cc.replay.content import PIECE, WINDOW, Content, Held, Layout, Recorded, each_window, read_ahead
from r3cc.replay.elements import Tolerance, is_float, region_elements, size_of
from r3cc.replay.facts import KernelFacts
from r3cc.replay.launches import LaunchSource
from r3cc.replay.model import BYTES, Allowance, Mismatch
from r3cc.store.model import GlobalImage, Launch, Region

Bytes = npt.NDArray[np.uint8]

POISON = 0xFF
"""Fills mapped memory that was not captured: a kernel that reads it gets NaN, not a lucky zero."""

GUARD = 2 << 20
"""Zeroes in front of captured memory, bytes: kernels that read a little before an array, and use nothing of it, work
in the application, where memory lies there."""

_FEW_COPIES = 4
"""Ranges that are restored one by one; more are listed, page by page, for one command."""

_MOST_COPIES = 64
"""Copies that restoring what is not listed may take: each costs the host a few microseconds."""

_NEAR = 64 << 10
"""Bytes between two differences that are transferred with them: that takes no longer than a transfer's start."""


class Image(Protocol):
    """A pristine copy of some memory."""

    def restore(self, address: int, ranges: Iterable[Range]) -> None:
        """Copy ranges (offsets in the image) to memory that begins at ``address``."""
        ...

    def restorer(self, ranges: Sequence[Range]) -> Callable[[int], None]:
        """What copies these sorted ranges to memory at an address, made for many times."""
        ...

    def differences(self, address: int) -> list[Range]:
        """Where memory at ``address`` differs from the image."""
        ...

    def count_differences(self, address: int) -> int:
        """Bytes in which memory at ``address`` differs from the image."""
        ...

    def read(self, part: Range) -> Bytes:
        """Part of the image on the host."""
        ...


class Places:
    """Where on the device the chunks of images are: what launches leave alone is read once for all of them."""

    def __init__(self) -> None:
        self._addresses: dict[tuple[bytes, int], int] = {}

    def settle(self, content: Content, address: int) -> tuple[list[Range], list[tuple[Range, int]]]:
        """Parts of a content at ``address`` that are to be read, and then parts that can be copied from an address."""
        new, known = [], list[tuple[Range, int]]()
        end = 0
        for start, size, key in content.chunks():
            place = self._addresses.setdefault((key, size), address + start)
            if place == address + start:
                continue
            new.append(Range(end, start - end))
            end = start + size
            last, source = known[-1] if known else (Range(0, 0), 0)
            if known and last.end == start and source + last.size == place:
                known[-1] = (Range(last.address, last.size + size), source)
            else:
                known.append((Range(start, size), place))
        new.append(Range(end, content.size - end))
        return [part for part in new if part.size], known


class DeviceImage:
    """An image in device memory."""

    def __init__(self, device: Device, content: Content, places: Places) -> None:
        """Take from ``places`` what the device has already, and read the rest. Raises :class:`OutOfDeviceMemory`."""
        self._device = device
        self._size = content.size
        self._address = device.allocate(self._size)
        new, known = places.settle(content, self._address)
        for part, data in read_ahead(content, new, device.staging):
            device.upload(self._address + part.address, data)
        for part, source in known:
            device.copy(self._address + part.address, source, part.size)

    def restore(self, address: int, ranges: Iterable[Range]) -> None:
        """Copy on the device."""
        for part in ranges:
            self._device.copy(address + part.address, self._address + part.address, part.size)

    def restorer(self, ranges: Sequence[Range]) -> Callable[[int], None]:
        """A few copies, or one of the pages that many ranges touch, by a list on the device."""
        if len(ranges) <= _FEW_COPIES:
            return partial(self.restore, ranges=ranges)
        numbers = page_numbers(ranges)
        pages = Range(self._device.allocate(numbers.nbytes), numbers.nbytes)
        self._device.upload(pages.address, numbers.view(np.uint8))
        return lambda address: self._device.copy_pages(address, self._address, self._size, pages)

    def differences(self, address: int) -> list[Range]:
        """Compare on the device."""
        return self._device.differences(address, self._address, self._size)

    def count_differences(self, address: int) -> int:
        """Count on the device."""
        return self._device.count_differences(address, self._address, self._size)

    def read(self, part: Range) -> Bytes:
        """Download a part."""
        return np.frombuffer(self._device.download(self._address + part.address, part.size), np.uint8)


class HostImage:
    """An image that the host has, for launches whose memory does not fit on the device twice."""

    def __init__(self, device: Device, content: Content) -> None:
        self._device = device
        self._content = content

    def restore(self, address: int, ranges: Iterable[Range]) -> None:
        """Upload."""
        for part, data in read_ahead(self._content, ranges, self._device.staging):
            self._device.upload(address + part.address, data)

    def restorer(self, ranges: Sequence[Range]) -> Callable[[int], None]:
        """Few uploads."""
        return partial(self.restore, ranges=coalesce(list(ranges)))

    def differences(self, address: int) -> list[Range]:
        """Upload a window at a time and compare there."""
        found = []
        for part, window in self._uploaded():
            different = self._device.differences(address + part.address, window, part.size)
            found += [Range(part.address + each.address, each.size) for each in different]
        return found

    def count_differences(self, address: int) -> int:
        """Upload a window at a time and count there."""
        return sum(
            self._device.count_differences(address + part.address, window, part.size)
            for part, window in self._uploaded()
        )

    def _uploaded(self) -> Iterator[tuple[Range, int]]:
        """Each window of it, and where on the device it is for the moment."""
        whole = Range(0, self._content.size)
        buffer = self._device.allocate(min(WINDOW, whole.size))
        for part, data in read_ahead(self._content, [whole], self._device.staging):
            self._device.upload(buffer, data)
            yield part, buffer
        self._device.release(buffer)

    def read(self, part: Range) -> Bytes:
        """A part, not copied if it is held."""
        return self._content.read(part)


class ImageStore:
    """Images by content, so that launches that share memory share its copies."""

    def __init__(self, device: Device, budget: int, host_budget: int) -> None:
        """Budgets in bytes: what images may take on the device, and of the rest in the host's memory.

        What is beyond both is read from the recording whenever it is needed.
        """
        self._device = device
        self._left = budget
        self._host_left = host_budget
        self._images: dict[object, Image] = {}
        self._places = Places()

    def get(self, identity: object, content: Content) -> Image:
        """The image of that identity; ``content`` is read only if it is new."""
        if identity not in self._images:
            self._images[identity] = self._make(content)
        return self._images[identity]

    def _make(self, content: Content) -> Image:
        if content.size <= self._left:
            try:
                image = DeviceImage(self._device, content, self._places)
            except OutOfDeviceMemory:
                self._left = 0
            else:
                self._left -= content.size
                return image
        if content.size > self._host_left:
            return HostImage(self._device, content)
        self._host_left -= content.size
        return HostImage(self._device, Held(content.read(Range(0, content.size))))


class Overlay:
    """What a replay left where it differs from the recorded result: that image with patches."""

    def __init__(self, base: Image, patches: Sequence[tuple[Range, Bytes]]) -> None:
        self._base = base
        self._patches = patches

    @property
    def ranges(self) -> list[Range]:
        """Where the patches are."""
        return [part for part, _ in self._patches]

    def read(self, part: Range) -> Bytes:
        """Content of a range."""
        content = self._base.read(part).copy()
        for patch, data in self._patches:
            for common in clip([patch], part):
                start = common.address - patch.address
                content[common.address - part.address :][: common.size] = data[start : start + common.size]
        return content


class Block:
    """Contiguous memory with its images before and after the launch, and the areas in it that are judged by type."""

    def __init__(self, label: str, size: int, before: Image, after: Image, areas: Sequence[Area]) -> None:
        self.label = label
        self.size = size
        self.areas = areas
        self._before = before
        self._after = after
        self._restore_changes: Callable[[int], None] | None = before.restorer([]) if before is after else None
        """Restores what the recorded launch changed; None until memory was there to compare with."""
        self._changes: list[Range] = []
        """What that is, sorted."""
        self._strays: list[Range] = []
        """Where the code that was looked at last left something else than the recorded launch."""
        self._elsewhere: list[Range] = []
        """What it changed where the recorded launch did not."""
        self._unknown = False

    def forget(self) -> None:
        """Memory may hold anything."""
        self._unknown = True

    def assume_all_changed(self) -> None:
        """Restore all of it every time, without finding out what the launch changes: for small memory."""
        self._changes = [Range(0, self.size)]
        self._restore_changes = self._before.restorer(self._changes)

    def restore(self, address: int) -> None:
        """Put back what the recorded launch changes and what the last check found different.

        That again and again until the next check: what a code changes where the recorded launch did not would add up.
        """
        if self._unknown:
            self._before.restore(address, [Range(0, self.size)])
            self._unknown = False
            return
        if self._restore_changes is not None:
            self._restore_changes(address)
        self._before.restore(address, self._elsewhere)

    def learn(self, address: int) -> None:
        """Find out, once and in freshly restored memory, what the recorded launch changed."""
        if self._restore_changes is None:
            self._changes = self._after.differences(address)
            self._restore_changes = self._before.restorer(self._changes)

    def changed_bytes(self, address: int) -> int:
        """Bytes that the recorded launch changed, by freshly restored memory."""
        return 0 if self._before is self._after else self._after.count_differences(address)

    def judge(
        self, device: Device, address: int, tolerances: Mapping[str, Tolerance | None]
    ) -> list[Mismatch | Allowance]:
        """Compare memory with the image after the launch. What differs is restored next time, too."""
        self._look(address)
        found = [area.judge(self._pieces(device, address, area), tolerances.get(area.element)) for area in self.areas]
        found.append(self._judge_outside(device, address))
        return [each for each in found if each is not None]

    def feel(self, device: Device, address: int, areas: Collection[Area]) -> None:
        """Take what nudged inputs moved into the sensitivity of some areas; memory holds what the baseline left."""
        self._look(address)
        for area in areas:
            if area in self.areas:
                area.feel(self._pieces(device, address, area))

    def _look(self, address: int) -> None:
        """Find out where memory differs from the image after the launch."""
        found = self._after.differences(address)
        self._strays, self._elsewhere = join_near(found), coalesce(without(found, self._changes))

    def observe(self, device: Device, address: int) -> Overlay:
        """What memory holds, as its difference from the image after the launch."""
        self._look(address)
        patches = [(part, _download(device, address, part)) for part in self._strays]
        return Overlay(self._after, patches)

    def recorded(self) -> Overlay:
        """The image after the launch."""
        return Overlay(self._after, [])

    def widen(self, left: Overlay, right: Overlay) -> None:
        """Take the difference between two replays of the baseline into the areas' spread."""
        ranges = union(left.ranges + right.ranges)
        for area in self.areas:
            parts = clip(ranges, Range(area.offset, area.size))
            area.widen((part.address - area.offset, left.read(part), right.read(part)) for part in parts)

    def _pieces(self, device: Device, address: int, area: Area) -> Iterator[Piece]:
        for part in cut(clip(self._strays, Range(area.offset, area.size)), PIECE):
            yield part.address - area.offset, self._after.read(part), _download(device, address, part)

    def _judge_outside(self, device: Device, address: int) -> Mismatch | None:
        """Bytes that differ where no area is: the kernel wrote to memory that nobody gave it."""
        count, first = 0, -1
        for part in cut(without(self._strays, [Range(area.offset, area.size) for area in self.areas]), PIECE):
            wrong = np.flatnonzero(_download(device, address, part) != self._after.read(part))
            if len(wrong):
                first = part.address + int(wrong[0]) if first < 0 else first
                count += len(wrong)
        return Mismatch(f"{self.label}+{first}, outside every allocation", BYTES, count, 0.0, 0.0) if count else None


class BoundMemory:
    """A launch's memory together with the globals of one loaded code."""

    def __init__(
        self,
        device: Device,
        blocks: Sequence[tuple[int, Block]],
        constants: frozenset[str],
        unwritten: Sequence[Mismatch] = (),
    ) -> None:
        """``unwritten``: variables that the recorded launch changed and that the code does not even have."""
        self._device = device
        self._blocks = blocks
        self._unwritten = unwritten
        self._checked = [(address, block) for address, block in blocks if block.label not in constants]

    def restore(self) -> None:
        """Memory as it was before the launch."""
        for address, block in self._blocks:
            block.restore(address)

    def judge(self, tolerances: Mapping[str, Tolerance | None]) -> list[Mismatch | Allowance]:
        """Compare all memory with the recorded result, whether the recorded launch wrote to it or not."""
        found = [each for address, block in self._checked for each in block.judge(self._device, address, tolerances)]
        return [*found, *self._unwritten]

    def feel(self, areas: Collection[Area]) -> None:
        """Take what nudged inputs moved into the sensitivity of some areas; memory holds what the baseline left."""
        for address, block in self._checked:
            block.feel(self._device, address, areas)

    def changed_bytes(self) -> int:
        """Bytes that the recorded launch changed, by freshly restored memory."""
        return sum(block.changed_bytes(address) for address, block in self._checked)

    def observe(self) -> list[Overlay]:
        """What a replay of the baseline left, to be given to ``widen``."""
        return [block.observe(self._device, address) for address, block in self._checked]

    def recorded(self) -> list[Overlay]:
        """What is in the images after the launch, to be given to ``widen``."""
        return [block.recorded() for _, block in self._checked]

    def widen(self, left: Sequence[Overlay], right: Sequence[Overlay]) -> None:
        """Take the difference between two replays of the baseline into the spread."""
        for (_, block), first, second in zip(self._checked, left, right, strict=True):
            block.widen(first, second)


class LaunchMemory:
    """All memory that one recorded launch saw."""

    def __init__(
        self, device: Device, images: ImageStore, source: LaunchSource, launch: Launch, facts: KernelFacts
    ) -> None:
        self._device = device
        self._images = images
        self._source = source
        self._facts = facts
        self._elements = region_elements(launch, facts.parameter_elements)
        self._regions = launch.regions
        self.spans = spans_of(launch.regions, device.granule)
        self.size = sum(span.size for span in self.spans)
        self._spans = [(span.address, self._span_block(span)) for span in self.spans]
        self._globals = [(image, self._global_area(image)) for image in launch.globals]

    @property
    def varies(self) -> bool:
        """Whether the baseline was seen to leave other results each time, as where atomics give out places."""
        return not all(area.deterministic for area in self._areas())

    @property
    def unsettled(self) -> list[Area]:
        """Areas with mismatches that the kernel's sensitivity, not known yet, may explain."""
        return [area for area in self._areas() if area.unsettled]

    def _areas(self) -> list[Area]:
        return [area for _, block in self._spans for area in block.areas] + [area for _, area in self._globals]

    def enter(self) -> None:
        """Map the launch's addresses and nothing else, and restore all of its memory."""
        try:
            self._device.map(self.spans)
        except OutOfDeviceMemory as error:
            needed, free = (size / (1 << 30) for size in (self.size, self._device.free_memory()))
            raise OutOfDeviceMemory(
                f"the launch's memory, {needed:.2f} GiB, does not fit on the device, of which {free:.2f} GiB are "
                f"free; end other programs on it, or replay on a larger one ({error})"
            ) from None
        for address, block in self._spans:
            block.forget()
            block.restore(address)
            block.learn(address)

    def bind(self, code: Code) -> BoundMemory:
        """This memory and the globals of a code. Raises :class:`LoadError` where one has another size."""
        blocks = list(self._spans)
        unwritten = []
        for image, area in self._globals:
            place = code.global_range(image.name)
            if place is None:
                # The kernel does not reach it, and must not where the recorded one changed it.
                if image.before != image.after and image.name in self._facts.globals - self._facts.constants:
                    unwritten.append(Mismatch(f"{image.name}, which the code no longer has", area.element, 1, 0.0, 0.0))
                continue
            if place.size != image.size:
                raise LoadError(f"{image.name} has {place.size} bytes in this code, {image.size} were recorded")
            blocks.append((place.address, self._global_block(image, area)))
        return BoundMemory(self._device, blocks, self._facts.constants, unwritten)

    def _span_block(self, span: Range) -> Block:
        regions = [region for region in self._regions if span.holds(Range(region.address, region.size))]
        before = self._image(span, [(region, region.before) for region in regions])
        after = self._image(span, [(region, region.after) for region in regions])
        areas = [self._area(span, region) for region in regions]
        return Block(f"{span.address:#x}", span.size, before, after, areas)

    def _image(self, span: Range, content: Sequence[tuple[Region, str]]) -> Image:
        pieces = granules_of([region for region, _ in content], self._device.granule)
        filled = [Range(piece.address - span.address, piece.size) for piece in pieces]
        placed = [(region.address - span.address, Recorded(self._source, key, region.size)) for region, key in content]
        identity = (span, *((region.address, region.size, key) for region, key in content))
        return self._images.get(identity, Layout(span.size, placed, filled, POISON))

    def _area(self, span: Range, region: Region) -> Area:
        element = self._elements.get(region.address, BYTES)
        expected = partial(self._magnitude, region.after, region.size, element)
        return Area(f"{region.address:#x}", region.address - span.address, region.size, element, expected)

    def _global_area(self, image: GlobalImage) -> Area:
        element = self._facts.global_elements.get(image.name, BYTES)
        return Area(image.name, 0, image.size, element, partial(self._magnitude, image.after, image.size, element))

    def _magnitude(self, key: str, size: int, element: str) -> Magnitude:
        if not is_float(element) or size % size_of(element):
            return Magnitude()
        content = Recorded(self._source, key, size)
        return sum(each_window(size, lambda part: magnitude_of(content.read(part), element)), Magnitude())

    def _global_block(self, image: GlobalImage, area: Area) -> Block:
        before, after = (self._global_image(image, key) for key in (image.before, image.after))
        block = Block(image.name, image.size, before, after, [area])
        block.assume_all_changed()
        return block

    def _global_image(self, image: GlobalImage, key: str) -> Image:
        return self._images.get((image.size, key), Recorded(self._source, key, image.size))


def spans_of(regions: Sequence[Region], granule: int) -> list[Range]:
    """Granule-aligned ranges that hold all regions and ``GUARD`` bytes in front of each, those that touch merged."""
    return union(_guarded(piece) for piece in granules_of(regions, granule))


def _guarded(piece: Range) -> Range:
    lowest = HOST.address if HOST.holds(piece) else 0
    start = max(piece.address - GUARD, lowest)
    return Range(start, piece.end - start)


def granules_of(regions: Sequence[Region], granule: int) -> list[Range]:
    """Granule-aligned ranges that hold all regions, those that touch merged."""
    padded = (
        (region.address // granule * granule, -(-(region.address + region.size) // granule) * granule)
        for region in regions
    )
    return union([Range(start, end - start) for start, end in padded if end > start])


def union(ranges: Iterable[Range]) -> list[Range]:
    """Sorted ranges, those that overlap or touch merged."""
    merged: list[Range] = []
    for each in sorted(ranges):
        if merged and each.address <= merged[-1].end:
            merged[-1] = Range(merged[-1].address, max(merged[-1].end, each.end) - merged[-1].address)
        else:
            merged.append(each)
    return merged


def coalesce(ranges: list[Range]) -> list[Range]:
    """At most ``_MOST_COPIES`` ranges that hold the given sorted ones: the smallest gaps between them are closed."""
    if len(ranges) <= _MOST_COPIES:
        return ranges
    gaps = sorted(right.address - left.end for left, right in pairwise(ranges))
    return _close_gaps(ranges, gaps[len(ranges) - _MOST_COPIES - 1])


def join_near(ranges: Iterable[Range]) -> list[Range]:
    """Ranges that hold the given ones, so few that transferring each by itself is no waste."""
    return _close_gaps(ranges, _NEAR)


def _close_gaps(ranges: Iterable[Range], widest: int) -> list[Range]:
    padded = [Range(each.address, each.size + widest) for each in ranges]
    return [Range(each.address, each.size - widest) for each in union(padded)]


def page_numbers(ranges: Iterable[Range]) -> npt.NDArray[np.uint32]:
    """Numbers of the pages that sorted ranges touch, each once."""
    pages = union(
        Range(each.address // PAGE, -(-each.end // PAGE) - each.address // PAGE) for each in ranges if each.size
    )
    return np.concatenate([np.arange(each.address, each.end, dtype=np.uint32) for each in pages])


def clip(ranges: Iterable[Range], window: Range) -> list[Range]:
    """The parts of ranges that lie in a window."""
    parts = ((max(each.address, window.address), min(each.end, window.end)) for each in ranges)
    return [Range(start, end - start) for start, end in parts if start < end]


def without(ranges: Iterable[Range], holes: Iterable[Range]) -> list[Range]:
    """The parts of ranges that lie in no hole."""
    left: list[Range] = []
    sorted_holes, passed = union(holes), 0
    for each in union(ranges):
        while passed < len(sorted_holes) and sorted_holes[passed].end <= each.address:
            passed += 1
        start, at = each.address, passed
        while at < len(sorted_holes) and sorted_holes[at].address < each.end:
            left.append(Range(start, max(sorted_holes[at].address - start, 0)))
            start, at = max(start, sorted_holes[at].end), at + 1
        left.append(Range(start, max(each.end - start, 0)))
    return [part for part in left if part.size]


def _download(device: Device, address: int, part: Range) -> Bytes:
    return np.frombuffer(device.download(address + part.address, part.size), np.uint8)
