# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile a captured module as the JSON beside it says that the build did, and compare with the build's own PTX.

Lines must be equal and in order, comments aside; only declarations of globals, whose order changes from run to run in
clang, may stand in another one. Exit status 1 and the difference otherwise.
"""

import difflib
import json
import sys
from pathlib import Path

from r3cc.llvm import CompileRequest, Passes
from tests.llvm.compiler import code_lines
from tests.llvm.test_clang_equality import split_globals

bitcode, description, library, built = map(Path, sys.argv[1:])
request = CompileRequest.from_recorded(json.loads(description.read_bytes())["codegen"])
made = split_globals(code_lines(Passes(library).compile(bitcode.read_bytes(), request).output))
expected = split_globals(code_lines(built.read_bytes()))
for ours, theirs in zip(made, expected, strict=True):
    sys.stdout.writelines(f"{line}\n" for line in difflib.unified_diff(theirs, ours, "built", "replayed", lineterm=""))
print(f"{request.pipeline} {sum(map(len, made))} lines: {'equal' if made == expected else 'different'}")
sys.exit(made != expected)
