# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print what R3's notes in a linked ELF file say, one line a module, checked against docs/binary-format.md.

A second reader of the format, independent of the product's: it finds everything through program headers, as the
recorder does, so that it works on a file without sections. Exit status 1 and a sentence for whatever is wrong.
"""

import argparse
import hashlib
import json
import struct
import sys
from pathlib import Path

import zstandard

PT_LOAD, PT_NOTE = 1, 4
FAT_BINARY_MAGIC, WRAPPER_MAGIC = 0xBA55ED50, 0x466243B1


class Elf:
    """A 64-bit little-endian ELF file by program headers."""

    def __init__(self, path):
        self.data = Path(path).read_bytes()
        if self.data[:6] != b"\x7fELF\x02\x01":
            sys.exit(f"{path}: not a 64-bit little-endian ELF file")
        (table,) = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        # (type, flags, offset, vaddr, paddr, filesz, memsz, align)
        self.segments = [struct.unpack_from("<IIQQQQQQ", self.data, table + index * size) for index in range(count)]

    def read(self, address, size):
        for kind, _, offset, start, _, length, _, _ in self.segments:
            if kind == PT_LOAD and start <= address and address + size <= start + length:
                return self.data[offset + address - start :][:size]
        sys.exit(f"address {address:#x} is in no loaded part of the file")

    def notes(self):
        """(address of the descriptor, descriptor) of each note by R3."""
        for kind, _, _, start, _, length, _, align in self.segments:
            position, end = start, start + length
            while kind == PT_NOTE and position < end:
                name_size, size, note_type = struct.unpack("<III", self.read(position, 12))
                descriptor = position + 12 + (name_size + 3) // 4 * 4
                if self.read(position + 12, name_size) == b"R3\0" and note_type == 1:
                    yield descriptor, self.read(descriptor, size)
                position = descriptor + (size + max(align, 4) - 1) // max(align, 4) * max(align, 4)


def fat_binary_digests(data):
    """SHA-256 of each fat binary in the file, found by its header."""
    digests, position = set(), data.find(struct.pack("<I", FAT_BINARY_MAGIC))
    while position >= 0:
        header, payload = struct.unpack_from("<HQ", data, position + 6)
        digests.add(hashlib.sha256(data[position : position + header + payload]).digest())
        position = data.find(struct.pack("<I", FAT_BINARY_MAGIC), position + 4)
    return digests


def module(elf, address, descriptor):
    """One note as (line to print, bitcode, JSON document)."""
    version, flags, wrapper, bitcode, bitcode_size, text, text_size = struct.unpack("<IIqqQqQ", descriptor[:48])
    if version != 1 or len(descriptor) != 80:
        sys.exit(f"note of version {version} with {len(descriptor)} bytes")
    code = elf.read(address + 16 + bitcode, bitcode_size)
    document = json.loads(zstandard.decompress(elf.read(address + 32 + text, text_size)))
    if hashlib.sha256(code).hexdigest() != document["module"]:
        sys.exit("the bitcode's digest isn't the module's id")
    rdc = bool(flags & 1)
    if rdc != (wrapper == 0):
        sys.exit("a note without relocatable device code must name the fat binary's wrapper")
    if not rdc:
        (magic,) = struct.unpack("<I", elf.read(address + 8 + wrapper, 4))
        if magic != WRAPPER_MAGIC:
            sys.exit(f"no fat binary wrapper where the note points to, but {magic:#x}")
        if descriptor[48:] not in fat_binary_digests(elf.data):
            sys.exit("the note's digest is that of no fat binary in the file")
    elif any(descriptor[48:]):
        sys.exit("a digest of the fat binary under relocatable device code")
    kernels = ",".join(kernel["name"] for kernel in document["kernels"])
    line = f"{document['source']} {document['architecture']} rdc={int(rdc)} kernels={kernels}"
    return line, code, document


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--bitcode", metavar="OUT", help="write the only module's bitcode to a file")
    parser.add_argument("--json", action="store_true", help="print the only module's JSON")
    arguments = parser.parse_args()
    elf = Elf(arguments.file)
    modules = [module(elf, address, descriptor) for address, descriptor in elf.notes()]
    if (arguments.bitcode or arguments.json) and len(modules) != 1:
        sys.exit(f"{len(modules)} modules")
    if arguments.bitcode:
        Path(arguments.bitcode).write_bytes(modules[0][1])
    elif arguments.json:
        print(json.dumps(modules[0][2], indent=1, sort_keys=True))
    else:
        for line, _, _ in modules:
            print(line)
        print(f"{len(modules)} modules")


main()
