"""Rules of monitoring: alarms of clusters, their recipients, metrics of nodes, and the monthly budget."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.monitoring import (
    alarm_minutes,
    alarm_thresholds,
    chat_facts,
    fleet_budget_facts,
    workspace_arn_pattern,
)
from llm_fleet.rules.feature_codes import AlarmCode, MetricsCode
from llm_fleet.rules.problem import Problem, is_list_token, is_unresolved, rule
from llm_fleet.rules.values import check_emails, check_positive, check_retention_days, nearest
from llm_fleet.spec.monitoring import (
    ClusterAlarms,
    ClusterAlarmThresholds,
    ClusterMetrics,
    FleetBudget,
    MetricsDestination,
    MonitoringSpec,
    SlackChannel,
    TeamsChannel,
)

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_ROLE = re.compile(r"([\x21-\x7F]+/)?[\w+=,.@-]{1,64}")
"""Name of a role, with its path (botocore 1.44.5, budgets Role)."""


def check_monitoring_spec(monitoring: MonitoringSpec) -> list[Problem]:
    """Return everything that is wrong with `monitoring` by itself, by its attributes."""
    days = check_retention_days(monitoring.log_retention_days, AlarmCode.MONITORING_RETENTION, "log_retention_days")
    budget = check_fleet_budget(monitoring.budget) if monitoring.budget else []
    return [
        *(problem.under("alarms") for problem in _check_alarms(monitoring.alarms)),
        *days,
        *(problem.under("budget") for problem in budget),
    ]


@rule
def check_monitoring_name(name: str) -> Iterator[Problem]:
    """Return a problem for a name that is invalid for alarms, a dashboard or a chat configuration."""
    if not is_unresolved(name) and not _NAME.fullmatch(name):
        yield Problem(
            code=AlarmCode.MONITORING_NAME,
            path=("name",),
            value=name,
            message="this name is not valid for alarms and a dashboard",
            allowed="1 to 63 letters, digits and hyphens, no hyphen at either end",
            remedy='write e.g. name="my-fleet"',
        )


@rule
def check_watched_names(names: Sequence[str], *, known: Collection[str]) -> Iterator[Problem]:
    """Return a problem for each of `names` that is not one of the fleet's clusters `known`, or is repeated."""
    for index, name in enumerate(names):
        if name not in known or name in names[:index]:
            yield Problem(
                code=AlarmCode.MONITORING_CLUSTER,
                path=("clusters", index),
                value=name,
                message="this cluster is listed twice" if name in known else "the fleet has no cluster with this name",
                allowed=", ".join(known) or "no cluster: the fleet has none",
                remedy=_remedy(name, known),
            )


def _remedy(name: str, known: Collection[str]) -> str:
    if name in known:
        return "write it once"
    near = nearest(name, known)
    return f"write `{near}`" if near else "remove it, or write the key of a cluster"


@rule
def check_something_watched(*, parts: int, budget: bool) -> Iterator[Problem]:
    """Return a problem when there is nothing to monitor and no budget: the stack would have only an SNS topic."""
    if not parts and not budget:
        yield Problem(
            code=AlarmCode.NOTHING_WATCHED,
            message="there is nothing to monitor: no cluster, no file system, no database, no budget",
            remedy="add a cluster or a budget, or remove `monitoring`",
        )


def _check_alarms(alarms: ClusterAlarms) -> list[Problem]:
    return [
        *check_emails(alarms.emails, AlarmCode.MONITORING_EMAIL, "emails"),
        *(problem.under("thresholds") for problem in _check_thresholds(alarms.thresholds)),
        *(problem.under("slack") for problem in (check_chat(alarms.slack) if alarms.slack else ())),
        *(problem.under("teams") for problem in (check_chat(alarms.teams) if alarms.teams else ())),
    ]


def _check_thresholds(thresholds: ClusterAlarmThresholds) -> Iterator[Problem]:
    """Return a problem for each threshold with which an alarm would always ring, or never."""
    for name, value in thresholds:
        percent = name.endswith("_percent")
        if value is None or is_unresolved(value) or (0 < value < 100 if percent else alarm_minutes().holds(value)):
            continue
        yield thresholds.wrong(
            name,
            AlarmCode.MONITORING_THRESHOLD,
            "with this threshold the alarm would always ring, or never",
            f"remove it to use the default, {alarm_thresholds()[name]:g}{'' if percent else ' minutes'}",
            allowed="above 0 and below 100" if percent else f"{alarm_minutes().range} minutes",
        )


