"""``r3 check``: a profile on the recorded launches, for CI and for lit."""

from __future__ import annotations

from pathlib import Path

import click

from r3cc.apply.profile import read_profile
from r3cc.apply.recheck import Checked, Demand, Verdict, replay
from r3cc.apply.recheck import check as recheck
from r3cc.cli.options import NonNegative, device_option, json_option, recording_option, store_option
from r3cc.cli.output import counted, print_json, say, system_error
from r3cc.errors import R3Error, UsageError
from r3cc.store import Store

EXIT = {Verdict.GOOD: 0, Verdict.MISMATCH: 1, Verdict.SLOWER: 3, Verdict.NOT_RUN: 4}
WORST_FIRST = (Verdict.MISMATCH, Verdict.NOT_RUN, Verdict.SLOWER, Verdict.GOOD)


@click.command()
@store_option
@recording_option
@device_option
@click.option(
    "--profile",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("tuned.r3.json"),
    show_default=True,
    help="Profile that `r3 apply` wrote.",
)
@click.option("--min-speedup", type=NonNegative(), default=1.0, show_default=True, help="Least speedup.")
@click.option("--threshold", type=NonNegative(), help="Least part of the profile's own speedup, such as 0.9.")
@click.option("--samples", type=click.IntRange(min=1), default=8, show_default=True, help="Timed blocks of two pairs.")
@json_option
@click.pass_context
def check(
    ctx: click.Context,
    store: Path,
    recording: str | None,
    device: str | None,
    profile: Path,
    min_speedup: float,
    threshold: float | None,
    samples: int,
    as_json: bool,
) -> None:
    """Replay the recorded launches, held-out ones too, with a profile's kernels.

    Says nothing when all is well. A speedup is lost when its whole interval lies below what is wanted. Exit status: 0
    good, 1 mismatch, 2 usage, 3 lost speedup, 4 could not run.
    """
    content = read_profile(profile)
    if not content.kernels:
        raise UsageError(f"the profile {profile} names no kernel; `r3 apply -o {profile.name}` writes one that does")
    try:
        with Store.open(store) as opened:
            judge = replay(opened, recording, device, samples)
            found = list(recheck(opened, recording, content, judge, Demand(min_speedup, threshold)))
    except UsageError:
        raise
    except (R3Error, OSError) as error:
        say(system_error(error) if isinstance(error, OSError) else str(error))
        ctx.exit(EXIT[Verdict.NOT_RUN])
    if as_json:
        print_json({"profile": str(profile), "kernels": found})
    _say_bad(found)
    ctx.exit(EXIT[min((each.verdict for each in found), key=WORST_FIRST.index)])


def _say_bad(found: list[Checked]) -> None:
    bad = [each for each in found if each.verdict is not Verdict.GOOD]
    for each in bad:
        say(f"{each.demangled}: {each.verdict}: {each.message}")
    if bad:
        say(f"{len(bad)} of {counted(len(found), 'kernel')} failed the check")
