# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run a compiler with so many macros that its arguments are as long as the system allows.

Usage: long_command.py COMPILER ARGUMENT…
"""

import os
import subprocess
import sys

# A program's own name counts twice: as path and as argument; the rest is the environment.
used = sum(len(key) + len(value) + 10 for key, value in os.environ.items()) + 4096
room = os.sysconf("SC_ARG_MAX") - used - sum(len(word) + 9 for word in sys.argv[1:])
macro = "-DUNUSED_{:06}=1" + "x" * 1000
count = room // (len(macro.format(0)) + 9) - 1
macros = ["-DA1=1", "-DB=2", *(macro.format(index) for index in range(count))]
sys.exit(subprocess.run([*sys.argv[1:], *macros]).returncode)
