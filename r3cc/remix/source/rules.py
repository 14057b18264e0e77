"""What a rewrite's text may hold, told from its tokens before any compiler sees it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from r3cc.remix.model import Rejection, Stage
from r3cc.remix.source.declarations import check_declarations
from r3cc.remix.source.tokens import Kind, Token, tokens

_ASSEMBLY = frozenset({"asm", "__asm", "__asm__"})
_READS_FILES = frozenset(
    {
        *("__has_include", "__has_include_next", "__has_embed", "__FILE__", "__FILE_NAME__", "__BASE_FILE__"),
        *("__INCLUDE_LEVEL__", "__builtin_FILE", "__builtin_FILE_NAME", "import", "__import", "module"),
    }
)
_PREPROCESSOR = frozenset({"_Pragma", "__pragma", "__DATE__", "__TIME__", "__TIMESTAMP__", "__COUNTER__"})
_CALLS_FOR_MORE = frozenset({"malloc", "free", "new", "delete", "cudaMalloc", "cudaFree", "cudaLaunchDevice"})
_HIDDEN_ATTRIBUTES = frozenset({"__location__", "__annotate__", "__declspec"})
"""What CUDA's headers make attributes of; ``__location__(host)`` is ``__host__``."""
_ATTRIBUTES = frozenset(
    {
        *("aligned", "align", "always_inline", "noinline", "flatten", "hot", "cold", "pure", "const", "nothrow"),
        *("unused", "maybe_unused", "nodiscard", "noreturn", "packed", "may_alias", "assume", "assume_aligned"),
        *("likely", "unlikely", "fallthrough", "vector_size", "ext_vector_type", "gnu", "clang"),
    }
)
"""Those that are of the code alone: not what it is called, where it lies, or who runs it."""
_REASONS = (
    (_ASSEMBLY, "inline_assembly", "inline assembly is not allowed; use the language and CUDA's intrinsics"),
    (_READS_FILES, "reads_files", "a kernel must not look at files or at its own name"),
    (_PREPROCESSOR, "preprocessor", "the preprocessor is not to be used this way; write `#pragma unroll` plainly"),
    (_CALLS_FOR_MORE, "allocation", "device-side allocation and launches are not allowed"),
    (_HIDDEN_ATTRIBUTES, "attribute", "write `__device__` and the like plainly"),
)
"""Words, the reason to count, and why they are not allowed."""

_PRAGMAS = re.compile(r"#pragma (?:unroll|nounroll|clang loop)\b[\w\s(),+*-]*")
_CONDITIONS = re.compile(r"#(?:if|ifdef|ifndef|elif|else|endif)\b.*", re.DOTALL)
_PLAIN_CONDITIONS = re.compile(
    r"#(?:(?:if|elif)\b[^\w$]*(?:\d[^\w$]*)*|(?:if|elif)\b.*\bR3_PARAM\b.*|else|endif)", re.DOTALL
)
"""Those that no compiler sees otherwise than another one; a parameter becomes a number."""
_MOST_BYTES = 200_000
_DEEPEST = 200
_PAIRS = {")": "(", "]": "[", "}": "{"}


def check_text(name: str, text: str, original: str) -> Rejection | None:
    """Why a region's new text may not be compiled; None if it may. What the original holds is allowed as often."""
    if len(text) > _MOST_BYTES:
        return _rejection("too_long", f"The text of '{name}' has more than {_MOST_BYTES} characters.")
    if not _is_text(text):
        return _rejection("strange_text", f"The text of '{name}' holds characters that no file can hold.")
    found = list(tokens(text))
    known = list(tokens(original))
    return (
        _check_directives(name, found, known)
        or _check_tokens(name, found, known)
        or _check_conditions(name, found, known)
        or _check_balance(name, found)
        or check_declarations(name, found, known)
        or _check_attributes(name, found, known)
    )


def _is_text(text: str) -> bool:
    """Whether it can be written to a file: half a surrogate pair cannot."""
    try:
        return bool(text.encode(errors="surrogateescape"))
    except UnicodeEncodeError:
        return False


