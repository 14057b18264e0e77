"""Exports: what goes through one file is the same at the other end, and what is redacted is not in it."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from r3cc.cli import r3
from r3cc.errors import R3Error
from r3cc.store import Store
from r3cc.store.verify import verify
from tests.conftest import SAXPY
from tests.report.pages import RECORDING, remix_search, tune_search


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(r3, ["store", *arguments], prog_name="r3")


def exported(store: Store, folder: Path, identifier: str, *options: str) -> Path:
    file = folder / "export.r3.tar"
    done = invoke("export", "--store", str(store.path), identifier, "-o", str(file), *options)
    assert done.exit_code == 0, done.output
    return file


def imported(file: Path, folder: Path) -> Store:
    done = invoke("import", "--store", str(folder), str(file))
    assert done.exit_code == 0, done.output
    return Store.open(folder)


def test_a_recording_arrives_whole_with_its_searches(small_store: Store, tmp_path: Path) -> None:
    search = tune_search(small_store)
    other = imported(exported(small_store, tmp_path, RECORDING), tmp_path / "other")
    assert other.kernels() == small_store.kernels()
    (launch,) = other.launches(other.find_kernel(SAXPY))
    before = other.image(launch.regions[1].before, launch.regions[1].size)
    assert bytes(before) == b"\x02" * 300_000
    assert verify(other).sound
    assert [each.id for each in other.searches.all()] == [search.id]
    assert other.searches.find().events_path.read_bytes() == search.events_path.read_bytes()


def test_a_search_takes_its_recording_and_its_variants_along(small_store: Store, tmp_path: Path) -> None:
    tune_search(small_store, complete=False)
    search = remix_search(small_store)
    variants = small_store.path / "variants"
    variants.mkdir()
    for name in (f"{3:016x}.bc", f"{3:016x}.json", f"{9:016x}.bc"):
        (variants / name).write_bytes(b"content of " + name.encode())
    other = imported(exported(small_store, tmp_path, search.id), tmp_path / "other")
    assert [each.id for each in other.searches.all()] == [search.id]
    assert sorted(path.name for path in (other.path / "variants").iterdir()) == [f"{3:016x}.bc", f"{3:016x}.json"]


def test_a_redacted_recording_keeps_identities_and_no_memory(small_store: Store, tmp_path: Path) -> None:
    file = exported(small_store, tmp_path, RECORDING, "--redact")
    other = imported(file, tmp_path / "other")
    assert other.kernels() == small_store.kernels()
    kernel = other.find_kernel(SAXPY)
    assert other.launches(kernel) == small_store.launches(kernel)
    assert other.bitcode(kernel.module) == small_store.bitcode(kernel.module)
    assert other.recording().redacted
    assert verify(other).sound
    with pytest.raises(R3Error, match="was exported without memory contents"):
        other.image(other.launches(kernel)[0].regions[1].before, 300_000)
    assert chunks(file) == 1
    assert chunks(exported(small_store, tmp_path, RECORDING)) > 1
    again = exported(other, tmp_path, RECORDING)  # what is gone stays gone
    with tarfile.open(again) as archive:
        head = archive.extractfile("FORMAT")
        assert head is not None
        assert json.loads(head.read())["redacted"]


def chunks(file: Path) -> int:
    """Chunk records in the packs of an export."""
    from r3cc.store.pack import PackReader, Record, RecordType

    with tarfile.open(file) as archive:
        (name,) = [each for each in archive.getnames() if each.endswith(".r3pack")]
        member = archive.extractfile(name)
        assert member is not None
        pack = file.with_name("one.r3pack")
        pack.write_bytes(member.read())
    records = list(PackReader(pack).scan())
    return sum(isinstance(each, Record) and each.type is RecordType.CHUNK for each in records)


def test_what_the_store_has_stays_as_it_is(small_store: Store, tmp_path: Path) -> None:
    file = exported(small_store, tmp_path, RECORDING, "--redact")
    done = invoke("import", "--store", str(small_store.path), str(file))
    assert done.exit_code == 0
    assert f"{RECORDING} was in the store already" in done.stderr
    assert not small_store.recording().redacted


def hostile(folder: Path, *members: tuple[str, bytes], kind: bytes = tarfile.REGTYPE) -> Path:
    file = folder / "hostile.r3.tar"
    head = {"format": "r3-export", "version": 1, "recording": RECORDING, "searches": [], "redacted": False}
    with tarfile.open(file, "w") as archive:
        for number, (name, content) in enumerate((("FORMAT", json.dumps(head).encode()), *members)):
            information = tarfile.TarInfo(name)
            information.size = len(content)
            information.type = kind if number else tarfile.REGTYPE
            information.linkname = "/etc/passwd"
            archive.addfile(information, io.BytesIO(content) if information.isfile() else None)
    return file


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "/absolute",
        "recordings/20260102-030405-abcd/../../FORMAT",
        "recordings/20260102-030405-abcd/run.sh",
        "index.sqlite",
        "searches/20260102-030405-abcd/events.jsonl/x",
    ],
)
def test_files_that_do_not_belong_are_refused(tmp_path: Path, name: str) -> None:
    done = invoke("import", "--store", str(tmp_path / "store"), str(hostile(tmp_path, (name, b"x"))))
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert "does not belong into an export" in done.stderr
    assert {path.name for path in (tmp_path / "store").iterdir()} <= {"FORMAT", "recordings", "index.sqlite"}
    assert not list((tmp_path / "store/recordings").iterdir())


def test_links_are_refused(tmp_path: Path) -> None:
    file = hostile(tmp_path, (f"recordings/{RECORDING}/recording.json", b""), kind=tarfile.SYMTYPE)
    assert "does not belong" in invoke("import", "--store", str(tmp_path / "store"), str(file)).stderr


def test_what_is_no_export_is_one_sentence(small_store: Store, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no tar")
    whole = exported(small_store, tmp_path, RECORDING)
    cut = tmp_path / "cut"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    newer = tmp_path / "newer"
    head = {"format": "r3-export", "version": 2, "recording": RECORDING, "searches": [], "redacted": False}
    with tarfile.open(newer, "w") as archive:
        information = tarfile.TarInfo("FORMAT")
        content = json.dumps(head).encode()
        information.size = len(content)
        archive.addfile(information, io.BytesIO(content))
    for file, sentence in (
        (text, "is not an export"),
        (cut, "is cut off"),
        (newer, "has version 2, this R3 reads up to 1"),
    ):
        done = invoke("import", "--store", str(tmp_path / "store"), str(file))
        assert (done.exit_code, done.stderr.count("\n")) == (1, 1), done.output
        assert sentence in done.stderr
    assert invoke("export", "--store", str(small_store.path), "nothing-like-it").exit_code == 1
