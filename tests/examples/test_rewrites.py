"""Rewrites of weather's flux differences: honest ones pass, and what only looks like rounding does not.

Fluxes of 1e5 Pa leave tendencies of 1e-2: rounding is a thousand times what a double's tolerance allows.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from r3cc.farm import EvaluatorSettings
from r3cc.farm.local import LocalEvaluator
from r3cc.remix.model import Rejection
from r3cc.remix.source import ModuleSource, StoreSourceBuilder
from r3cc.replay.model import Candidate, Numerics, TimingPlan
from r3cc.store import Store
from tests.examples.programs import Example, r3
from tests.replay.cpu_kernels import built

pytestmark = pytest.mark.skipif(
    not (built("libr3cpu.so") and built("libR3Passes.so")), reason="libr3cpu.so and libR3Passes.so are not built"
)

WEATHER = Example("weather/weather.cu", ("64", "12"), {})
PLAN = TimingPlan(warmups=0, samples=1, held_out=True, perturbed=True)
WAIT_S = 120

PRESSURE = "flux.value[normal] += 0.5 * (pressure_low + pressure_high) - pressure;"
POWER = "pow(heat * kGasConstant / kSurfacePressure, kGamma)"
WAVE = "flux.value[v] -= 0.5 * wave * (high.value[v] - low.value[v]);"
CHANGE = "(below.value[v] - above.value[v]) / grid.dz"

HONEST = {
    "deviations of pressure first": (
        PRESSURE,
        "flux.value[normal] += 0.5 * ((pressure_low - pressure) + (pressure_high - pressure));",
    ),
    "half pressures one by one": (
        PRESSURE,
        "flux.value[normal] = flux.value[normal] + 0.5 * pressure_low + 0.5 * pressure_high - pressure;",
    ),
    "power by logarithm": (POWER, "exp(kGamma * log(heat * (kGasConstant / kSurfacePressure)))"),
}

ERRORS = {
    "fluxes in float": (CHANGE, "((float)below.value[v] - (float)above.value[v]) / grid.dz"),
    "differences in float": (CHANGE, "(float)(below.value[v] - above.value[v]) / grid.dz"),
    "no small differences": (
        CHANGE,
        "(fabs(below.value[v] - above.value[v]) < 1e-8 ? 0.0 : below.value[v] - above.value[v]) / grid.dz",
    ),
    "no waves": (WAVE, ""),
    "waves in float": (WAVE, "flux.value[v] -= 0.5f * (float)wave * (float)(high.value[v] - low.value[v]);"),
    "gravity in float": ("kGravity * state[at]", "9.81f * state[at]"),
    "nothing": (f"tendency[grid.tendency(v, k, i)] += {CHANGE};", ""),
    "the face below for both": (
        "face_flux(state, grid.plane(), at + up, up, kMomentumZ, background.face_density[k + 1]",
        "face_flux(state, grid.plane(), at, up, kMomentumZ, background.face_density[k + 1]",
    ),
}


@pytest.fixture(scope="module")
def recording(build, tmp_path_factory):
    store = tmp_path_factory.mktemp("rewrites") / "r3-store"
    recorded = r3("record", "--device", "cpu", "--", str(build(WEATHER)), *WEATHER.arguments, store=store)
    assert recorded.returncode == 0, recorded.stderr
    return store


@pytest.fixture(scope="module")
def judge(recording):
    with judge_of(recording, "tendencies_z") as judged:
        yield judged


@contextmanager
def judge_of(store, name):
    """Builds and judges a change of a kernel's text."""
    with Store.open(store) as opened:
        kernel = opened.find_kernel(name, None)
        with ModuleSource.open(opened, kernel.module) as module:
            builder = StoreSourceBuilder(store, kernel, module)

            def variant(old, new):
                texts = {each.name: each.text.replace(old, new) for each in builder.source.regions if old in each.text}
                assert texts, "the rewrite does not fit the example any more"
                made = builder.build(texts)
                assert not isinstance(made, Rejection), made
                return Candidate(variant=made.variant.id)

            def evaluator(numerics=Numerics.ROUNDING):
                settings = EvaluatorSettings(numerics=numerics, compile_processes=1, probes=2)
                return LocalEvaluator.open(opened, kernel, None, settings)

            with evaluator() as rounding:
                assert rounding.baseline().allowances == ()

                def judged(change, numerics=Numerics.ROUNDING):
                    if numerics is Numerics.ROUNDING:
                        return rounding.submit(variant(*change), PLAN).result(WAIT_S)
                    with evaluator(numerics) as other:
                        return other.submit(variant(*change), PLAN).result(WAIT_S)

                yield judged


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_rewrite_passes_by_the_kernels_own_sensitivity(judge, name):
    found = judge(HONEST[name])
    assert found.status == "ok", found.message
    assert [each.element for each in found.allowances] == ["double"]
    assert found.allowances[0].count > 0 and found.allowances[0].times > 1


@pytest.mark.parametrize("name", ERRORS)
def test_what_is_no_rounding_is_a_mismatch(judge, name):
    found = judge(ERRORS[name])
    assert found.status == "mismatch", found
    assert found.mismatches


def test_terms_that_come_from_one_input_are_no_obstacle(recording):
    with judge_of(recording, "tendencies_x") as judge:
        for name, change in HONEST.items():
            assert judge(change).status == "ok", name
        assert judge(ERRORS["no waves"]).status == "mismatch"
        in_float = ("west.value[v] - east.value[v]", "(float)(west.value[v] - east.value[v])")
        assert judge(in_float).status == "mismatch"


def test_bitwise_refuses_honest_rewrites(judge):
    assert judge(HONEST["deviations of pressure first"], Numerics.BITWISE).status == "mismatch"
