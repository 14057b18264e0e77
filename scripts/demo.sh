#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The user's whole way through R3 with a mini-app, on the GPU if there is one and on the cpu device if not.
# Run by `make demo`, which puts R3 and LLVM on PATH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build/demo
export R3_STORE=$build/r3-store

show() {
  printf '\n\033[1m$ %s\033[0m\n' "$*"
  "$@"
}

device=(--device cpu)
size=(96 12)
if nvidia-smi -L >/dev/null 2>&1; then
  device=()
  size=(2048 20)
fi

show r3 doctor
show cmake -S examples/weather -B "$build" -G Ninja --toolchain "$PWD/cmake/R3Toolchain.cmake" -Wno-dev
show cmake --build "$build"
show r3 ls --binary "$build/weather"
show r3 record "${device[@]}" -- "$build/weather" "${size[@]}"
show r3 ls
show r3 replay tendencies_x
show r3 tune tendencies_x sum_mass --budget 60 --time 2m --seed 1
show r3 report
show r3 remix sum_mass --budget 10 --time 2m --seed 1
printf '\nThe recording and the searches are in %s: `R3_STORE=%s r3 ls` shows them.\n' "$R3_STORE" "$R3_STORE"
