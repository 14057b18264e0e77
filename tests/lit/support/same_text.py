# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare a kernel's machine code in two cubins, constant-bank offsets apart: `same_text.py KERNEL A.cubin B.cubin`.

An instruction of sm_70 and later has 16 bytes. One that reads c[bank][offset] has the offset, in words, in bits 40
to 53 and the bank in bits 54 to 58. Bank 3 holds the module's constants, bank 4 addresses of its variables: where both
stand depends on which other globals the module has.
"""

import struct
import sys
from pathlib import Path

INSTRUCTION = 16
OFFSET = ((1 << 14) - 1) << 40
BANK = 31 << 54
MODULE_BANKS = (3 << 54, 4 << 54)


def text(path, kernel):
    data = Path(path).read_bytes()
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, table + index * size) for index in range(count)]
    start = headers[names][4]
    for name, _, _, _, offset, length in headers:
        label = data[start + name : data.index(b"\0", start + name)].decode()
        if label.startswith(".text.") and kernel in label:
            return data[offset : offset + length]
    sys.exit(f"{path} has no kernel {kernel}")


def moved(before, after):
    """Whether two instructions differ in the offset into the same bank of the module, and in nothing else."""
    (low, high), (other_low, other_high) = struct.unpack("<QQ", before), struct.unpack("<QQ", after)
    return high == other_high and (low ^ other_low) & ~OFFSET == 0 and low & BANK in MODULE_BANKS


def main():
    kernel, left, right = sys.argv[1:]
    before, after = text(left, kernel), text(right, kernel)
    if len(before) != len(after):
        sys.exit(f"{kernel} differs: {len(before)} and {len(after)} bytes")
    offsets = 0
    for start in range(0, len(before), INSTRUCTION):
        one, other = before[start : start + INSTRUCTION], after[start : start + INSTRUCTION]
        if one == other:
            continue
        if not moved(one, other):
            sys.exit(f"{kernel} differs at {start:#x}: {one.hex()} and {other.hex()}")
        offsets += 1
    print(f"{kernel} is equal but for {offsets} constant-bank offsets" if offsets else f"{kernel} is equal")


main()
