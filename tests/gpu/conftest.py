import pytest

from r3cc.devices import open_device
from r3cc.devices.base import DeviceUnavailable


def _missing():
    try:
        open_device("cuda:0").close()
    except DeviceUnavailable as error:
        return str(error)
    return None


def pytest_collection_modifyitems(items):
    ours = [item for item in items if item.get_closest_marker("gpu")]
    reason = _missing() if ours else None
    for item in ours if reason else ():
        item.add_marker(pytest.mark.skip(reason=reason))
