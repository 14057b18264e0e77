"""Profiles as files: what is read, refused, merged and chosen."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from r3cc.apply.profile import FORMAT, VERSION, Entry, Evidence, Profile, choose, read_profile, write_profile
from r3cc.errors import UsageError
from r3cc.replay.model import Interval


def entry(name: str = "k", device: str = "NVIDIA H200", architecture: str = "sm_90", digest: str = "d") -> Entry:
    return Entry(
        name=name,
        demangled=name,
        digest=digest,
        device=device,
        architecture=architecture,
        pipeline="default<O2>",
        attributes={},
        codegen_level=3,
        module={},
        launch=None,
        changes=(),
        left_out=(),
        evidence=Evidence(Interval(0.5, 0.4, 0.6, 61), 4, "rounding", "a-search", "a-recording"),
    )


def profile(*entries: Entry) -> Profile:
    return Profile(FORMAT, VERSION, {"r3": "test"}, entries)


def test_a_profile_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "tuned.r3.json"
    write_profile(file, profile(entry(), entry("other")))
    assert read_profile(file) == profile(entry(), entry("other"))
    assert not list(tmp_path.glob("*.new"))


def test_an_older_profile_is_read(tmp_path: Path) -> None:
    file = tmp_path / "tuned.r3.json"
    write_profile(file, msgspec.structs.replace(profile(entry()), version=1))
    document = msgspec.json.decode(file.read_bytes())
    del document["kernels"][0]["specialised"]
    file.write_bytes(msgspec.json.encode(document))
    assert read_profile(file).kernels == (entry(),)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is not a profile of R3"),
        ('{"format": "another", "version": 1}', "its format is 'another'"),
        (f'{{"format": "r3-profile", "version": {VERSION + 1}}}', f"has version {VERSION + 1}, this R3 reads up to"),
        ('{"format": "r3-profile", "version": 1, "kernels": []}', "is damaged"),
        ('{"format": "r3-profile", "version": 0, "kernels": []}', "its version is 0"),
        (
            '{"format": "r3-profile", "version": 1, "kernels": ' + 100_000 * "[" + 100_000 * "]" + "}",
            "is not a profile",
        ),
        ('{"format": "r3-profile", "version": 1, "made_by": {}, "kernels": [{"name": "k"}]}', "is damaged"),
    ],
)
def test_what_is_no_profile_is_one_sentence(tmp_path: Path, content: str, sentence: str) -> None:
    file = tmp_path / "tuned.r3.json"
    file.write_text(content)
    with pytest.raises(UsageError, match=sentence):
        read_profile(file)
    with pytest.raises(UsageError, match="No such file"):
        read_profile(tmp_path / "none")


@pytest.mark.parametrize(
    ("part", "value", "sentence"),
    [
        ("attributes", {"maxntid": "many"}, "'many' is not a value of maxntid"),
        ("attributes", {"minctasm": "2,2"}, "'2,2' is not a value of minctasm"),
        ("module", {"ptxas-opt": "3 -v"}, "'3 -v' is not a value of ptxas-opt"),
        ("evidence.numerics", "loose", "numerics 'loose' is unknown; it is bitwise, rounding, approx"),
        ("evidence.ratio.median", 0, "a ratio of times is not positive"),
        ("launch", {"block": [0, 1, 1], "grid": "derived", "guard": {"shapes": []}}, "`int` >= 1"),
    ],
)
def test_a_value_that_nothing_can_have_is_one_sentence(tmp_path: Path, part: str, value: object, sentence: str) -> None:
    file = tmp_path / "tuned.r3.json"
    write_profile(file, profile(entry()))
    document = msgspec.json.decode(file.read_bytes())
    *folders, last = part.split(".")
    fields = document["kernels"][0]
    for folder in folders:
        fields = fields[folder]
    fields[last] = value
    file.write_bytes(msgspec.json.encode(document))
    with pytest.raises(UsageError, match=f"is damaged: .*{sentence}"):
        read_profile(file)


def test_merging_replaces_equal_identities_and_keeps_the_rest() -> None:
    old = profile(entry(), entry(device="NVIDIA A100", architecture="sm_80"), entry(digest="older"))
    new = msgspec.structs.replace(entry(), pipeline="default<O1>")
    merged = old.merged(profile(new, entry("other")))
    assert merged.kernels == (new, *old.kernels[1:], entry("other"))


def test_the_exact_device_comes_before_its_architecture() -> None:
    h200, h100, a100 = entry(), entry(device="NVIDIA H100"), entry(device="NVIDIA A100", architecture="sm_80")
    assert choose([h100, h200, a100], "NVIDIA H200", "sm_90") is h200
    assert choose([h100, a100], "NVIDIA H200", "sm_90") is h100
    assert choose([a100], "NVIDIA H200", "sm_90") is None
    assert choose([entry(architecture="sm_80")], "NVIDIA H200", "sm_90") is None  # a build does not take it either


def test_the_cpu_device_and_gpus_never_share_an_entry() -> None:
    cpu = entry(device="cpu")
    assert choose([cpu], "NVIDIA H200", "sm_90") is None
    assert choose([entry()], "cpu", "sm_90") is None
    assert choose([entry(), cpu], "cpu", "sm_90") is cpu
