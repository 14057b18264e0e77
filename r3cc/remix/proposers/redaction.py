"""Text from outside, made fit for the log: no keys, one line, not long."""

from __future__ import annotations

import os
import re

KEY_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "R3_LLM_KEY")
LONGEST = 300
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|key|tok)[-_][\w*.-]{6,}|Bearer\s+\S+", re.IGNORECASE)


def without_keys(text: str) -> str:
    """``text`` with the values of key variables replaced."""
    for value in filter(None, map(os.environ.get, KEY_VARIABLES)):
        text = text.replace(value, "[key]")
    return text


def without_secrets(text: str) -> str:
    """``text`` with the values of key variables, and what looks like a key, replaced."""
    return _LOOKS_LIKE_A_KEY.sub("[key]", without_keys(text))


def one_line(text: str) -> str:
    """``text`` without secrets, as one line of at most 300 characters."""
    line = " ".join(without_secrets(text).split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
