"""A device of numbers: a queue with a clock, on which launches last as long as they are told to."""


class SyntheticMark:
    def __init__(self, device):
        self._device = device
        self.reached_ns = device.record()

    def nanoseconds_since(self, earlier):
        return self.reached_ns - earlier.reached_ns

    def is_ahead(self):
        return self.reached_ns > self._device.host_ns


class SyntheticDevice:
    """Work begins when it is queued or when the work before it ends; each call costs the host ``call_ns``."""

    def __init__(self, call_ns=1000.0, mark_overhead_ns=0.0):
        self.call_ns = call_ns
        self.mark_overhead_ns = mark_overhead_ns
        self.host_ns = 0.0
        self.device_ns = 0.0
        self.holds = []

    def queue(self, duration_ns):
        self.host_ns += self.call_ns
        self.device_ns = max(self.device_ns, self.host_ns) + duration_ns

    def record(self):
        """Half of what two marks cost lies on each side of a launch."""
        self.queue(self.mark_overhead_ns)
        return self.device_ns

    def mark(self):
        return SyntheticMark(self)

    def hold(self, nanoseconds):
        self.holds.append(nanoseconds)
        self.queue(nanoseconds)

    def synchronise(self):
        self.host_ns = max(self.host_ns, self.device_ns)


class SyntheticRunnable:
    """A launch whose duration is drawn each time; it is its own memory."""

    def __init__(self, device, draw, host_ns=0.0):
        self._device = device
        self._draw = draw
        self._host_ns = host_ns
        self.memory = self

    def restore(self):
        self._device.queue(500.0)

    def launch(self):
        self._device.host_ns += self._host_ns
        self._device.queue(self._draw())