def _check_tokens(name: str, found: Sequence[Token], known: Sequence[Token]) -> Rejection | None:
    allowed = Counter(token.text for token in _words(known))
    for token in _words(found):
        if token.kind is Kind.STRANGE and token.text not in allowed:
            return _rejection("strange_text", f"'{name}' holds {token.text[:20]!r}, which R3 takes in no kernel.")
        for words, reason, why in _REASONS:
            if token.text in words and token.kind is Kind.WORD:
                allowed[token.text] -= 1
                if allowed[token.text] < 0:
                    return _rejection(reason, f"'{name}' uses `{token.text}`: {why}.")
    return None


def _check_attributes(name: str, found: Sequence[Token], known: Sequence[Token]) -> Rejection | None:
    own = {*_attribute_words(known)}
    for word in _attribute_words(found):
        if word.strip("_") not in _ATTRIBUTES and word not in own:
            return _rejection("attribute", f"'{name}' has the attribute `{word[:40]}`, which R3 takes in no kernel.")
    return None


def _attribute_words(found: Sequence[Token]) -> Iterator[str]:
    """Names in ``__attribute__((…))`` and ``[[…]]``, without what is given to them."""
    opened = 0
    for at, token in enumerate(found):
        if opened or _begins_attribute(found, at):
            opened += (token.text in "([") - (token.text in ")]")
            if opened == 2 and token.kind is Kind.WORD:
                yield token.text


def _begins_attribute(found: Sequence[Token], at: int) -> bool:
    if found[at].text == "[":
        return at + 1 < len(found) and found[at + 1].text == "["
    return found[at].text == "(" and at > 0 and found[at - 1].text in ("__attribute__", "__attribute")


def _words(found: Sequence[Token]) -> Iterator[Token]:
    """Tokens, those inside of directives among them."""
    for token in found:
        if token.kind is Kind.DIRECTIVE:
            yield from (each for each in tokens(token.text[1:]) if each.kind is Kind.WORD)
        else:
            yield token


def _check_directives(name: str, found: Sequence[Token], known: Sequence[Token]) -> Rejection | None:
    own = {token.text for token in known if token.kind is Kind.DIRECTIVE}
    depth = 0
    for token in found:
        if token.kind is not Kind.DIRECTIVE:
            continue
        if not (token.text in own or _PRAGMAS.fullmatch(token.text) or _CONDITIONS.fullmatch(token.text)):
            reason = "include" if re.match(r"#(include|import|embed)", token.text) else "directive"
            allowed = "only `#pragma unroll` and conditions are allowed, and the lines that were there before"
            return _rejection(reason, f"'{name}' has the line `{token.text[:80]}`: {allowed}.")
        depth += _depth_change(token.text)
        if depth < 0:
            break
    return _rejection("unbalanced", f"'{name}' does not close its preprocessor conditions.") if depth else None


def _check_conditions(name: str, found: Sequence[Token], known: Sequence[Token]) -> Rejection | None:
    """The host's compiler reads the text as well, and must not find another one there."""
    own = {token.text for token in known}
    for token in found:
        named = _CONDITIONS.fullmatch(token.text) and not _PLAIN_CONDITIONS.fullmatch(token.text)
        if token.kind is Kind.DIRECTIVE and named and token.text not in own:
            return _rejection(
                "condition", f"'{name}' has the line `{token.text[:80]}`: a condition may ask for numbers."
            )
    return None


def _depth_change(directive: str) -> int:
    if re.match(r"#(if|ifdef|ifndef)\b", directive):
        return 1
    return -1 if re.match(r"#endif\b", directive) else 0


def _check_balance(name: str, found: Sequence[Token]) -> Rejection | None:
    """A region that closes what it did not open would reach the text around it."""
    if any(_CONDITIONS.match(token.text) for token in found if token.kind is Kind.DIRECTIVE):
        return None  # branches may repeat an opening brace; the compiler tells
    opened: list[str] = []
    for token in found:
        if token.kind is not Kind.SIGN:
            continue
        if token.text in _PAIRS.values():
            opened.append(token.text)
        elif token.text in _PAIRS and (not opened or opened.pop() != _PAIRS[token.text]):
            return _rejection("unbalanced", f"'{name}' closes a `{token.text}` that it did not open.")
        if len(opened) > _DEEPEST:
            return _rejection("too_deep", f"'{name}' nests more than {_DEEPEST} brackets.")
    if opened:
        return _rejection("unbalanced", f"'{name}' does not close a `{opened[-1]}`: was the text cut?")
    return None


def _rejection(reason: str, message: str) -> Rejection:
    return Rejection(Stage.REGIONS, reason, message)
