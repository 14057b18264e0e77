"""``r3 replay`` on a store, from the words on the command line to what is printed."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from r3cc.cli import r3
from r3cc.replay.model import Status
from r3cc.store import Store
from tests.replay.cpu_kernels import built
from tests.replay.modules import bitcode, module_info
from tests.replay.sources import SAXPY
from tests.store.pack_writer import PackWriter, add_recording

pytestmark = pytest.mark.skipif(
    not (built("libr3cpu.so") and built("libR3Passes.so")), reason="libr3cpu.so and libR3Passes.so are not built"
)
COUNT = 1000
X, Y = 0x600000000000, 0x600000010000


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replay") / "r3-store"
    with Store.create(folder):
        pack = PackWriter(add_recording(folder) / "node1-4242-1.r3pack")
        pack.process()
        module = bitcode(SAXPY)
        info = module_info(module)
        pack.module(module, **info)
        x, y = np.linspace(0.0, 1.0, COUNT), np.full(COUNT, 2.0)
        before, after = pack.image(y.tobytes()), pack.image((3.0 * x + y).tobytes())
        only_read = pack.image(x.tobytes())
        pointers = np.array([X, Y], np.uint64).tobytes()
        shape = {"grid": [4, 1, 1], "block": [256, 1, 1], "shared": 0}
        pack.launch(
            info["module"],
            "saxpy",
            arguments=(np.array([COUNT, 0], np.int32).tobytes() + np.array([3.0]).tobytes() + pointers).hex(),
            parameters=[{"offset": offset, "size": size} for offset, size in ((0, 4), (8, 8), (16, 8), (24, 8))],
            regions=[
                {"address": f"{X:#x}", "size": x.nbytes, "before": only_read, "after": only_read},
                {"address": f"{Y:#x}", "size": y.nbytes, "before": before, "after": after},
            ],
            **shape,
        )
        pack.kernel(info["module"], "saxpy", shapes=[shape | {"launches": 10, "total_ns": 1000}])
        pack.kernel(info["module"], "unrecorded", recorded=0, not_recordable=[{"reason": "textures", "launches": 1}])
        pack.end()
    return folder


@pytest.fixture
def replay(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        line = ["replay", "--store", str(store), *arguments]
        return CliRunner().invoke(r3, line, catch_exceptions=False, prog_name="r3")

    return call


def test_a_valid_candidate_is_a_document_and_success(replay):
    done = replay("saxpy", "--passes", "default<O2>", "--block", "64", "--samples", "3", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["status"] == "ok" and found["device"] == "cpu" and len(found["object_hash"]) == 64
    assert found["validation"] == {"launches": 1, "mismatches": [], "allowances": []}
    for times in ("time_ns", "baseline_ns", "ratio"):
        assert found[times]["low"] <= found[times]["median"] <= found[times]["high"]
    assert found["candidate"]["launch"]["block"] == [64, 1, 1]


def test_the_table_names_status_and_times(replay):
    done = replay("saxpy", "--samples", "3")
    assert done.exit_code == 0
    for part in ("status", "ok", "baseline", "candidate / baseline", "as recorded"):
        assert part in done.stdout


def test_a_mismatch_is_no_success_and_says_where(replay):
    done = replay("saxpy", "--grid", "1", "--json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["status"] == Status.MISMATCH
    assert found["validation"]["mismatches"][0]["where"].startswith(f"{Y:#x}+")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("saxpy", "--passes", "defalt<O1>"), "defalt"),
        (("saxpy", "--block", "2048"), "2048 threads"),
        (("saxpy", "--block", "0"), "0"),
        (("saxpy", "--codegen", "opt-level"), "KEY=VALUE"),
        (("saxpy", "--codegen", "opt-level=9"), "opt-level"),
        (("saxpy", "--device", "cuda:0"), "recorded on cpu"),
        (("saxpy", "--device", "gpu"), "gpu"),
        (("unrecorded",), "textures"),
        (("absent",), "absent"),
    ],
)
def test_bad_input_is_one_sentence_and_no_success(replay, arguments, part):
    done = replay(*arguments)
    assert done.exit_code not in (0, None)
    assert part in done.stderr
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("r3: ")


def test_settings_of_a_kernel_count(replay, tmp_path):
    (tmp_path / "r3.toml").write_text('[[kernel]]\nname = "saxpy"\nnumerics = "approx"\n')
    done = replay("saxpy", "--samples", "3", "--json")
    assert json.loads(done.stdout)["numerics"] == "approx"
    done = replay("saxpy", "--samples", "3", "--numerics", "bitwise", "--json")
    assert json.loads(done.stdout)["numerics"] == "bitwise"


def test_a_variant_is_named_in_the_table_and_one_that_is_not_there_is_rejected(replay, store):
    folder = store / "variants"
    folder.mkdir(exist_ok=True)
    (folder / "0123456789abcdef.bc").write_bytes(bitcode(SAXPY.replace("a * x[i] + y[i]", "y[i] + x[i] * a")))
    done = replay("saxpy", "--samples", "3", "--variant", "0123456789abcdef")
    assert done.exit_code == 0, done.output
    assert "variant" in done.stdout and "0123456789abcdef" in done.stdout
    done = replay("saxpy", "--variant", "fedcba9876543210")
    assert done.exit_code != 0 and "holds no variant" in done.stderr
