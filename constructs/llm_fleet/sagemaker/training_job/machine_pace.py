"""How often a machine asks, so that the history of an execution never gets longer than the service allows."""

from math import ceil

from llm_fleet.catalog.training_job import job_machine_fact
from llm_fleet.sagemaker.training_job.machine_plan import Pace, WatchRecord

EVENTS_OF_A_POLL = 11
"""Of `WaitForJob`, `DescribeJob`, `HowIsIt`, `CountPoll`: two each, five of the call."""
EVENTS_OF_AN_ASK = 13
"""Of `AskWatch`, `WhatDecided`, `CountAsk`, `AskAgain`, `WaitForWatch`."""


def pace(*, longest_seconds: int, attempts: int, alarms: int, watch: WatchRecord | None) -> Pace:
    """Return the pace of a machine that follows jobs for `longest_seconds` altogether.

    `attempts`: jobs that one execution has at most. `alarms`: that each of them has.
    """
    fact = job_machine_fact
    jobs = 1 + watch.successors_at_most if watch else attempts
    taken = fact("spare_events") + jobs * (fact("events_of_an_attempt") + alarms * fact("events_of_an_alarm"))
    if watch:
        taken += jobs * watch.asks_at_most * EVENTS_OF_AN_ASK
    polls = (fact("history_events") - taken) // EVENTS_OF_A_POLL
    return Pace(
        poll_seconds=max(fact("shortest_poll_seconds"), ceil(longest_seconds / polls)),
        polls_at_most=polls,
    )


def watch_record(table_name: str, *, answer_within_seconds: int) -> WatchRecord:
    """Return how a machine asks a watch that needs `answer_within_seconds` at most."""
    asks: int = job_machine_fact("asks_at_most")
    return WatchRecord(
        table_name=table_name,
        ask_seconds=max(job_machine_fact("shortest_ask_seconds"), ceil(answer_within_seconds / asks)),
        asks_at_most=asks,
        successors_at_most=job_machine_fact("successors_at_most"),
    )


def longest_seconds(*, run_seconds: int, pending_seconds: int | None, watched: bool) -> int:
    """Return for how long an execution follows its jobs: waiting included, and twice as long under a watch."""
    fact = job_machine_fact
    one = run_seconds + (fact("pending_seconds") if pending_seconds is None else pending_seconds)
    return one * fact("watched_factor") if watched else one
