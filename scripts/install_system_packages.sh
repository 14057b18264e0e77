#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs the Debian packages that R3 is built with, those that are missing; with "test" what only tests need, too.
# Needs root, or sudo.
set -eu

packages="build-essential cmake ninja-build ccache git python3-venv
clang-22 llvm-22-dev lld-22 clang-tools-22 llvm-22-tools clang-format-22
bubblewrap libclang1-22
libzstd-dev libxxhash-dev libboost-context-dev nlohmann-json3-dev"
if [ "${1:-}" = test ]; then
  packages="$packages
openmpi-bin libopenmpi-dev libamdhip64-dev rocm-device-libs mlir-22-tools autoconf automake meson distcc sccache chromium"
fi

missing=
for package in $packages; do
  case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
  *" installed") ;;
  *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: these packages are missing, and installing them needs root or sudo:$missing" >&2
    exit 1
  fi
  as_root=sudo
fi
echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -q
# shellcheck disable=SC2086  # a list of words
$as_root apt-get install -q -y --no-install-recommends $missing </dev/null
