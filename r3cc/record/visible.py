"""The one GPU that a program sees."""

from __future__ import annotations

from r3cc.errors import UsageError


def visible_device(device: str, variable: str, visible: str | None) -> dict[str, str]:
    """``variable`` (a ``…_VISIBLE_DEVICES``) with which ``cuda:N`` or ``hip:N`` alone is visible.

    ``visible`` is its value now, under which the device is counted. Raises UsageError where it shows fewer.
    """
    number = device.partition(":")[2]
    shown = [each.strip() for each in visible.split(",")] if visible else None
    if not number.isdecimal():
        raise UsageError(f"a program is recorded on one GPU, such as {device.partition(':')[0]}:0, not on {device}")
    if shown is None:
        return {variable: number}
    if int(number) >= len(shown):
        raise UsageError(f"there is no device {device}: {variable}={visible} shows {len(shown)}, counted from 0")
    return {variable: shown[int(number)]}
