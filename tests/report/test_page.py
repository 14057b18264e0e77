"""The page: whole, self-contained, accessible, and what a browser makes of it in both colour schemes."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import threading
import time
import zlib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from r3cc.cli import r3
from r3cc.errors import R3Error
from r3cc.replay.events import End, read_log
from r3cc.replay.model import Interval
from r3cc.report import charts
from r3cc.report.bench import bench_report
from r3cc.report.explain import explain
from r3cc.report.levels import level_shares
from r3cc.report.live import LivePage
from r3cc.store import Store
from r3cc.store.eventlog import EventLog
from tests.apply.test_bench import expected, measured
from tests.conftest import REDUCE
from tests.report.pages import remix_search, tune_search, write_both

pytest.importorskip("jinja2")
CHROMIUM = shutil.which("chromium")
LIMIT_BYTES = 2 << 20
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Outline(HTMLParser):
    """What the rules of accessibility ask of a document; raises where tags do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.unnamed: list[str] = []
        self.bare_headers = 0
        self.headings: list[int] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.tags[tag] += 1
        if "id" in given:
            self.ids.append(str(given["id"]))
        for key in ("href", "src", "aria-labelledby"):
            if key in given:
                self.targets.append(str(given[key]).removeprefix("#"))
        if tag == "svg" and not (given.get("role") == "img" and ("aria-labelledby" in given or "aria-label" in given)):
            self.unnamed.append(tag)
        if tag == "th" and "scope" not in given:
            self.bare_headers += 1
        if tag in ("h1", "h2", "h3"):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


@pytest.fixture
def pages(small_store: Store, tmp_path: Path) -> tuple[Path, Path]:
    return write_both(tmp_path, small_store)


def test_a_page_is_whole_small_and_needs_nothing_else(pages: tuple[Path, Path]) -> None:
    for page in pages:
        text = page.read_text()
        assert len(text) < LIMIT_BYTES
        for fetched in ("http:", "https:", "//cdn", "@import", "url(", "<script", "<link", "<img"):
            assert fetched not in text
        assert "a &lt;device&gt; &amp; more" in text
        assert "prefers-color-scheme: dark" in text


def test_a_page_is_accessible(pages: tuple[Path, Path]) -> None:
    for page in pages:
        outline = Outline(page.read_text())
        assert len(outline.ids) == len(set(outline.ids))
        assert set(outline.targets) <= set(outline.ids)
        assert (outline.unnamed, outline.bare_headers) == ([], 0)
        assert outline.tags["svg"] > 2
        assert outline.tags["caption"] == outline.tags["table"]
        assert outline.headings[0] == 1
        assert all(after - before <= 1 for before, after in zip(outline.headings, outline.headings[1:], strict=False))


def test_numbers_are_those_of_the_report(small_store: Store, tmp_path: Path) -> None:
    search = tune_search(small_store)
    file = tmp_path / "page.html"
    options = ["report", "--store", str(small_store.path), "--search", search.id]
    done = CliRunner().invoke(r3, [*options, "--html", str(file), "--json"])
    assert done.exit_code == 0, done.output
    text = file.read_text()
    for kernel in json.loads(done.stdout)["kernels"]:
        value = kernel["speedup"]
        assert f"{value['median']:.3f}x [{value['low']:.3f}, {value['high']:.3f}] n={value['samples']}" in text
        assert f"r3 replay {kernel['id']} --recording" in text
    assert f"r3 apply --search {search.id} --device cpu" in text
    assert "r3 record --device cpu -- app input.nml" in text
    explained = explain(read_log(search.events_path))
    parts = [part for each in explained for part in each.parts if part.factor is not None]
    assert parts
    assert all(f"{part.factor:.3f}x [{part.low:.3f}, {part.high:.3f}]" in text for part in parts)


