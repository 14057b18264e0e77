#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The offline way of docs/install.md, from the sources to `r3 doctor`: wheels are collected in a folder with the network, and
# installed from it in a new environment without (in a network namespace of its own where the system allows one).
# Takes the minutes that the native build takes; WHEELS=FOLDER begins with wheels that are there already.
set -eu

python=${PYTHON:-python3}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wheels=${WHEELS:-$work/wheels}

if [ ! -d "$wheels" ]; then
  "$python" -m pip wheel --wheel-dir "$wheels" "$root"
fi

alone=
if unshare --user --map-root-user --net true 2>/dev/null; then
  alone="unshare --user --map-root-user --net"
fi
"$python" -m venv "$work/r3"
$alone "$work/r3/bin/pip" install --no-index --find-links "$wheels" r3cc
cd "$work"
env -u R3_PREFIX "$work/r3/bin/r3" doctor >doctor.txt || true # its status is about this machine: clang, CUDA, a GPU
cat doctor.txt
for part in bin/r3-clang++ lib/r3cc/libR3Passes.so lib/r3cc/libr3record.so lib/r3cc/libr3cpu.so; do
  grep -q "$work/r3/$part" doctor.txt || {
    echo "offline install: r3 doctor does not list $part of the new environment" >&2
    exit 1
  }
done
echo "offline install: everything of R3 is there"
