# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare a second version in a tuned build for the cpu device with what replay judges.

`same_version.py PLAIN TUNED PROFILE KERNEL`, KERNEL a part of its name.
"""

import re
import sys
from pathlib import Path

import msgspec

from r3cc.apply.profile import read_profile
from r3cc.apply.recheck import candidate_of
from r3cc.llvm import Passes
from r3cc.replay.codegen import BuildOptions
from r3cc.replay.specialise import request_of
from r3cc.store.binary import read_binary

NEW_NAME = re.compile(rb"__r3_\d+")
"""What a unit adds to names of what the version alone has."""
CODE = re.compile(rb"^r3cpu\.entry\.KERNEL:.*?^\.Lfunc_end\d+:", re.DOTALL | re.MULTILINE)


def module_of(path, kernel):
    for module in read_binary(Path(path)):
        for known in module.info["kernels"]:
            if kernel in known["name"] and (known.get("version_of") or not module.tuned):
                return module, known["name"]
    sys.exit(f"{path} has no {kernel}")


def code(passes, bitcode, kernel, request):
    """The instructions of a kernel that is alone in its module."""
    text = passes.compile(passes.lower_to_host(bitcode), request).output
    (found,) = CODE.findall(NEW_NAME.sub(b"", text.replace(kernel.encode(), b"KERNEL")))
    return found


def main():
    plain, tuned, profile, kernel = sys.argv[1:]
    passes = Passes()
    (module, name), (other, version) = module_of(plain, kernel), module_of(tuned, kernel)
    entry = next(each for each in read_profile(Path(profile)).kernels if each.name == name)
    candidate = candidate_of(entry)
    request = BuildOptions.recorded(module.info).changed(candidate.pipeline, candidate.codegen).request
    request = msgspec.structs.replace(request, emit="assembly", cpu=None, features=None)
    alone = passes.specialise(passes.extract(module.bitcode, name), request_of(name, candidate.specialisation))
    versions = {name: alone, version: passes.extract(other.bitcode, version)}
    judged, built = (code(passes, bitcode, each, request) for each, bitcode in versions.items())
    general = code(passes, passes.extract(module.bitcode, name), name, request)
    print("equal" if judged == built else "different", "to what was judged")
    print("equal" if built == general else "different", "to the kernel itself")


main()
