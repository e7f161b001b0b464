"""Does several things at once, and lets go of them at Ctrl-C."""

from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def at_once(works: Sequence[Callable[[], T]], *, threads: int) -> Iterator[tuple[int, T]]:
    """Yield the place and the result of each of `works` as it is done, and raise what one raises.

    The threads are daemons: who stops listening, as Ctrl-C does, does not wait for a call that is under way.
    """
    todo: SimpleQueue[int | None] = SimpleQueue()
    done: SimpleQueue[tuple[int, T | BaseException, bool]] = SimpleQueue()
    for place in range(len(works)):
        todo.put(place)

    def work() -> None:
        while (place := todo.get()) is not None:
            try:
                done.put((place, works[place](), True))
            except BaseException as error:  # It is raised where somebody listens.
                done.put((place, error, False))

    count = min(threads, len(works))
    for _ in range(count):
        todo.put(None)
        Thread(target=work, daemon=True).start()
    for _ in works:
        place, result, good = _next(done)
        if not good:
            raise result  # type: ignore[misc]
        yield place, result  # type: ignore[misc]


def _next(done: "SimpleQueue[tuple[int, T | BaseException, bool]]") -> tuple[int, T | BaseException, bool]:
    """Wait so that Ctrl-C is heard: on Windows a wait without an end does not hear it."""
    from queue import Empty

    while True:
        try:
            return done.get(timeout=0.5)
        except Empty:
            continue
