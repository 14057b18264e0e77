"""Three worker processes on this machine, as ``--executor parsl:`` takes them."""

from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.providers import LocalProvider

config = Config(
    executors=[
        HighThroughputExecutor(
            label="r3_test",
            address="127.0.0.1",
            max_workers_per_node=3,
            provider=LocalProvider(init_blocks=1, max_blocks=1),
            heartbeat_period=1,
            heartbeat_threshold=30,
        )
    ],
    retries=0,
    initialize_logging=False,
)
