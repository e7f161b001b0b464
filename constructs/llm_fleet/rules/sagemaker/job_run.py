"""When a training job is started, and how often it is tried."""

import re
from datetime import datetime
from zoneinfo import available_timezones

from llm_fleet.catalog.training_job import job_machine_fact
from llm_fleet.rules.cron import EXAMPLE, cron_fault
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.training_job import CapacityRetries, JobSchedule

_SCHEDULE = SageMakerCode.TRAINING_SCHEDULE
_RATE = re.compile(r"rate\((\d+) ([a-z]+)\)")
_AT = re.compile(r"at\((\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\)")


def check_job_schedule(schedule: JobSchedule) -> list[Problem]:
    """Return what is wrong with when a job is started by itself, by attributes (LF972)."""
    problems: list[Problem] = []
    fault = None if is_unresolved(schedule.expression) else _expression_fault(schedule.expression)
    if fault:
        problems.append(
            Problem(
                code=_SCHEDULE,
                message=f"the schedule {fault}",
                path=("expression",),
                value=schedule.expression,
                allowed="cron(…), rate(…) or at(…)",
                remedy=f"write e.g. {EXAMPLE} or rate(7 days)",
            )
        )
    if not is_unresolved(schedule.time_zone) and schedule.time_zone not in available_timezones():
        problems.append(
            Problem(
                code=_SCHEDULE,
                message="there is no such time zone",
                path=("time_zone",),
                value=schedule.time_zone,
                allowed="names of the IANA database",
                remedy="write e.g. UTC or Europe/Vienna",
            )
        )
    for name, value in schedule.hyperparameters.items():
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance] - not every user has a checker
            problems.append(
                Problem(
                    code=SageMakerCode.TRAINING_HYPERPARAMETER,
                    message="a hyperparameter of an execution is a text, as SageMaker takes it",
                    path=("hyperparameters", name),
                    value=value,
                    remedy=f'write "{value}"',
                )
            )
    return problems


def check_capacity_retries(retries: CapacityRetries) -> list[Problem]:
    """Return what is wrong with further attempts after one without capacity, by attributes (LF973)."""
    first, longest = retries.first_wait_seconds, retries.longest_wait_seconds
    if first is None or longest is None or check_fields(retries) or is_unresolved(first) or is_unresolved(longest):
        return []
    if longest >= first:
        return []
    return [
        Problem(
            code=SageMakerCode.TRAINING_CAPACITY,
            message="the longest wait is shorter than the first",
            path=("longest_wait_seconds",),
            value=longest,
            allowed=f"{first} or more",
            remedy="leave it out, or write more",
        )
    ]


def _expression_fault(expression: str) -> str | None:
    """Return what is wrong with an expression, in words that go on from "the schedule"."""
    if expression.startswith("cron("):
        return cron_fault(expression)
    if expression.startswith("rate("):
        return _rate_fault(expression)
    found = _AT.fullmatch(expression)
    if not found:
        return "is none of cron(…), rate(…) and at(…)" if not expression.startswith("at(") else "has no time of a day"
    try:
        datetime.fromisoformat(found[1])
    except ValueError:
        return "has a time that there is not"
    return None


def _rate_fault(expression: str) -> str | None:
    found = _RATE.fullmatch(expression)
    if not found:
        return "is not a number and a unit, as in rate(7 days)"
    number, unit = int(found[1]), found[2]
    if number == 0:
        return "never comes"
    units: list[str] = job_machine_fact("schedule_units")
    if unit not in units:
        return f"has the unit {unit}, and there are {', '.join(units)}"
    return None
