"""What a monitoring was given, judged: of what class each argument is, and what it says."""

from collections.abc import Mapping
from typing import Any

from llm_fleet.monitoring.chat_channel import SlackChannel, TeamsChannel
from llm_fleet.monitoring.cluster_alarm_thresholds import ClusterAlarmThresholds
from llm_fleet.monitoring.fleet_budget import FleetBudget
from llm_fleet.monitoring.monitored_cluster import MonitoredCluster, monitored
from llm_fleet.rules.emails import check_emails
from llm_fleet.rules.inference.forms import Form, check_form, check_forms
from llm_fleet.rules.log_retention import check_retention_days
from llm_fleet.rules.monitoring.alarm_codes import AlarmCode
from llm_fleet.rules.monitoring.watched import check_monitoring_name, check_something_watched, check_watched_names
from llm_fleet.rules.problem import Problem, raise_problems

_LIST = (list, tuple)
_FORMS: Mapping[str, Form] = {
    "name": Form(wanted="a text", types=(str,), remedy='write a name, e.g. "my-fleet"'),
    "clusters": Form(wanted="a list of clusters", types=_LIST, remedy="write clusters=[cluster]"),
    "thresholds": Form(
        wanted="ClusterAlarmThresholds",
        types=(ClusterAlarmThresholds,),
        remedy="write ClusterAlarmThresholds(disk_percent=90)",
        optional=True,
    ),
    "topic": Form(
        wanted="an SNS topic",
        has=("topic_arn",),
        optional=True,
        remedy='write AlarmTopic(self, "Told"), or leave it out',
    ),
    "emails": Form(wanted="a list of addresses", types=_LIST, remedy='write emails=["oncall@example.com"]'),
    "chats": Form(wanted="a list of channels", types=_LIST, remedy="write chats=[SlackChannel(…)]"),
    "budget": Form(
        wanted="a FleetBudget", types=(FleetBudget,), remedy="write FleetBudget(monthly_usd=20000)", optional=True
    ),
    "log_retention_days": Form(wanted="a whole number", types=(int,), remedy="write days, e.g. 90", optional=True),
    "log_encryption_key": Form(
        wanted="a KMS key", has=("key_arn",), optional=True, remedy='write FleetKey(self, "Key"), or leave it out'
    ),
    "lustre": Form(
        wanted="a file system",
        has=("file_system_id",),
        optional=True,
        remedy="write lustre=file_system",
    ),
    "open_zfs": Form(
        wanted="a file system",
        has=("file_system_id",),
        optional=True,
        remedy="write open_zfs=file_system, or leave it out",
    ),
    "database": Form(
        wanted="a SlurmDatabase", has=("metric",), optional=True, remedy="write database=database, or leave it out"
    ),
}
_ITEMS: Mapping[str, Form] = {
    "clusters": Form(
        wanted="a cluster",
        has=("cluster_name",),
        remedy='write the cluster, or MonitoredCluster.hyperpod("train")',
    ),
    "emails": Form(wanted="a text", types=(str,), remedy="write the address in quotes"),
    "chats": Form(
        wanted="a SlackChannel or TeamsChannel",
        types=(SlackChannel, TeamsChannel),
        remedy='write SlackChannel(workspace_id="T0123456789", channel_id="C0123456789")',
    ),
}


def check_monitoring(path: str, **arguments: Any) -> None:
    """Raise `FleetError` with everything that is wrong with the `arguments` of the monitoring at `path`."""
    problems = check_forms(arguments, _FORMS)
    wrong = {problem.path[0] for problem in problems}
    for name, form in _ITEMS.items():
        if name not in wrong:
            problems += [each for n, item in enumerate(arguments[name]) for each in _check_item(item, form, name, n)]
    wrong = {problem.path[0] for problem in problems}
    raise_problems([*problems, *_check_values(arguments, wrong)], subject=path)


def _check_item(item: Any, form: Form, name: str, index: int) -> list[Problem]:
    if isinstance(item, MonitoredCluster):
        return []
    return check_form(item, form, name, index)


def _check_values(arguments: Mapping[str, Any], wrong: set[str | int]) -> list[Problem]:
    found: list[Problem] = []
    if "name" not in wrong:
        found += check_monitoring_name(arguments["name"])
    if "emails" not in wrong:
        found += check_emails(arguments["emails"], AlarmCode.MONITORING_EMAIL, "emails")
    if "log_retention_days" not in wrong:
        days = arguments["log_retention_days"]
        found += check_retention_days(days, AlarmCode.MONITORING_RETENTION, "log_retention_days")
    if "clusters" not in wrong:
        names = [monitored(cluster).name for cluster in arguments["clusters"]]
        found += check_watched_names(names, known=names)
    parts = [arguments[name] for name in ("lustre", "open_zfs", "database")]
    number = len(arguments["clusters"]) if "clusters" not in wrong else 1
    watched = number + sum(part is not None for part in parts)
    return found + check_something_watched(parts=watched, budget=arguments["budget"] is not None)
