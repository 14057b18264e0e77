"""Tokens counted from characters, where nobody says how many there were."""

from __future__ import annotations

from r3cc.remix.model import TokenUsage

USUAL_TOKEN = 3.5
"""Characters of a token of source code, for servers that report no usage."""


def estimated_usage(prompt: str, answer: str) -> TokenUsage:
    """Tokens counted from characters."""
    return TokenUsage(uncached=_tokens(prompt), output=_tokens(answer), estimated=True)


def _tokens(text: str) -> int:
    return round(len(text) / USUAL_TOKEN) + 1 if text else 0
