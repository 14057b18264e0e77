"""What a search says of itself on standard error."""

from __future__ import annotations

import pytest

from r3cc.cli.progress import Progress
from r3cc.replay.events import KernelPlan
from r3cc.tune.budget import Cost


@pytest.mark.parametrize(
    ("plan", "name"),
    [
        (
            KernelPlan("id", "m", "_Z1kPd", "void ns::k<int>(double*)", 0.5, "rounding", changes_module=True),
            "ns::k<int>",
        ),
        (KernelPlan("m", "m", "", "module-scope values", 0.5, "rounding", changes_module=True), "module-scope values"),
    ],
)
def test_what_is_searched_is_named(plan: KernelPlan, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Progress().opened(plan, Cost(30.0, 20.0), 0.0)
    assert capsys.readouterr().err.startswith(f"r3: {name}: opened in 30 s")
