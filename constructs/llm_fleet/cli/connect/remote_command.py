"""Runs one command on a node and hands over what it says and how it ended."""

import sys
from collections.abc import Callable

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.session.session import CutOff, Session
from llm_fleet.rules.day_two.nodes_codes import NodesCode


def run_command(session: Session, command: str, line: Callable[[str], None]) -> int:
    """Run `command` by bash, hand over each line, and return its exit code.

    A session that ends before the command began is started again (Session Manager breaks off with `EOF` now and then,
    and refuses one too many). After that it is not: nobody knows whether the command bears being run twice. Raises
    `FleetError` (LF888, LF1109).
    """
    failures = 0
    while True:
        try:
            return session.follow(command, line)
        except CutOff as error:
            if error.begun:
                refuse(
                    NodesCode.CUT_OFF,
                    f"the session ended while the command ran: {error}",
                    "see on the node what became of it; run it again if it bears that",
                    subject=session.target.name,
                )
            failures += 1
            print(f"the session did not come about: {error}", file=sys.stderr, flush=True)
            session.pause(failures, str(error))