def test_an_archive_and_a_lineage_are_shown(pages: tuple[Path, Path]) -> None:
    text = pages[1].read_text()
    assert "3 time, 1 correct" in text
    assert "from proposal 0 by rules (rewrite): 2.000x, strategy 3" in text
    assert '<span class="added">+  y[1] +=' in text
    assert "__restrict__" in text
    assert "<b>" not in text
    assert "--llm rules" in text


def test_levels_are_taken_from_the_log(small_store: Store) -> None:
    search = remix_search(small_store)
    kernel = next(each.id for each in small_store.kernels() if each.name == REDUCE)
    found = {each.level: each for each in level_shares(kernel, read_log(search.events_path))}
    assert list(found) == ["source", "pipeline", "codegen", "launch"]
    assert (found["codegen"].exact, round(found["codegen"].gain, 3), found["codegen"].proposal) == (True, 1.1, 4)
    assert (found["source"].exact, round(found["source"].gain, 3), found["source"].proposal) == (False, 1.9, 5)
    assert (found["launch"].exact, round(found["launch"].gain, 3), found["launch"].proposal) == (False, 1.6, 0)


def test_a_page_of_a_running_search_loads_itself_again(small_store: Store, tmp_path: Path) -> None:
    tune_search(small_store, complete=False)
    file = tmp_path / "page.html"
    done = CliRunner().invoke(r3, ["report", "--store", str(small_store.path), "--html", str(file)])
    assert done.exit_code == 0
    assert "http-equiv" not in file.read_text()
    assert "not complete" in file.read_text()
    following = ["report", "--store", str(small_store.path), "--follow", "1s"]
    assert CliRunner().invoke(r3, following).exit_code == 2
    complete = ("--search", tune_search(small_store).id, "--html", str(file))
    assert CliRunner().invoke(r3, [*following, *complete]).exit_code == 0  # it ends with the search
    assert "http-equiv" not in file.read_text()


def test_a_page_follows_a_search_to_its_end(small_store: Store, tmp_path: Path) -> None:
    search = tune_search(small_store, complete=False)
    file = tmp_path / "page.html"
    seen: list[str] = []

    def finish() -> None:
        while not file.exists():
            time.sleep(0.02)
        seen.append(file.read_text())
        with EventLog(search.events_path) as log:
            log.append(End(at=2.0))

    thread = threading.Thread(target=finish)
    thread.start()
    options = ["report", "--store", str(small_store.path), "--search", search.id, "--html", str(file), "--follow", "1s"]
    done = CliRunner().invoke(r3, options)
    thread.join()
    assert done.exit_code == 0
    assert '<meta http-equiv="refresh" content="1">' in seen[0]
    assert "http-equiv" not in file.read_text()


def test_a_live_page_is_there_from_the_beginning_to_the_end(small_store: Store, tmp_path: Path) -> None:
    search = tune_search(small_store, complete=False)
    file = tmp_path / "page.html"
    with LivePage(small_store.path, file, period_s=0.05) as page:
        page.follow(search)
        assert '<meta http-equiv="refresh" content="1">' in file.read_text()
        first = file.stat().st_ino
        while file.stat().st_ino == first:  # each page is another file
            time.sleep(0.01)
        with EventLog(search.events_path) as log:
            log.append(End(at=2.0))
    assert "http-equiv" not in file.read_text()
    assert "not complete" not in file.read_text()


def test_a_page_that_cannot_be_written_is_one_sentence_before_the_search(small_store: Store, tmp_path: Path) -> None:
    with pytest.raises(R3Error, match="cannot write the page"), LivePage(small_store.path, tmp_path / "none/page.html"):
        pytest.fail("a search would begin here")


