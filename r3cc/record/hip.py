"""What a program needs to be recorded on AMD's GPUs: the recorder before its HIP runtime."""

from __future__ import annotations

import os
from pathlib import Path

from r3cc.errors import R3Error
from r3cc.record.application import loaded_libraries
from r3cc.record.cpu_device import HIP, binaries_with_modules
from r3cc.record.cpu_modules import prepare_modules
from r3cc.record.preload import preload
from r3cc.record.visible import visible_device
from r3cc.store import Store

RECORDER = "libr3record-hip.so"
VISIBLE = "HIP_VISIBLE_DEVICES"


def hip_environment(program: Path, store: Store, device: str) -> dict[str, str]:
    """Variables under which ``program`` is recorded on ``device``, which is the only GPU that it sees then.

    Raises R3Error where it does not load HIP's shared runtime, whose calls the recorder takes.
    """
    libraries = loaded_libraries(program)
    if not any(HIP.fullmatch(library.name) for library in libraries):
        raise R3Error(f"{program} does not load HIP's shared runtime: link it with -lamdhip64, as r3-hipcc does")
    from r3cc.devices.hip import is_host_runtime  # here, for it imports numpy, which other recordings do without

    environment = preload(RECORDER) | visible_device(device, VISIBLE, os.environ.get(VISIBLE))
    if not is_host_runtime():
        return environment
    return environment | prepare_modules(binaries_with_modules(program, libraries), store)
