"""Modules that take seconds to import are imported while processes start and memory is loaded."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module


@contextmanager
def imported_ahead(module: str) -> Iterator[None]:
    """Import a module beside what is done meanwhile; who needs it before it is there waits for it.

    What goes wrong is left to who imports it, too. An error, such as an interrupt, ends the import.
    """

    def import_it() -> None:
        with suppress(Exception, SystemExit):
            import_module(module)

    thread = threading.Thread(target=import_it, name=f"import of {module}")
    thread.start()
    try:
        yield
    except BaseException:
        assert thread.ident is not None
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))
        raise
    finally:
        thread.join()
