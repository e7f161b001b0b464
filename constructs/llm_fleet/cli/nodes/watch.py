"""Shows the nodes again and again."""

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NoReturn

from llm_fleet.cli.aws.refusals import AwsRefusal
from llm_fleet.cli.nodes.sight import Sight
from llm_fleet.cli.terminal.screen import Screen
from llm_fleet.rules.day_two.command_codes import CommandCode

_PASSING = (CommandCode.THROTTLED, CommandCode.UNREACHABLE)
"""What may be over at the next look."""


def watch(look: Callable[[], Sight], seconds: float, *, sleep: Callable[[float], None] = time.sleep) -> NoReturn:
    """Show what `look` finds, every so many `seconds`, until Ctrl-C (`KeyboardInterrupt`).

    On a terminal the table is written over; anywhere else each follows the one before, below its time. Raises what
    `look` raises, but for throttling and an endpoint that does not answer: the next look may have better luck.
    """
    if Screen.of_output().live:
        _repaint(look, seconds, sleep)
    for text in _looks(look, lambda sight: sight.text(Screen.of_output())):
        print(text, flush=True)
        sleep(seconds)
    raise AssertionError("a watch has no end")


def _repaint(look: Callable[[], Sight], seconds: float, sleep: Callable[[float], None]) -> NoReturn:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=False)
    # What does not fit is cut at the bottom: the nodes that somebody should look at stand at the top.
    with Live(console=console, auto_refresh=False, vertical_overflow="ellipsis") as live:
        for text in _looks(look, lambda sight: sight.top(Screen.of_output())):
            live.update(Text.from_ansi(text), refresh=True)
            sleep(seconds)
    raise AssertionError("a watch has no end")


def _looks(look: Callable[[], Sight], shown: Callable[[Sight], str]) -> Iterator[str]:
    """Yield the text of each look; of one that failed in passing, the one before and why."""
    last = ""
    while True:
        now = datetime.now().astimezone().strftime("%H:%M:%S")
        try:
            last = f"{now}\n{shown(look())}"
            yield last
        except AwsRefusal as error:
            if error.code not in _PASSING:
                raise
            yield f"{last}{now} AWS was not asked: {error.problems[0].message}\n"
