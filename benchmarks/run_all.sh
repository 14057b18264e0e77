#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# benchmarks/run_all.sh OUT [options of the benchmarks]: runs all, keeps going when one fails; the exit status says so.
set -u
if [ $# -lt 1 ]; then
  echo "usage: benchmarks/run_all.sh OUT [--device cpu|cuda:N] [--quick]" >&2
  exit 2
fi
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
shift
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-$([ -x .venv/bin/python ] && echo .venv/bin/python || echo python3)}

failed=
for benchmark in wrapper recording snapshots evaluations; do
  timeout 600 "$python" -m "benchmarks.$benchmark" --out "$out" "$@" </dev/null 2>&1 | tee "$out/$benchmark.txt"
  [ "${PIPESTATUS[0]}" -eq 0 ] || failed="$failed $benchmark"
done
[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
