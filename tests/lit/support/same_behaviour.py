# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run a corpus of command lines with two compilers in directories of one name; compare status, streams and files.

Usage: same_behaviour.py CLANG WRAPPER CORPUS DIRECTORY -- GPU-FLAGS…
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ASPECTS = ("status", "standard output", "standard error", "files")
WRITTEN = 1_700_000_000  # a precompiled header holds when its source was written
SOURCES = {
    "host.cpp": "#define TWO 2\nint twice(int x) { return TWO * x; }\n",
    "other.cpp": "int twice(int);\nint main() { return twice(0); }\n",
    "warns.cpp": "int unused() { int x; return 1; }\n",
    "header.h": "inline int one() { return 1; }\n",
    "module.cppm": "export module m;\nexport int one() { return 1; }\n",
    "assembly.s": ".globl f\nf: ret\n",
    "broken.cpp": "int broken( {\n",
    "kernel.cu": '#include "minicuda.h"\n__global__ void k(float *x) { x[thread()] = 1; }\n',
    "broken.cu": '#include "minicuda.h"\n__global__ void k(float *x) { x[nothing] = 1; }\n',
    "rsp": "-c host.cpp '-DX=\"a b\"' -o host.o\n",
}


def behaviour(compiler, arguments, directory):
    """(status, stdout, stderr, {file: bytes}) of one command in a fresh directory."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    for name, text in SOURCES.items():
        (directory / name).write_text(text)
        os.utime(directory / name, (WRITTEN, WRITTEN))
    run = subprocess.run([compiler, *arguments], cwd=directory, capture_output=True, input=b"int in;\n")
    files = {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    return run.returncode, run.stdout, run.stderr, files


def main():
    split = sys.argv.index("--")
    clang, wrapper, corpus, directory = sys.argv[1:split]
    gpu_flags = sys.argv[split + 1 :]
    lines = [line for line in Path(corpus).read_text().splitlines() if line and not line.startswith("#")]
    differing = 0
    for line in lines:
        arguments = [word for token in shlex.split(line) for word in (gpu_flags if token == "GPU" else [token])]
        expected, found = (behaviour(compiler, arguments, Path(directory) / "work") for compiler in (clang, wrapper))
        for what, left, right in zip(
            ("status", "standard output", "standard error", "files"), expected, found, strict=True
        ):
            if left != right:
                differing += 1
                print(f"{line}: {what} differs\n  {str(left)[:500]}\n  {str(right)[:500]}")
    print(f"{len(lines)} commands, {differing} differences")
    sys.exit(differing > 0 or not lines)


main()
