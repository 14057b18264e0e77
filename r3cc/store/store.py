"""The capture store as Python sees it: one object that answers every question about a store's folder."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from r3cc.closing import Closing
from r3cc.errors import R3Error
from r3cc.store import documents, kernels
from r3cc.store.images import ChunkReader
from r3cc.store.index import Index
from r3cc.store.model import Kernel, Launch, Module, Process, Recording
from r3cc.store.recordings import Recordings
from r3cc.store.search import Searches
from r3cc.store.whole_file import write_whole

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FORMAT_NAME = "r3-store"
VERSION = 1
"""Raise it when older readers could misread what is written now (docs/store-format.md)."""

UNFINISHED = re.compile(r"\.FORMAT\.[0-9a-f]+")
"""A FORMAT that is being written, or whose writer was killed."""


class Store(Closing):
    """An open capture store; safe to use from several threads, and from several processes.

    Where a method takes ``recording`` (an id), None means the latest one.
    Methods raise R3Error for what the store does not hold.
    """

    def __init__(self, path: Path) -> None:
        """Use ``Store.open`` or ``Store.create``."""
        self.path = path
        self.searches = Searches(path / "searches")
        self._recordings = Recordings(path / "recordings")
        self._index = Index(path / "index.sqlite", self._recordings.path)
        self._chunks = ChunkReader(self._index)

    @classmethod
    def create(cls, path: Path) -> Store:
        """Open the store in a folder; make it if nothing is there. Raises R3Error for a folder of something else."""
        format_file = path / "FORMAT"
        if not format_file.exists():
            # FORMAT comes first: where another process makes the store now, nothing else is there before it.
            strange = path.is_dir() and not all(UNFINISHED.fullmatch(entry.name) for entry in path.iterdir())
            if not strange:
                write_whole(format_file, msgspec.json.encode({"format": FORMAT_NAME, "version": VERSION}) + b"\n")
            elif not format_file.exists():
                raise R3Error(f"{path} is neither empty nor a capture store; name another folder with --store")
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Store:
        """Open an existing store. Raises R3Error when there is none, or one of a newer version."""
        path = path.absolute()
        _check_format(path)
        (path / "recordings").mkdir(exist_ok=True)
        return cls(path)

    @property
    def cache(self) -> Path:
        """Folder of what can be made again: code objects, lowered modules."""
        return self.path / "cache"

    def recordings(self) -> list[Recording]:
        """Every recording, the oldest first."""
        return self._recordings.all()

    def recording(self, given: str | None = None) -> Recording:
        """A recording by its id or a unique part of it; the latest for None."""
        return self._recordings.find(given)

    def recording_path(self, recording: str) -> Path:
        """Folder of a recording, which holds its packs."""
        return self._recordings.path / recording

    def processes(self, recording: str | None = None) -> list[Process]:
        """Processes of a recording."""
        chosen = self._chosen(recording)
        ended = {(end.recording, end.stem) for end in self._index.documents("end", chosen)}
        return [
            documents.process(document.body, document.stem, (document.recording, document.stem) in ended)
            for document in self._index.documents("process", chosen)
        ]

    def ends(self, recording: str | None = None) -> list[documents.EndDocument]:
        """Totals of those processes of a recording that ended by themselves."""
        return [documents.end(found.body) for found in self._index.documents("end", self._chosen(recording))]

    def kernels(self, recording: str | None = None) -> list[Kernel]:
        """Kernels of a recording, summed over its processes, by share of device time."""
        chosen = self._chosen(recording)
        devices = {process.pack: process.device for process in self.processes(chosen)}
        counts = [
            (documents.kernel(document.body), document.stem) for document in self._index.documents("kernel", chosen)
        ]
        return kernels.sum_kernels((count, count.device or devices.get(stem, "unknown")) for count, stem in counts)

    def kernel_counts(self, recording: str | None = None) -> list[documents.KernelDocument]:
        """Counts of every kernel in every process of a recording, not summed."""
        return [documents.kernel(found.body) for found in self._index.documents("kernel", self._chosen(recording))]

    def find_kernel(self, given: str, recording: str | None = None) -> Kernel:
        """A kernel by id, mangled or demangled name, or a unique part of one; several matches are an error."""
        chosen = self._chosen(recording)
        found = self.kernels(chosen)
        if not found:
            raise R3Error(kernels.no_kernel(chosen))
        return kernels.find_kernel(found, given)

    def launches(self, kernel: Kernel, recording: str | None = None) -> list[Launch]:
        """Recorded launches of a kernel, held-out ones among them, in the order of processes and time."""
        identity = documents.kernel_identity({"module": kernel.module, "name": kernel.name})
        found = self._index.documents("launch", self._chosen(recording), kernel=identity)
        return [documents.launch(document.body) for document in found]

    def launch(self, identifier: str) -> Launch:
        """A launch by its id."""
        self._index.refresh()
        found = self._index.documents("launch", identity=identifier)
        if not found:
            raise R3Error(f"the store {self.path} holds no launch '{identifier}'")
        return documents.launch(found[-1].body)

    def modules(self, recording: str | None = None) -> list[Module]:
        """Modules of a recording, each once."""
        found = [
            documents.module(document.body) for document in self._index.documents("module", self._chosen(recording))
        ]
        return list({module.module: module for module in found}.values())

    def module(self, identifier: str) -> Module:
        """A module by its id, from any recording."""
        self._index.refresh()
        found = self._index.documents("module", identity=identifier)
        if not found:
            raise R3Error(f"the store {self.path} holds no module '{identifier}'")
        return documents.module(found[-1].body)

    def bitcode(self, module: str) -> bytes:
        """Bitcode of a module, as it was at the start of the optimisation pipeline."""
        found = self.module(module)
        if found.bitcode is None:
            raise R3Error(
                f"the module {module[:12]} of {found.binary} has no LLVM IR in the store: "
                "it was not built by r3-clang++; build it with r3-clang++ and record again"
            )
        return self.blob(found.bitcode)

    def blob(self, key: str) -> bytes:
        """Content by its key."""
        return self._chunks.blob(key)

    def image(self, key: str, size: int) -> npt.NDArray[np.uint8]:
        """A memory image of ``size`` bytes, as a new writable array."""
        with self._explained():
            return self._chunks.image(key, size)

    def part(self, key: str, size: int, start: int, length: int) -> npt.NDArray[np.uint8]:
        """Bytes [start, start + length) of a memory image of ``size`` bytes, as a new writable array."""
        with self._explained():
            return self._chunks.part(key, size, start, length)

    def read_part(self, key: str, size: int, start: int, out: npt.NDArray[np.uint8]) -> None:
        """Fill ``out`` (pinned memory, say) with what a memory image of ``size`` bytes holds from ``start`` on."""
        with self._explained():
            self._chunks.read_part(key, size, start, out)

    def chunk_keys(self, key: str, size: int) -> list[bytes]:
        """Keys of an image's 256 KiB chunks, in order: equal keys are equal content."""
        with self._explained():
            return self._chunks.chunk_keys(key, size)

    def close(self) -> None:
        """Close the index and the packs."""
        self._chunks.close()
        self._index.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens the store again."""
        return Store.open, (self.path,)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Memory that is missing because a recording was redacted is not damage."""
        try:
            yield
        except R3Error as error:
            redacted = [recording.id for recording in self.recordings() if recording.redacted]
            if not redacted:
                raise
            raise R3Error(
                f"the recording {', '.join(redacted)} was exported without memory contents (--redact): it can be "
                f"listed and reported on, not replayed ({error})"
            ) from None

    def _chosen(self, recording: str | None) -> str:
        self._index.refresh()
        return self.recording(recording).id


def _check_format(path: Path) -> None:
    file = path / "FORMAT"
    if not file.is_file():
        raise R3Error(f"there is no capture store in {path}; `r3 record -- app` makes one, --store names another")
    try:
        content = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
        name, version = content["format"], int(content["version"])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        raise R3Error(f"{file} is damaged: it is not the JSON of a capture store's FORMAT") from None
    if name != FORMAT_NAME:
        raise R3Error(f"{path} is not a capture store: its FORMAT says '{name}'")
    if version > VERSION:
        raise R3Error(
            f"the store {path} has format version {version}, this R3 reads up to {VERSION}; use the R3 that wrote it"
        )
