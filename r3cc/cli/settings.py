"""Settings from ``r3.toml``: tables are the verbs, keys their long options (docs/settings.md).

They become click's ``default_map``, so that the command line and ``R3_…`` variables stand above them.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec

from r3cc.errors import UsageError
from r3cc.remix.prices import Price

DEFAULT_FILE = Path("r3.toml")
SHARED_OPTIONS = ("store", "device", "recording")
"""Options that may stand at the top of the file, for every verb that has them."""


NotNegative = Annotated[float, msgspec.Meta(ge=0)]


class KernelSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ``[[kernel]]`` entry: what holds for kernels whose name matches."""

    name: str
    """Regular expression, searched in the mangled and the demangled name."""
    rtol: NotNegative | None = None
    atol: NotNegative | None = None
    numerics: str | None = None
    skip: bool = False

    def matches(self, *names: str) -> bool:
        """Whether one of a kernel's names (mangled, demangled) matches."""
        return any(re.search(self.name, name) for name in names)


class Settings(msgspec.Struct, frozen=True):
    """What a settings file holds besides the verbs' defaults."""

    kernels: tuple[KernelSetting, ...] = ()
    prices: tuple[Price, ...] = ()
    """``[[price]]`` entries: what models cost that R3's own table doesn't have, or has wrong."""

    def for_kernel(self, *names: str) -> KernelSetting | None:
        """Settings of a kernel, given its names; of several matching entries the last one counts."""
        return next((entry for entry in reversed(self.kernels) if entry.matches(*names)), None)


def current_settings() -> Settings:
    """Settings of the running command; empty outside of one."""
    context = click.get_current_context(silent=True)
    return (context.find_object(Settings) if context else None) or Settings()


def install_settings(ctx: click.Context, config: str | None) -> None:
    """Read the settings file into ``ctx``; raises UsageError for unknown keys and bad values."""
    path = Path(config) if config is not None else DEFAULT_FILE
    if config is None and not path.is_file():
        ctx.obj = Settings()
        return
    document = _read(path)
    ctx.obj = Settings(
        kernels=_kernels(path, document.pop("kernel", [])), prices=_prices(path, document.pop("price", []))
    )
    ctx.default_map = _default_map(ctx, path, document)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from None
    except OSError as error:
        raise UsageError(f"cannot read the settings file {path}: {error.strerror}") from None


def _kernels(path: Path, entries: Any) -> tuple[KernelSetting, ...]:
    try:
        kernels = msgspec.convert(entries, tuple[KernelSetting, ...])
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: [[kernel]]: {error}") from None
    for entry in kernels:
        _check_kernel(path, entry)
    return kernels


def _prices(path: Path, entries: Any) -> tuple[Price, ...]:
    try:
        prices = msgspec.convert(entries, tuple[Price, ...])
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: [[price]]: {error}") from None
    for price in prices:
        amounts = (price.input, price.output, price.cache_read, price.cache_write)
        if not all(amount is None or amount >= 0.0 for amount in amounts):
            raise UsageError(f"{path}: [[price]] of {price.model}: prices are not negative")
    return prices


def _check_kernel(path: Path, entry: KernelSetting) -> None:
    try:
        re.compile(entry.name)
    except re.error as error:
        raise UsageError(f"{path}: [[kernel]] name '{entry.name}' is not a regular expression: {error}") from None
    if entry.numerics not in (None, "bitwise", "rounding", "approx"):
        raise UsageError(
            f"{path}: [[kernel]] numerics '{entry.numerics}' is unknown; it is bitwise, rounding or approx"
        )


def _default_map(ctx: click.Context, path: Path, document: dict[str, Any]) -> dict[str, Any]:
    group = ctx.command
    assert isinstance(group, click.Group)
    shared = {key: document.pop(key) for key in SHARED_OPTIONS if not isinstance(document.get(key, {}), dict)}
    defaults = _group_defaults(ctx, group, path, "", document)
    verb = ctx.invoked_subcommand or ""
    command = group.get_command(ctx, verb) if shared else None
    if command is not None:
        _share(ctx, command, path, defaults.setdefault(verb, {}), shared)
    return defaults


def _share(
    ctx: click.Context, command: click.Command, path: Path, defaults: dict[str, Any], shared: dict[str, Any]
) -> None:
    """Give ``command`` and those below it the file's shared values where they have none of their own."""
    options = _long_options(command)
    for key, value in shared.items():
        if key in options:
            _check_value(ctx, path, key, options[key], value)
            defaults.setdefault(str(options[key].name), value)
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            child = command.get_command(ctx, name)
            if child is not None:
                _share(ctx, child, path, defaults.setdefault(name, {}), shared)


def _group_defaults(
    ctx: click.Context, group: click.Group, path: Path, table: str, document: dict[str, Any]
) -> dict[str, Any]:
    defaults: dict[str, Any] = {}
    for key, value in document.items():
        command = group.get_command(ctx, key)
        if command is None or not isinstance(value, dict):
            where = f"[{table}]" if table else "at the top"
            raise UsageError(f"{path}: unknown key '{key}' {where}; tables are {', '.join(group.list_commands(ctx))}")
        defaults[key] = _command_defaults(ctx, command, path, f"{table}.{key}" if table else key, value)
    return defaults


def _command_defaults(
    ctx: click.Context, command: click.Command, path: Path, table: str, values: dict[str, Any]
) -> dict[str, Any]:
    options = _long_options(command)
    own = {key: value for key, value in values.items() if key in options}
    rest = {key: value for key, value in values.items() if key not in options}
    if rest and not isinstance(command, click.Group):
        raise UsageError(
            f"{path}: unknown key '{next(iter(rest))}' in [{table}]; keys are {', '.join(sorted(options)) or 'none'}"
        )
    defaults = _group_defaults(ctx, command, path, table, rest) if isinstance(command, click.Group) else {}
    for key, value in own.items():
        _check_value(ctx, path, f"{table}.{key}", options[key], value)
        defaults[str(options[key].name)] = value
    return defaults


def _long_options(command: click.Command) -> dict[str, click.Option]:
    """Long options without dashes; `--a/--no-a` counts as ``a``."""
    return {
        spelling[2:]: parameter
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.is_eager
        for spelling in parameter.opts
        if spelling.startswith("--")
    }


def _check_value(ctx: click.Context, path: Path, key: str, option: click.Option, value: Any) -> None:
    try:
        option.type_cast_value(ctx, value)
    except (click.BadParameter, TypeError) as error:
        message = error.message if isinstance(error, click.BadParameter) else str(error)
        raise UsageError(f"{path}: {key} = {value!r}: {message}") from None