def test_a_page_that_cannot_be_written_does_not_hide_what_ended_the_search(small_store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    with pytest.raises(KeyboardInterrupt), LivePage(small_store.path, folder / "page.html", period_s=60) as page:
        page.follow(tune_search(small_store, complete=False))
        shutil.rmtree(folder)
        raise KeyboardInterrupt


def test_the_application_stands_beside_its_forecast(small_store: Store, tmp_path: Path) -> None:
    search = tune_search(small_store)
    report = bench_report("cpu", measured(Interval(1.2, 1.1, 1.3, 10)), expected(Interval(1.25, 1.2, 1.3, 40)), None)
    bench, file = tmp_path / "bench.json", tmp_path / "page.html"
    bench.write_bytes(msgspec.json.encode(report))
    options = ["report", "--store", str(small_store.path), "--search", search.id]
    assert CliRunner().invoke(r3, [*options, "--html", str(file), "--bench", str(bench)]).exit_code == 0
    text = file.read_text()
    assert "1.200x [1.100, 1.300] n=10" in text
    assert "agrees with the forecast" in text
    assert set(Outline(text).targets) <= set(Outline(text).ids)
    assert CliRunner().invoke(r3, [*options, "--bench", str(bench)]).exit_code == 2
    bench.write_text("{}")
    done = CliRunner().invoke(r3, [*options, "--html", str(file), "--bench", str(bench)])
    assert (done.exit_code, done.stderr) == (2, f"r3: {bench} is not what `r3 bench --json` prints\n")


def test_intervals_stand_where_their_axis_says() -> None:
    drawn = charts.forest([("a", Interval(2.0, 1.0, 4.0, 9), True)])
    (row,) = drawn.rows
    assert row.low == pytest.approx(drawn.one)
    assert row.middle - row.low == pytest.approx(row.high - row.middle)
    places = {tick.label: tick.place for tick in drawn.ticks}
    assert places["2x"] == pytest.approx(row.middle)


def test_a_bar_is_as_long_as_its_parts() -> None:
    bar = charts.stacked_bar("b", 0.0, [("x", 1.0, 0), ("y", 3.0, 1)], 8.0)
    assert bar.segments[1].x == pytest.approx(bar.segments[0].x + bar.segments[0].width)
    assert sum(part.width for part in bar.segments) == pytest.approx((charts.WIDTH - charts.LABEL) / 2)


def test_a_curve_of_failures_alone_has_no_line() -> None:
    slow = charts.search_curve([(9.0, "x"), (0.5, "y")])
    assert slow.path.startswith(f"M44.0,{slow.dots[0].y:.1f}")  # at the axis' edge, not beyond it
    curve = charts.search_curve([(None, "x"), (None, "y")])
    assert (curve.path, len(curve.failures), curve.dots) == ("", 2, ())


def browse(page: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Headless Chromium without a network."""
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={folder / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND", *options]
    environment = os.environ | {"HOME": str(folder)}
    return subprocess.run(
        [*command, page.as_uri()], capture_output=True, text=True, timeout=120, env=environment, check=False
    )


def first_pixel(png: Path) -> bytes:
    """Red, green and blue of the upper left corner: its predictor is 0 under every PNG filter."""
    content, data, position = png.read_bytes(), b"", 8
    while position < len(content):
        size, kind = struct.unpack_from(">I4s", content, position)
        data += content[position + 8 : position + 8 + size] if kind == b"IDAT" else b""
        position += size + 12
    return zlib.decompress(data)[1:4]


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_browser_shows_it_in_both_schemes(pages: tuple[Path, Path], tmp_path: Path) -> None:
    corners = []
    for scheme in ("1", "0"):
        picture = tmp_path / f"{scheme}.png"
        done = browse(
            pages[1],
            tmp_path,
            "--window-size=1000,1400",
            f"--blink-settings=preferredColorScheme={scheme}",
            f"--screenshot={picture}",
        )
        assert picture.is_file(), done.stderr
        corners.append(first_pixel(picture))
    assert corners == [bytes.fromhex("ffffff"), bytes.fromhex("14171b")]


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_browser_reads_all_of_it(pages: tuple[Path, Path], tmp_path: Path) -> None:
    done = browse(pages[0], tmp_path, "--dump-dom")
    seen, written = Outline(done.stdout), Outline(pages[0].read_text())
    assert seen.tags["table"] == written.tags["table"] > 0
    assert seen.tags["circle"] == written.tags["circle"] > 0
