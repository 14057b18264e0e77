"""The ``r3`` command: one module a verb; each parses, calls and prints."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import r3cc
from r3cc.cli.output import say, system_error
from r3cc.cli.settings import install_settings
from r3cc.errors import R3Error

VERBS = {
    "record": "Run an application and record launches of its kernels.",
    "ls": "List kernels by their share of device time.",
    "show": "Show one kernel: launches, arguments, memory, IR, PTX.",
    "replay": "Judge one candidate of a kernel on its recorded launches.",
    "tune": "Search pipelines, code generation and launch shapes.",
    "remix": "Rewrite the source of kernels; replay judges.",
    "report": "Report what a search found.",
    "apply": "Write the winners of a search into a profile for the next build.",
    "check": "Check a profile on the recorded launches.",
    "bench": "Time the plain and the tuned application, whole commands in turn.",
    "store": "List, remove, verify, clean, export and import recordings.",
    "strip": "Take out of a binary what R3 put into it.",
    "doctor": "Show the tools that R3 found, and what is missing.",
}
"""Verb and one-line help. Module ``r3cc.cli.<verb>`` holds a click command called ``<verb>``."""

INTERRUPTED = 130


class VerbGroup(click.Group):
    """Loads a verb's module when the verb is used, and turns errors into one sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Verbs in the order in which a user meets them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one verb."""
        if cmd_name not in VERBS:
            return None
        command = getattr(importlib.import_module(f"r3cc.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def main(  # type: ignore[override]  # click overloads it by standalone_mode; one signature serves both
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **options: Any
    ) -> Any:
        """Run; in standalone mode exit with a status, and show bad input as ``r3: <sentence>``."""
        if not options.pop("standalone_mode", True):
            return super().main(args, prog_name, standalone_mode=False, **options)
        sys.exit(self._run(args, prog_name, options))

    def _run(self, args: Sequence[str] | None, prog_name: str | None, options: dict[str, Any]) -> int:
        try:
            status = super().main(args, prog_name, standalone_mode=False, **options)
        except R3Error as error:
            say(str(error))
            return error.exit_status
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            return error.exit_code
        except click.ClickException as error:
            say(_sentence(error))
            return error.exit_code
        except (click.Abort, KeyboardInterrupt):
            return INTERRUPTED
        except OSError as error:
            say(system_error(error))
            return R3Error.exit_status
        return status if isinstance(status, int) else 0


def _sentence(error: click.ClickException) -> str:
    """Click's message, and where to read about the verb that it concerns."""
    message = error.format_message()
    if isinstance(error, click.UsageError) and error.ctx is not None:
        message = f"{message.rstrip('.')} (see `{error.ctx.command_path} --help`)"
    return message


@click.group(cls=VerbGroup, context_settings={"auto_envvar_prefix": "R3", "help_option_names": ["-h", "--help"]})
@click.option(
    "--config",
    type=click.Path(dir_okay=False),
    envvar="R3_CONFIG",
    help="Settings file.  [default: r3.toml in the working directory, if there is one]",
)
@click.version_option(r3cc.__version__, message="r3 %(version)s")
@click.pass_context
def r3(ctx: click.Context, config: str | None) -> None:
    """Record, remix and replay GPU kernels of an existing application to make it faster."""
    try:
        Path.cwd()
    except FileNotFoundError:
        raise R3Error("the working directory has been deleted: go to one that is there") from None
    install_settings(ctx, config)


def main() -> None:
    """Entry point of the ``r3`` program."""
    r3.main(prog_name="r3")
