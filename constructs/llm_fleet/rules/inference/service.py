"""What an inference service has besides its parts: its name, how long its log is kept, how long it may load."""

import re

from llm_fleet.catalog.service import task_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.forms import check_form
from llm_fleet.rules.inference.part_forms import GRACE, LOG_DAYS, NAME
from llm_fleet.rules.log_retention import check_retention_days
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


def check_service_name(name: str) -> list[Problem]:
    """Check the name of a service, which its ECS cluster and its capacity provider bear as well."""
    of_form = check_form(name, NAME, "name")
    if of_form or is_unresolved(name):
        return of_form
    limits = task_limits()
    allowed = f"1 to {limits.longest_name} letters, digits and hyphens, a letter first"
    prefix = next((prefix for prefix in limits.provider_prefixes if name.lower().startswith(prefix)), None)
    if not _NAME.fullmatch(name) or len(name) > limits.longest_name:
        message, remedy = "ECS takes no such name", "write a short name of letters, digits and hyphens, such as chat"
    elif prefix is not None:
        message = f"ECS keeps names that begin with {prefix!r} to itself, and the service's capacity provider bears it"
        remedy = f"write another beginning, such as llm-{name}"
    else:
        return []
    return [
        Problem(code=Code.SERVICE_NAME, path=("name",), message=message, value=name, allowed=allowed, remedy=remedy)
    ]


def check_log_days(days: int) -> list[Problem]:
    """Check for how many days CloudWatch Logs keeps the log of a service."""
    of_form = check_form(days, LOG_DAYS, "log_retention_days")
    return of_form or check_retention_days(days, Code.SERVICE_LOG_DAYS, "log_retention_days")


def check_grace(seconds: int | None) -> list[Problem]:
    """Check the health check grace period; `None` is the catalog's figure."""
    of_form = check_form(seconds, GRACE, "health_check_grace_seconds")
    if of_form:
        return of_form
    longest = task_limits().grace_seconds_max
    if seconds is None or is_unresolved(seconds) or 0 < seconds <= longest:
        return []
    return [
        Problem(
            code=Code.SERVICE_GRACE,
            path=("health_check_grace_seconds",),
            message="ECS would stop each task before its server has loaded the model"
            if seconds <= 0
            else "ECS knows no such long grace period",
            value=seconds,
            allowed=f"1 to {longest} seconds",
            remedy="leave it out for the catalog's figure, or write how many seconds the model loads, doubled",
        )
    ]


def check_sick_hosts(*, replaced: bool, watched: bool, managed: bool) -> list[Problem]:
    """Check that somebody finds the sick hosts that shall be `replaced`: a daemon on hosts of ours (`watched`)."""
    if watched or not replaced:
        return []
    why = "AWS replaces impaired Managed Instances itself" if managed else "nobody watches the devices"
    return [
        Problem(
            code=Code.SERVICE_SICK_HOSTS,
            path=("replace_sick_hosts",),
            value=True,
            message=f"no host can be found sick here: {why}",
            remedy="leave it out" if managed else "leave it out, or let neuron_health be true",
        )
    ]
