"""Tokens counted from characters, where nobody says how many there were."""

from __future__ import annotations

from r3cc.remix.model import Answer, Prompt, TokenUsage
from r3cc.remix.prices import SHORTEST_TOKEN

USUAL_TOKEN = 3.5
"""Characters of a token of source code, for servers that report no usage."""


def estimated_usage(prompt: str, answer: str) -> TokenUsage:
    """Tokens counted from characters."""
    return TokenUsage(uncached=_tokens(prompt), output=_tokens(answer), estimated=True)


def estimated_answer(prompt: Prompt, text: str, model: str, seconds: float) -> Answer:
    """An answer that came all at once, from somebody who counts no tokens."""
    usage = estimated_usage(prompt.text, text)
    return Answer(text=text, model=model, usage=usage, first_token_s=seconds, total_s=seconds)


def most_tokens(prompt: Prompt) -> int:
    """An upper bound of the tokens that one answer takes."""
    return len(prompt.text) // SHORTEST_TOKEN + 1 + prompt.max_output_tokens


def _tokens(text: str) -> int:
    return round(len(text) / USUAL_TOKEN) + 1 if text else 0
