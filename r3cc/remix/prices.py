"""What tokens cost: a table that users extend, frozen into the run that used it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib import resources
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from r3cc.remix.model import Prompt, TokenUsage

MILLION = 1_000_000
SHORTEST_TOKEN = 2
"""Characters a token has at least, on average over a prompt: for what can't be counted beforehand."""


_DATED = r"{}([-@:](\d{{4}}-?\d{{2}}-?\d{{2}}|latest))?"


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ``[[price]]`` entry: US dollars per million tokens of the models whose name begins with ``model``."""

    model: str
    input: float
    output: float
    cache_read: float | None = None
    """None: as input."""
    cache_write: float | None = None
    """None: as input."""

    def cost_usd(self, usage: TokenUsage) -> float:
        """What an answer with this usage costs."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        tokens = (
            usage.uncached * self.input
            + usage.cache_read * read
            + usage.cache_write * write
            + usage.output * self.output
        )
        return tokens / MILLION

    def worst_cost_usd(self, prompt: Prompt) -> float:
        """The most that one answer can cost: nothing cached yet, all of the output used."""
        tokens = len(prompt.text) // SHORTEST_TOKEN + 1
        dearest = max(self.input, self.cache_write or 0.0)
        return (tokens * dearest + prompt.max_output_tokens * self.output) / MILLION


FREE = Price(model="", input=0.0, output=0.0)
"""A server on this machine, unless the user gave a price."""


class PriceTable(msgspec.Struct, frozen=True):
    """Prices by the beginning of a model's name."""

    prices: tuple[Price, ...] = ()

    def find(self, model: str) -> Price | None:
        """The longest entry that ``model`` begins with, of equal ones the last; None when there is none.

        Only a date may follow the entry: ``gpt-5`` is a price of ``gpt-5-2025-08-07``, not of ``gpt-5-pro``.
        """
        fitting = [price for price in self.prices if re.fullmatch(_DATED.format(re.escape(price.model)), model)]
        return max(enumerate(fitting), key=lambda each: (len(each[1].model), each[0]))[1] if fitting else None

    def extended(self, own: Iterable[Price]) -> PriceTable:
        """This table with a user's entries above it."""
        return PriceTable((*self.prices, *own))


def builtin_prices() -> PriceTable:
    """The table that comes with R3."""
    text = resources.files("r3cc.remix").joinpath("prices.toml").read_text(encoding="utf-8")
    return msgspec.convert({"prices": tomllib.loads(text)["price"]}, PriceTable)
