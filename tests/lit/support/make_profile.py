# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write a profile for kernels of a plain build, and the code that was validated for them.

A kernel is given as `part-of-its-name`, followed by options as KEY=VALUE: pipeline, block, grid, shape
(GX,GY,GZ/BX,BY,BZ/SHARED, several with + between), own (SHAPE:BLOCK, likewise), scalar (INDEX:SIZE:HEX), fixed
(INDEX:HEX+INDEX:HEX, `-` for none), fixed-block, fixed-grid, fixed-tables (@VARIABLE:HEX,INDEX+OFFSET:HEX), device,
architecture, digest, and options of code generation.
`--ptx`
writes the PTX that replay compiles of the first kernel at that pipeline and those options.
"""

import argparse
import sys
from pathlib import Path

import msgspec

from r3cc.apply import profile
from r3cc.apply.recheck import candidate_of
from r3cc.llvm import Passes
from r3cc.replay.codegen import BuildOptions
from r3cc.replay.model import Interval
from r3cc.replay.specialise import request_of
from r3cc.store.binary import read_binary

ATTRIBUTES = ("maxntid", "minctasm", "maxnreg")


def numbers(text):
    return tuple(int(part) for part in text.split(","))


def shape(text):
    grid, block, shared = text.split("/")
    return profile.Shape(numbers(grid), numbers(block), int(shared))


def launch_rule(options):
    if "block" not in options:
        return None
    shapes = tuple(map(shape, options.pop("shape").split("+")))
    own = [each.split(":") for each in options.pop("own", "").split("+") if each]
    scalars = ()
    if "scalar" in options:
        index, size, values = options.pop("scalar").split(":")
        scalars = (profile.Scalar(int(index), 0, int(size), tuple(values.split(","))),)
    given = options.pop("grid", None)
    rule = profile.Guard(shapes, scalars)
    by_shape = tuple(profile.ShapeBlock(shape(asked), numbers(block)) for asked, block in own)
    return profile.LaunchRule(numbers(options.pop("block")), numbers(given) if given else "derived", rule, by_shape)


def specialised(options):
    if not any(key.startswith("fixed") for key in options):
        return None
    texts = [each for each in options.pop("fixed", "-").split("+") if each != "-"]
    pairs = [each.split(":") for each in texts]
    constants = tuple(profile.Constant(int(index), 0, len(value) // 2, value) for index, value in pairs)
    block, grid = options.pop("fixed-block", None), options.pop("fixed-grid", None)
    tables = tuple(fixed_table(each) for each in options.pop("fixed-tables", "").split(",") if each)
    return profile.Specialised(constants, block and numbers(block), grid and numbers(grid), tables)


def fixed_table(text):
    place, content = text.split(":")
    if place.startswith("@"):
        return profile.FixedTable(len(content) // 2, content, variable=place[1:])
    argument, offset = map(int, place.split("+"))
    return profile.FixedTable(len(content) // 2, content, argument=argument, offset=offset)


def entry(passes, module, name, options):
    launch, special = launch_rule(options), specialised(options)
    codegen = {key: options[key] for key in options if key not in ("pipeline", "device", "architecture", "digest")}
    return profile.Entry(
        name=name,
        demangled=name,
        digest=options.get("digest") or passes.kernel_digest(module.bitcode, name),
        device=options.get("device", "a GPU"),
        architecture=options.get("architecture", module.info["architecture"]),
        pipeline=options.get("pipeline"),
        attributes={key: value for key, value in codegen.items() if key in ATTRIBUTES},
        codegen_level=int(codegen.get("opt-level", module.info["codegen"]["codegen_level"])),
        module={key: value for key, value in codegen.items() if key not in ATTRIBUTES},
        launch=launch,
        changes=(),
        left_out=(),
        evidence=profile.Evidence(Interval(0.5, 0.4, 0.6, 9), 1, "rounding", "a-search", "a-recording"),
        specialised=special,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("kernels", nargs="+")
    parser.add_argument("--ptx", type=Path)
    parser.add_argument("--architecture", default="")
    arguments = parser.parse_args()
    modules = [m for m in read_binary(arguments.binary) if arguments.architecture in m.info["architecture"]]
    module, passes, entries = modules[0], Passes(), []
    wanted = []
    for word in arguments.kernels:
        if "=" in word:
            key, _, value = word.partition("=")
            wanted[-1][1][key] = value
        else:
            wanted.append((word, {}))
    for part, options in wanted:
        names = [kernel["name"] for kernel in module.info["kernels"] if part in kernel["name"]]
        if len(names) != 1:
            sys.exit(f"{part} names {names}")
        entries.append(entry(passes, module, names[0], options))
    content = profile.Profile(profile.FORMAT, profile.VERSION, {"r3": "test"}, tuple(entries))
    profile.write_profile(arguments.output, content)
    if arguments.ptx:
        first = entries[0]
        candidate = candidate_of(first)
        request = BuildOptions.recorded(module.info).changed(candidate.pipeline, candidate.codegen).request
        request = msgspec.structs.replace(request, emit="assembly")
        alone = passes.extract(module.bitcode, first.name)
        if first.specialised is not None:
            alone = passes.specialise(alone, request_of(first.name, candidate.specialisation))
        arguments.ptx.write_bytes(passes.compile(alone, request).output)


main()
