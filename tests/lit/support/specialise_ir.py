# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print the IR of a kernel that is specialised for tables and arguments, or what could be one.

`specialise_ir.py BITCODE KERNEL find`, or `… KERNEL WORD… [pipeline=TEXT]`, KERNEL a part of its name, a WORD
`@VARIABLE=HEX`, `ARGUMENT+OFFSET=HEX` or, for an argument by value, `ARGUMENT=HEX`.
"""

import sys
from pathlib import Path

import msgspec

from r3cc.errors import R3Error
from r3cc.llvm import Passes
from r3cc.llvm.model import SpecialiseRequest


def main():
    path, part, *words = sys.argv[1:]
    passes, bitcode = Passes(), Path(path).read_bytes()
    (kernel,) = (known.name for known in passes.describe(bitcode).kernels if part in known.name)
    if words == ["find"]:
        print(msgspec.json.encode(passes.tables(bitcode, kernel)).decode())
        return
    pipeline = next((word.split("=", 1)[1] for word in words if word.startswith("pipeline=")), "no-op-module")
    words = [word for word in words if not word.startswith("pipeline=")]
    tables = tuple(word for word in words if "@" in word or "+" in word)
    arguments = tuple(word for word in words if word not in tables)
    special = passes.specialise(passes.extract(bitcode, kernel), SpecialiseRequest(kernel, arguments, tables=tables))
    print(passes.text(special, pipeline))


try:
    main()
except R3Error as error:
    sys.exit(f"r3: {error}")
