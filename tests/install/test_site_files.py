"""The Spack recipe and the modulefile: they say what pyproject.toml says, and what the sources read."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "scripts/spack/packages/r3cc/package.py"
MODULEFILE = ROOT / "scripts/modulefile"
REQUIREMENT = re.compile(r"[A-Za-z0-9_.-]+")

COMMANDS = """
proc module-whatis {text} {}
proc conflict {name} {}
proc setenv {name value} {puts "$name=$value"}
proc prepend-path {name value} {puts "$name=$value:"}
source %s
"""
"""What Environment Modules and Lmod offer to a modulefile."""


def requirement_names(requirements: list[str]) -> set[str]:
    matches = (REQUIREMENT.match(requirement) for requirement in requirements)
    return {match[0].lower() for match in matches if match}


def test_the_recipe_asks_for_what_the_package_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    recipe = RECIPE.read_text()
    compile(recipe, str(RECIPE), "exec")
    asked = set(re.findall(r'depends_on\("py-([a-z0-9-]+)', recipe))
    needed = requirement_names(project["project"]["dependencies"] + project["build-system"]["requires"])
    assert needed <= asked
    assert requirement_names(project["project"]["optional-dependencies"]["cuda"]) <= asked
    assert "llvm@22" in recipe and "+link_llvm_dylib" in recipe


def test_the_modulefile_sets_what_the_compilers_read() -> None:
    tclsh = shutil.which("tclsh")
    if tclsh is None:
        pytest.skip("needs tclsh")
    script = COMMANDS % MODULEFILE
    done = subprocess.run([tclsh], input=script, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "R3_LLVM=/opt/llvm-22",
        "PATH=/opt/r3cc/bin:",
        "CMAKE_PREFIX_PATH=/opt/r3cc:",
    ], done.stderr