@rule
def check_chat(channel: SlackChannel | TeamsChannel) -> Iterator[Problem]:
    """Return a problem for each id of `channel` that does not have the form of Slack or Microsoft Teams."""
    facts, no_channel = chat_facts(), "this is not the id of a channel"
    if isinstance(channel, SlackChannel):
        console = "the console of Amazon Q Developer in chat applications"
        remedy = f"write the workspace id, which {console} shows after you authorize the workspace there"
        no_workspace = "this is not the id of a Slack workspace"
        yield from _check_id(channel, "workspace_id", facts.slack_workspace, no_workspace, "T0123456789", remedy)
        remedy = "write the channel's id, not its name: it is the end of the channel's link in Slack"
        yield from _check_id(channel, "channel_id", facts.slack_channel, no_channel, "C0123456789", remedy)
        return
    uuid = "01234567-89ab-cdef-0123-456789abcdef"
    remedy = "write the groupId and the tenantId from the channel's link in Teams"
    yield from _check_id(channel, "team_id", facts.uuid, "this is not the id of a team", uuid, remedy)
    yield from _check_id(channel, "tenant_id", facts.uuid, "this is not the id of a tenant", uuid, remedy)
    example = "19%3a0123abcd%40thread.tacv2"
    remedy = "write the part after /channel/ of the channel's link in Teams, with its %3a and %40"
    yield from _check_id(channel, "channel_id", facts.teams_channel, no_channel, example, remedy)


def _check_id(
    channel: SlackChannel | TeamsChannel, name: str, limit: Limit, message: str, example: str, remedy: str
) -> Iterator[Problem]:
    value: str = getattr(channel, name)
    if not is_unresolved(value) and not limit.fits(value):
        allowed = f"text of the form of `{example}`"
        yield channel.wrong(name, AlarmCode.MONITORING_CHAT, message, remedy, allowed=allowed)


def check_fleet_budget(budget: FleetBudget) -> list[Problem]:
    """Return what is wrong with `budget` by itself."""
    return [
        *check_positive(
            budget.monthly_usd,
            AlarmCode.FLEET_BUDGET_AMOUNT,
            "monthly_usd",
            what="the monthly budget",
            remedy="write an amount in US dollars, or remove the budget",
        ),
        *_check_shares(budget),
        *check_emails(budget.emails, AlarmCode.MONITORING_EMAIL, "emails"),
        *_check_number_of_emails(budget),
        *(problem.under("deny", "roles") for problem in (_check_roles(budget.deny.roles) if budget.deny else ())),
    ]


@rule
def check_budget_tag(tag: str | None, tags: Mapping[str, str]) -> Iterator[Problem]:
    """Return a problem when the fleet does not have the tag by which its budget counts costs."""
    if tag is None or tag in tags:
        return
    named = ", ".join(sorted(tags)) or "none"
    yield Problem(
        code=AlarmCode.FLEET_BUDGET_TAG,
        path=("tag",),
        value=tag,
        message="the fleet does not have this tag, so the budget would count no costs",
        allowed=f"a key of `tags`: {named}" if tags else "a key of `tags` (it is empty)",
        remedy=f"add `{tag}: …` to `tags` of the fleet, or remove `tag` to count the costs of the whole account",
    )


def _check_shares(budget: FleetBudget) -> Iterator[Problem]:
    thresholds = budget.at_percent
    if is_list_token(thresholds):
        return
    wrong = [
        problem.under("at_percent", index)
        for index, value in enumerate(thresholds)
        for problem in check_positive(
            value,
            AlarmCode.FLEET_BUDGET_SHARE,
            what="the threshold of the budget",
            remedy="write a percentage above 0; 100 is the whole budget",
        )
    ]
    yield from wrong
    room = (fleet_budget_facts().notifications.maximum or 0) - int(bool(budget.forecast))
    twice = len(set(thresholds)) != len(thresholds)
    if not wrong and (twice or not 0 < len(thresholds) <= room):
        yield budget.wrong(
            "at_percent",
            AlarmCode.FLEET_BUDGET_SHARE,
            "a threshold is repeated"
            if twice
            else f"a budget must have 1 to {room} thresholds, and this one has {len(thresholds)}",
            "write each threshold once, e.g. 50, 80 and 100",
            allowed=f"1 to {room} different percentages",
        )


