"""Ctrl-C ends a command wherever it comes.

What is raised in a callback of Python's own, e.g. where it takes leave of a module's lock, is printed and thrown away
(https://docs.python.org/3/library/sys.html#sys.unraisablehook): a Ctrl-C that falls there would be lost.
"""

import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_SECONDS = 0.05
"""Until it is typed again: Python has left the callback by then, and nobody has noticed."""


@contextmanager
def ctrl_c_is_never_lost() -> Generator[None]:
    """Raise `KeyboardInterrupt` once more, a moment later, where Python has thrown it away."""
    before = sys.unraisablehook
    lost: list[threading.Timer] = []

    def hook(thrown: "UnraisableHookArgs", /) -> None:
        if not issubclass(thrown.exc_type, KeyboardInterrupt):
            before(thrown)
            return
        lost.append(threading.Timer(_SECONDS, _type_again))
        lost[-1].daemon = True
        lost[-1].start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
        for timer in lost:
            timer.cancel()


def _type_again() -> None:
    main = threading.main_thread().ident
    if sys.platform == "win32" or main is None:
        import _thread

        _thread.interrupt_main()
    else:
        signal.pthread_kill(main, signal.SIGINT)  # to that thread: it may be asleep in a call
