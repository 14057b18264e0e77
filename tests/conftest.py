"""Fixtures that several parts' tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from r3cc.store import Store
from tests.store.pack_writer import PackWriter, add_recording

HERE = Path(__file__).parent
SAXPY = "_Z5saxpyifPfS_"
REDUCE = "_Z6reducePKdPd"

APART = ("test_lit.py", "examples/", "remix/test_cli.py")
"""Their tests go to any process of ``--dist loadgroup``: they need nothing of one another, or get it by ``tests.once``.

Those of every other file stay in one process, for the sake of the file's fixtures. Files go first, the single tests
fill up what remains, so that all processes end at about the same time.
"""
TOGETHER = ("remix/source/", "remix/cheats/")
"""Folders whose files stay in one process together: they share a program that takes long to open."""
BEFORE = pytest.StashKey["ProcessState"]()

LIBRARIES_OWN = {"PYTEST_CURRENT_TEST", "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK"}
"""Variables of pytest, and those that scikit-learn sets when it is imported first."""


@dataclass(frozen=True)
class ProcessState:
    """What tests share with all that run after them in the process."""

    environment: dict[str, str]
    folder: str
    handlers: dict[int, object]

    @classmethod
    def now(cls) -> ProcessState:
        environment = {name: value for name, value in os.environ.items() if name not in LIBRARIES_OWN}
        handlers: dict[int, object] = {
            number: signal.getsignal(number)
            for number in signal.valid_signals() - {signal.SIGALRM}  # pytest-timeout's
        }
        return cls(environment, os.getcwd(), handlers)  # noqa: PTH109 - a folder that is gone raises

    def differences(self, after: ProcessState) -> Iterator[str]:
        for name in sorted(self.environment.keys() | after.environment.keys()):
            if self.environment.get(name) != after.environment.get(name):
                yield f"the variable {name}"
        if self.folder != after.folder:
            yield "the working directory"
        for number, handler in self.handlers.items():
            if handler != after.handlers[number]:
                yield f"the handler of {signal.Signals(number).name}"

    def restore(self) -> None:
        os.chdir(self.folder)
        for name in set(os.environ) - self.environment.keys() - LIBRARIES_OWN:
            del os.environ[name]
        os.environ.update(self.environment)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Group tests by file for pytest-xdist."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        name = item.path.relative_to(HERE).as_posix()
        if not name.startswith(APART):
            folder = next((each for each in TOGETHER if name.startswith(each)), name)
            item.add_marker(pytest.mark.xdist_group(folder))


def pytest_sessionstart() -> None:
    """Programs under test die of signals, also where nohup or a shell's background job has these ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Remember the process as it is before the test's fixtures."""
    item.stash[BEFORE] = ProcessState.now()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """After the test's fixtures: what it left changed is an error of this test, and none of the next ones."""
    done = yield
    before = item.stash[BEFORE]
    if changed := ", ".join(before.differences(ProcessState.now())):
        before.restore()
        pytest.fail(f"the test leaves changed: {changed}", pytrace=False)
    return done


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of one test run share; see ``tests.once``."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the person who runs the tests reaches them."""
    for name in ("R3_STORE", "R3_DEVICE", "R3_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("R3_LIBRARY", "")


@pytest.fixture
def small_store(tmp_path: Path) -> Iterator[Store]:
    """A store with one recording of two kernels of one module; saxpy has one recorded launch."""
    with Store.create(tmp_path / "r3-store") as store:
        pack = PackWriter(add_recording(store.path) / "node1-4242-1.r3pack")
        pack.process()
        module = pack.module(
            b"BC\xc0\xde bitcode",
            source="src/app.cu",
            architecture="sm_90",
            kernels=[
                {
                    "name": SAXPY,
                    "line": 12,
                    "parameters": [{"offset": 0, "size": 4, "type": "i32", "name": "n"}],
                    "globals": [],
                }
            ],
            globals=[],
        )
        x = pack.image(b"\x01" * 1000)
        y = pack.image(b"\x02" * 300_000)
        after = pack.image(b"\x02" * 262_144 + b"\x03" * 37_856)
        pack.launch(
            module,
            SAXPY,
            arguments="0a000000",
            parameters=[{"offset": 0, "size": 4}],
            regions=[
                {"address": "0x600000000000", "size": 1000, "before": x, "after": x},
                {"address": "0x600000001000", "size": 300_000, "before": y, "after": after},
            ],
        )
        shape = {"grid": [4, 1, 1], "block": [128, 1, 1], "shared": 0, "launches": 10, "total_ns": 3000}
        pack.kernel(module, SAXPY, total_ns=3000, shapes=[shape])
        pack.kernel(module, REDUCE, recorded=0, not_recordable=[{"reason": "texture over an array", "launches": 10}])
        pack.end()
        yield store