def _check_number_of_emails(budget: FleetBudget) -> Iterator[Problem]:
    limit = fleet_budget_facts().emails
    if not is_list_token(budget.emails) and not limit.holds(len(budget.emails)):
        yield budget.wrong(
            "emails",
            AlarmCode.MONITORING_EMAIL,
            f"a budget can have at most {limit.maximum} email addresses, and this one has {len(budget.emails)}",
            "write the address of a mailing list; the SNS topic is always notified",
            allowed=limit.range,
        )


def _check_roles(roles: Sequence[str]) -> Iterator[Problem]:
    if is_list_token(roles):
        return
    if not roles:
        yield Problem(
            code=AlarmCode.FLEET_BUDGET_ROLE,
            message="`deny` has no effect without roles",
            remedy="write `roles: [ml-engineers]` with the names of your roles, or remove `deny`",
        )
    wrong = [
        index
        for index, role in enumerate(roles)
        if not is_unresolved(role) and (":" in role or not _ROLE.fullmatch(role) or role in roles[:index])
    ]
    for index in wrong:
        yield Problem(
            code=AlarmCode.FLEET_BUDGET_ROLE,
            path=(index,),
            value=roles[index],
            message="this is not the name of an IAM role, or is repeated",
            allowed="the name of a role, e.g. `ml-engineers`, each once",
            remedy="write each role once, by its name: the part of the ARN after `:role/`",
        )
    most = fleet_budget_facts().roles.maximum or 0
    if not wrong and len(roles) > most:
        yield Problem(
            code=AlarmCode.FLEET_BUDGET_ROLE,
            value=list(roles),
            message=f"an action of AWS Budgets can have at most {most} roles, and this one has {len(roles)}",
            allowed=f"up to {most}",
            remedy="keep the roles that start the most instances",
        )


_OWNERS = {
    "retention_days": MetricsDestination.CLOUDWATCH,
    "workspace_arn": MetricsDestination.PROMETHEUS,
    "grafana": MetricsDestination.PROMETHEUS,
}
"""Settings of metrics that only one destination supports, and this destination."""


@rule
def check_metrics(metrics: ClusterMetrics, *, region: str | None) -> Iterator[Problem]:
    """Return what is wrong with `metrics` of clusters in `region`, by its attributes."""
    yield from check_retention_days(metrics.retention_days, MetricsCode.RETENTION, "retention_days")
    for name, owner in _OWNERS.items():
        if owner is not metrics.destination and getattr(metrics, name, None) is not None:
            yield metrics.wrong(
                name,
                MetricsCode.OTHER_DESTINATION,
                f"`{name}` has no effect: it is for the destination {owner}, and this one is "
                f"{metrics.destination.value}",
                f"remove it, or write the destination {owner}",
            )
    yield from _check_workspace(metrics, region)


def _check_workspace(metrics: ClusterMetrics, region: str | None) -> Iterator[Problem]:
    arn = metrics.workspace_arn
    if arn is None or is_unresolved(arn):
        return
    if not re.fullmatch(workspace_arn_pattern(), arn):
        yield metrics.wrong(
            "workspace_arn",
            MetricsCode.WORKSPACE,
            "this is not the ARN of a workspace of Amazon Managed Service for Prometheus",
            "write an ARN that `aws amp list-workspaces` shows, or remove it in a fleet file to create a workspace",
            allowed="arn:aws:aps:<region>:<account>:workspace/ws-<id>",
        )
        return
    there = arn.split(":")[3]
    if region is not None and not is_unresolved(region) and there != region:
        yield metrics.wrong(
            "workspace_arn",
            MetricsCode.OTHER_REGION,
            f"the workspace is in {there}, and the cluster in {region}: both must be in the same region",
            f"write a workspace in {region}",
        )
