"""How long an endpoint lives."""

from llm_fleet.catalog.endpoint_operations import time_to_live_facts
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode

PARTS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
"""Seconds of what a lifetime is told in."""


def check_time_to_live(seconds: int, *path: str) -> list[Problem]:
    """Return a problem at `path` unless an endpoint can live for `seconds`."""
    facts = time_to_live_facts()
    least, most = facts.seconds.minimum or 0, facts.seconds.maximum or 0
    return [
        Problem(
            code=problem.code,
            path=problem.path,
            value=problem.value,
            message=problem.message
            if type(seconds) is not int or seconds > 0
            else "a time to live of nothing deletes the endpoint as soon as it is there",
            allowed=f"{least // 60} minutes to {most // 86400} days",
            remedy=f"write {most // 86400} days at most, or leave it out for an endpoint that stays"
            if type(seconds) is int and seconds > most
            else f"write {least // 60} minutes or more: that is how often it is looked; leave it out for an endpoint "
            "that stays",
        )
        for problem in check_number(
            seconds, facts.seconds, SageMakerCode.TIME_TO_LIVE, *path, what="the time to live, in seconds,"
        )
    ]


def check_lifetime_parts(*, seconds: int, minutes: int, hours: int, days: int) -> list[Problem]:
    """Return a problem for each part that is no whole number of 0 or more, else one for a wrong sum."""
    parts = {"seconds": seconds, "minutes": minutes, "hours": hours, "days": days}
    wrong = [
        Problem(
            code=SageMakerCode.TIME_TO_LIVE,
            path=(name,),
            value=value,
            message=f"the {name} of a time to live are a whole number, 0 or more",
            allowed="0 or more",
            remedy="write a whole number without quotes",
        )
        for name, value in parts.items()
        if type(value) is not int or value < 0
    ]
    return wrong or check_time_to_live(sum(PARTS[name] * value for name, value in parts.items()))
