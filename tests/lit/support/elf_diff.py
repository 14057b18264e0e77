# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare two relocatable ELF objects section by section, R3's own sections left out.

Symbol and string tables may differ: R3's sections have symbols of their own. What refers to a symbol by index
(relocations, the address-significance table, groups) is compared by the symbol's name.
"""

import json
import re
import subprocess
import sys

OWN = {".r3.bitcode", ".r3.json", ".note.r3", ".rela.note.r3"}
TABLES = {".symtab", ".strtab", ".shstrtab", ""}


def relocation(entry):
    """A relocation with its symbol by name."""
    return entry["Offset"], entry["Type"]["Name"], entry["Symbol"]["Name"], entry["Addend"]


def read(path):
    """Section name -> list of what the sections of that name hold."""
    text = subprocess.check_output(
        ["llvm-readobj", "--elf-output-style=JSON", "--sections", "--section-data", "--section-relocations", path]
    )
    contents = {}
    for entry in json.loads(text)[0]["Sections"]:
        section = entry["Section"]
        name = section["Name"]["Name"]
        if name in OWN | TABLES or section["Type"]["Name"] == "SHT_GROUP":
            continue
        header = (section["Type"]["Name"], section["Flags"]["Value"], section["Size"], section["AddressAlignment"])
        by_index = section["Type"]["Name"] in ("SHT_RELA", "SHT_LLVM_ADDRSIG")
        data = None if by_index else section.get("SectionData")
        relocations = [relocation(entry["Relocation"]) for entry in section.get("Relocations", [])]
        contents.setdefault(name, []).append((header, data, relocations))
    symbols = subprocess.check_output(["llvm-readobj", "--addrsig", path], text=True)
    contents["address significance"] = [line.split("(")[0] for line in symbols.splitlines() if "Sym:" in line]
    contents["groups"] = groups(path)
    return contents


def groups(path):
    """COMDAT groups with their members by name."""
    text = subprocess.check_output(["llvm-readelf", "--section-groups", path], text=True)
    return [re.sub(r"\[ *\d+\]", "", line) for line in text.splitlines()]


def main():
    left, right = (read(path) for path in sys.argv[1:3])
    differing = sorted(name for name in left.keys() | right.keys() if left.get(name) != right.get(name))
    if differing:
        for name in differing:
            print(f"{name}:\n  {str(left.get(name))[:2000]}\n  {str(right.get(name))[:2000]}")
        sys.exit(1)
    print(f"{len(left)} sections are equal")


main()
