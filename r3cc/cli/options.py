"""Options and value types that several verbs share."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import click

from r3cc.cli.output import DEFAULT_STORE
from r3cc.errors import UsageError
from r3cc.store.model import Dim3

DEVICE = re.compile(r"cpu|(cuda|hip):\d+|cuda:\*")
SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Duration(click.ParamType[float]):
    """``90s``, ``15m``, ``2h``; converts to seconds (float)."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds of a text with its unit."""
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)", str(value))
        if match is None:
            self.fail(f"'{value}' is not a duration such as 90s, 15m or 2h", param, ctx)
        seconds = float(match[1]) * SECONDS[match[2]]
        if not 0 < seconds < math.inf:
            self.fail(f"'{value}' is no time to wait or work; durations are such as 90s, 15m or 2h", param, ctx)
        return seconds


class NonNegative(click.FloatRange):
    """A number from 0 on; ``nan``, with which every comparison is false, is none."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"'{value}' is not a number", param, ctx)
        return number


class Size(click.ParamType[int]):
    """``512M``, ``20G``; converts to bytes (int), with binary units."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Bytes of a text with its unit."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?", str(value))
        if match is None:
            self.fail(f"'{value}' is not a size such as 512M or 20G", param, ctx)
        return int(float(match[1]) * BYTES[match[2]])


class Dimensions(click.ParamType[Dim3]):
    """``256``, ``16,16`` or ``8,8,4``; converts to three positive integers."""

    name = "x,y,z"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Dim3:
        """Three extents, missing ones 1."""
        text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*){0,2}", text):
            self.fail(f"'{text}' is not one to three positive numbers such as 256 or 16,16,1", param, ctx)
        x, y, z = ([int(part) for part in text.split(",")] + [1, 1])[:3]
        return x, y, z


class DeviceName(click.ParamType[str]):
    """``cpu``, ``cuda:N`` or ``hip:N``."""

    name = "device"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name itself, once it is well formed."""
        if not DEVICE.fullmatch(str(value)):
            self.fail(f"'{value}' is not a device; devices are cpu, cuda:0, cuda:1, …, hip:0, …", param, ctx)
        return str(value)


store_option = click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="R3_STORE",
    default=DEFAULT_STORE,
    show_default=True,
    help="Capture store.",
)
"""Passes ``store: Path``."""

device_option = click.option(
    "--device", type=DeviceName(), envvar="R3_DEVICE", help="Device: cpu, cuda:N or hip:N.  [default: the recording's]"
)
"""Passes ``device: str | None``."""

rtol_option = click.option("--rtol", type=NonNegative(), help="Relative tolerance for floating-point elements.")
"""Passes ``rtol: float | None``."""

atol_option = click.option("--atol", type=NonNegative(), help="Absolute tolerance for floating-point elements.")
"""Passes ``atol: float | None``."""

recording_option = click.option("--recording", metavar="ID", help="Recording to work on.  [default: the latest]")
"""Passes ``recording: str | None``."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
"""Passes ``as_json: bool``."""


def codegen_pairs(given: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """``KEY=VALUE`` texts as sorted pairs. Raises UsageError for what is not of that form."""
    pairs = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"--codegen '{text}' is not KEY=VALUE, such as opt-level=2")
        pairs[key] = value
    return tuple(sorted(pairs.items()))
