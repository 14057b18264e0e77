"""What a provider's refusal means, for both SDKs: status codes, transport errors, broken streams."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping

from r3cc.remix.model import FailureKind, ProposerError
from r3cc.remix.proposers.redaction import one_line

_BY_STATUS = {408: FailureKind.UNREACHABLE, 409: FailureKind.OVERLOADED, 429: FailureKind.RATE_LIMITED}
_BY_WORD = {
    "insufficient_quota": FailureKind.BAD_REQUEST,
    "overloaded_error": FailureKind.OVERLOADED,
    "rate_limit_error": FailureKind.RATE_LIMITED,
    "api_error": FailureKind.OVERLOADED,
}
"""Names of errors that say more than the status: the stream that carries them began with 200."""


def status_failure(status: int, message: str, headers: Mapping[str, str], body: object) -> ProposerError:
    """A status answer, or an error inside a stream."""
    kind = _kind_of_body(body) or _BY_STATUS.get(status)
    if kind is None:
        kind = FailureKind.OVERLOADED if status >= 500 or status < 400 else FailureKind.BAD_REQUEST
    return ProposerError(kind, one_line(f"{status}: {message}"), retry_after_s(headers))


def transport_failure(error: Exception) -> ProposerError:
    """No connection, or one that broke."""
    cause = error.__cause__ or error
    return ProposerError(FailureKind.UNREACHABLE, one_line(f"{type(cause).__name__}: {cause}"))


def broken_answer(error: Exception) -> ProposerError:
    """An answer that is not of the wire format."""
    return ProposerError(FailureKind.INVALID, one_line(f"the server's answer cannot be read: {error}"))


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that the provider asks to be left alone, from ``retry-after-ms`` or ``retry-after``."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            return max(0.0, float(value) * unit)
        except ValueError:
            return _until(value)
    return None


def _until(date: str) -> float | None:
    try:
        return max(0.0, email.utils.parsedate_to_datetime(date).timestamp() - time.time())
    except ValueError:
        return None


def _kind_of_body(body: object) -> FailureKind | None:
    error = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return None
    return next((kind for key in ("type", "code") if (kind := _BY_WORD.get(str(error.get(key))))), None)
