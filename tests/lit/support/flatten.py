# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print the kernels and globals of a module's JSON as lines with demangled names, for FileCheck."""

import json
import subprocess
import sys
from pathlib import Path


def short(name):
    """The demangled name without a kernel's parameter list."""
    text = subprocess.check_output(["llvm-cxxfilt", name], text=True).strip()
    return text if "::" in text else text.split("(")[0]


document = json.loads(Path(sys.argv[1]).read_text())
for kernel in document["kernels"]:
    print("kernel", short(kernel["name"]), "line", kernel["line"])
    for parameter in kernel["parameters"]:
        print(parameter["offset"], parameter["size"], parameter["type"], parameter["name"])
    print("reaches", *map(short, kernel["globals"]))
for variable in document["globals"]:
    linkage = "internal" if variable["internal"] else "external"
    mutability = "mutable" if variable["mutable"] else "immutable"
    print("global", short(variable["name"]), variable["size"], variable["space"], linkage, mutability)
