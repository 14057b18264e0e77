"""The folder ``recordings`` of a store, and the ``recording.json`` in each of them."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import msgspec

from r3cc.errors import R3Error
from r3cc.store.identifiers import PATTERN, choose_id, new_id
from r3cc.store.model import Recording

FILE = "recording.json"
JOBS = "jobs"
"""Folder of one link a run of a parallel job, to its recording, and an empty file for each rank of it."""


class DamagedRecording(R3Error):
    """A recording whose ``recording.json`` cannot be read."""


class Recordings:
    """Recordings of one store."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def reserve(self) -> str:
        """Make the folder of a new recording; gives its id."""
        while True:
            identifier = new_id()
            with contextlib.suppress(FileExistsError):
                (self.path / identifier).mkdir(parents=True)
                return identifier

    def join(self, job: str, rank: str) -> tuple[str, bool]:
        """The recording of a parallel job, made by the rank that comes first: its id, and whether this call made it.

        A rank that comes again, as a job script's second `r3 record` does, belongs to the job's next recording. Files
        that can be made only once stand in for a lock, which shared file systems may lack.
        """
        links = self.path / JOBS
        links.mkdir(parents=True, exist_ok=True)
        link = links / f"{job}.{self._run_of(links, job, rank)}"
        own = self.reserve()
        while True:
            try:
                link.symlink_to(own)
                return own, True
            except FileExistsError:
                known = link.readlink()
            if (self.path / known).is_dir():
                (self.path / own).rmdir()
                return known.name, False
            link.unlink(missing_ok=True)  # of a recording that was removed

    def _run_of(self, links: Path, job: str, rank: str) -> int:
        """How many times the rank has come before."""
        number = 0
        while True:
            try:
                (links / f"{job}.{number}.{rank}").touch(exist_ok=False)
                return number
            except FileExistsError:
                number += 1

    def write(self, recording: Recording) -> None:
        """Write or replace ``recording.json``: it appears whole or not at all."""
        file = self.path / recording.id / FILE
        temporary = file.with_suffix(".new")
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(recording), indent=2) + b"\n")
        temporary.replace(file)

    def all(self) -> list[Recording]:
        """Every recording, the oldest first."""
        return [self._read(identifier) for identifier in self._ids()]

    def find(self, given: str | None) -> Recording:
        """A recording by its id or a unique part of it; the latest for None."""
        return self._read(self.choose(given))

    def choose(self, given: str | None) -> str:
        """Its id alone, which a damaged one has, too."""
        ids = self._ids()
        if not ids:
            raise R3Error(f"the store {self.path.parent} is empty: record a run with `r3 record -- app` first")
        return ids[-1] if given is None else choose_id("recording", given, ids)

    def remove(self, identifier: str) -> None:
        """Delete a recording with its packs."""
        shutil.rmtree(self.path / identifier)

    def _ids(self) -> list[str]:
        if not self.path.is_dir():
            return []
        return sorted(entry.name for entry in self.path.iterdir() if PATTERN.fullmatch(entry.name))

    def _read(self, identifier: str) -> Recording:
        file = self.path / identifier / FILE
        try:
            return msgspec.json.decode(file.read_bytes(), type=Recording)
        except FileNotFoundError:  # killed before its first write, or being removed
            return Recording(identifier, (), "", 0, "", "", None)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DamagedRecording(
                f"{file} is damaged: {error}; `r3 store rm {identifier}` removes the recording"
            ) from None
