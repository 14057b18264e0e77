"""Prompts: what is stable first, what is volatile last, so that a provider's cache serves most of each one.

Order: system (every search) · kernel (one kernel) · elites (grows by whole epochs, at its end) · parent (siblings share
it) · request (one request alone). No time, id or number of the day stands before the last block. The texts are
the templates beside this file.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from r3cc.errors import R3Error
from r3cc.remix.archive.archive import Elite
from r3cc.remix.archive.features import describe, dimension
from r3cc.remix.archive.sampling import Draw, Sibling
from r3cc.remix.archive.state import SearchState
from r3cc.remix.events import Verdict
from r3cc.remix.model import Block, Prompt, Region, Rejection, SourceKernel
from r3cc.remix.prompts.occupancy import occupancy
from r3cc.remix.sheet import Sheet
from r3cc.replay.sensitivity import LARGEST_NUDGE, MARGIN

if TYPE_CHECKING:
    import jinja2

DIFF_LINES = 60
"""Longest diff that a prompt shows of another rewrite."""
FAILURES_SHOWN = 4
ANSWER_SHOWN = 24_000
"""Longest answer, in characters, that a repair round shows again."""
FOLDER = Path(__file__).parent


class Layout:
    """Makes the prompts of one kernel's search."""

    def __init__(self, sheet: Sheet, source: SourceKernel, max_output_tokens: int, original: Mapping[str, int]) -> None:
        self._sheet = sheet
        self._source = source
        self._max_output_tokens = max_output_tokens
        self._original = original
        self._texts = {region.name: region.text for region in source.regions}
        self._templates = _environment()
        self._stable = (
            Block("system", self._text("system", sheet=sheet, margin=f"{MARGIN:g}", nudge=LARGEST_NUDGE), cached=True),
            Block("kernel", self._text("kernel", sheet=sheet, regions=source.regions), cached=True),
        )

    def prompt(self, state: SearchState, drawn: Draw, sibling: Sibling, n: int) -> Prompt:
        """What request ``n`` asks: one sibling of a batch."""
        blocks = [*self._stable]
        shown = state.joined[: state.epoch]
        if shown:
            blocks.append(Block("elites", self._elites(shown), cached=True))
        blocks.append(Block("parent", self._parent(drawn.parent), cached=True))
        blocks.append(Block("request", self._request(sibling, state.failures), cached=False))
        parent = {**self._texts, **(drawn.parent.texts if drawn.parent is not None else {})}
        kernel_region = next(region.name for region in self._source.regions if region.kernel)
        return Prompt(tuple(blocks), parent, kernel_region, n, self._max_output_tokens)

    def repair(self, prompt: Prompt, answer: str, rejection: Rejection, last: bool) -> Prompt:
        """The same prompt with the answer that failed and why; the last round asks for whole regions."""
        shown = answer if len(answer) <= ANSWER_SHOWN else f"{answer[:ANSWER_SHOWN]}\n[…]"
        text = self._text("repair", answer=shown, message=rejection.message, whole=last)
        blocks = (*prompt.blocks, Block("repair", text, cached=False))
        return msgspec.structs.replace(prompt, blocks=blocks)

    def _elites(self, elites: Sequence[Elite]) -> str:
        shown = [
            {
                "number": number,
                "strategy": elite.strategy,
                "speed": speed(elite),
                "what": character(elite),
                "changes": ", ".join(elite.changes),
                "diff": self._diff(elite.texts),
            }
            for number, elite in enumerate(elites, start=1)
        ]
        return self._text("elites", elites=shown)

    def _parent(self, parent: Elite | None) -> str:
        if parent is None:
            return self._text("parent", original=True)
        return self._text(
            "parent",
            original=False,
            strategy=parent.strategy,
            speed=speed(parent),
            what=character(parent),
            resources=self._resources(parent),
            changes=", ".join(parent.changes),
            regions=[_shown(region, parent.texts) for region in self._source.regions],
        )

    def _resources(self, parent: Elite) -> str:
        sheet = self._sheet
        found = occupancy(sheet.architecture, sheet.block_threads, parent.resources, sheet.dynamic_shared)
        return ", ".join(filter(None, (compared(parent.resources, self._original), str(found or ""))))

    def _request(self, sibling: Sibling, failures: Sequence[Verdict]) -> str:
        other = sibling.other
        return self._text(
            "request",
            operator=sibling.operator,
            hint=sibling.hint,
            other={"strategy": other.strategy, "speed": speed(other), "diff": self._diff(other.texts)} if other else {},
            failures=[{"strategy": each.strategy, "message": each.message} for each in failures[-FAILURES_SHOWN:]],
        )

    def _diff(self, texts: Mapping[str, str]) -> str:
        lines: list[str] = []
        for name, text in texts.items():
            before = self._texts.get(name, "").splitlines()
            lines += difflib.unified_diff(before, text.splitlines(), name, name, lineterm="", n=2)
        cut = [f"[{len(lines) - DIFF_LINES} more lines]"] if len(lines) > DIFF_LINES else []
        return "\n".join([*lines[:DIFF_LINES], *cut])

    def _text(self, template: str, **values: Any) -> str:
        return self._templates.get_template(f"{template}.j2").render(**values).strip()


def _environment() -> jinja2.Environment:
    """The templates. Raises R3Error without jinja2."""
    try:
        import jinja2
    except ImportError:
        raise R3Error("r3 remix needs jinja2: pip install 'r3cc[remix]'") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,
    )
    environment.filters["basename"] = lambda path: path.rsplit("/", 1)[-1]
    return environment


def speed(elite: Elite) -> str:
    """How fast, relative to the reference."""
    ratio = elite.ratio.median
    if elite.ratio.low <= 1 <= elite.ratio.high:
        return "as fast as the reference"
    factor, word = (1 / ratio, "faster") if ratio < 1 else (ratio, "slower")
    return f"{factor:.2f}x {word} than the reference"


def character(elite: Elite) -> str:
    """Its bins of every dimension, in words."""
    names = tuple(name for name, _ in elite.features.bins if _known(name, elite))
    cell = tuple(at for name, at in elite.features.bins if name in names)
    return describe(cell, names)


def compared(resources: Mapping[str, int], reference: Mapping[str, int]) -> str:
    """Resources that differ from the reference's, or matter anyway."""
    shown = []
    for name, value in sorted(resources.items()):
        if value != reference.get(name, 0) or name == "registers":
            shown.append(f"{name.replace('_', ' ')} {value} ({reference.get(name, 0)})")
    return ", ".join(shown)


def shared_prefix(one: str, other: str) -> float:
    """Part of ``other`` that ``one`` begins with as well, 0 to 1."""
    pairs = zip(one, other, strict=False)
    same = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    return same / len(other) if other else 0.0


def block_id(text: str) -> str:
    """A block's id in the log."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _known(name: str, elite: Elite) -> bool:
    return name != dimension("registers").name or "registers" in elite.resources


def _shown(region: Region, texts: Mapping[str, str]) -> dict[str, Any]:
    return {"name": region.name, "changed": region.name in texts, "text": texts.get(region.name, region.text)}
