"""Cost of a function as number of calls of Python and C functions, which does not depend on the machine."""

import sys
from collections.abc import Callable


def calls_of(work: Callable[[], object]) -> int:
    """Return the number of functions that `work` calls in this thread."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls
