from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from r3cc.remix.source import StoreSourceBuilder
from r3cc.store.binary import EmbeddedModule
from tests.remix.source.project import build_project, open_builder


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, EmbeddedModule]:
    """The built project's folder and its module."""
    folder = tmp_path_factory.mktemp("project")
    return folder, build_project(folder)


@pytest.fixture(scope="session")
def builder(
    project: tuple[Path, EmbeddedModule], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], StoreSourceBuilder]]:
    """Builders by kernel, each opened once."""
    store = tmp_path_factory.mktemp("store")
    opened: dict[str, StoreSourceBuilder] = {}

    def get(name: str) -> StoreSourceBuilder:
        if name not in opened:
            opened[name] = open_builder(store, project[1], name)
        return opened[name]

    yield get
    for each in opened.values():
        each.close()
