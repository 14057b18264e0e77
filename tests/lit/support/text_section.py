# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print a digest of each kernel's machine code (.text.<kernel>) in cubins, as `kernel digest`."""

import hashlib
import struct
import sys
from pathlib import Path


def sections(data):
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, table + index * size) for index in range(count)]
    start = headers[names][4]
    for name, _, _, _, offset, length in headers:
        yield data[start + name : data.index(b"\0", start + name)].decode(), data[offset : offset + length]


for path in sys.argv[2:]:
    for name, content in sections(Path(path).read_bytes()):
        if name.startswith(".text.") and sys.argv[1] in name:
            print(name.removeprefix(".text."), hashlib.sha256(content).hexdigest())
