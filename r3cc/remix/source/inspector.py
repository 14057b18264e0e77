"""Facts of a kernel's IR, told by a process with LLVM in it that is replaced when it dies."""

from __future__ import annotations

import threading

from r3cc.errors import R3Error
from r3cc.farm.process import Failed, ProcessLost, SupervisedProcess
from r3cc.remix.source import ir_worker
from r3cc.remix.source.ir_worker import Inspect, IrFacts

_INSPECT_S = 60.0


class Inspector:
    """Asks a process with LLVM in it, and replaces it when it dies."""

    def __init__(self) -> None:
        self._process: SupervisedProcess | None = None
        self._lock = threading.Lock()

    def inspect(self, bitcode: bytes, kernel: str) -> IrFacts:
        """Facts of a kernel's closure. Raises R3Error."""
        with self._lock:
            if self._process is None:
                self._process = SupervisedProcess(ir_worker.MODULE, None)
            try:
                answer: IrFacts | Failed = self._process.ask(Inspect(bitcode, kernel), _INSPECT_S)
            except ProcessLost as error:
                self._process = None
                raise R3Error(f"the process was {error}") from None
        if isinstance(answer, Failed):
            raise R3Error(answer.message)
        return answer

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._process is not None:
                self._process.close()
                self._process = None
