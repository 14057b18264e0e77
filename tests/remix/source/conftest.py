from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from r3cc.remix.source import ModuleSource, StoreSourceBuilder
from r3cc.store.binary import EmbeddedModule
from tests.remix.source.project import build_project, kernel_of


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, EmbeddedModule]:
    """The built project's folder and its module."""
    folder = tmp_path_factory.mktemp("project")
    return folder, build_project(folder)


@pytest.fixture(scope="session")
def source(project: tuple[Path, EmbeddedModule]) -> Iterator[ModuleSource]:
    """The module's source, opened once."""
    with ModuleSource(project[1].info, project[1].bitcode) as opened:
        yield opened


@pytest.fixture(scope="session")
def builder(
    project: tuple[Path, EmbeddedModule], source: ModuleSource, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], StoreSourceBuilder]:
    """Builders by kernel, each made once."""
    store = tmp_path_factory.mktemp("store")
    made: dict[str, StoreSourceBuilder] = {}

    def get(name: str) -> StoreSourceBuilder:
        if name not in made:
            made[name] = StoreSourceBuilder(store, kernel_of(project[1], name), source)
        return made[name]

    return get
