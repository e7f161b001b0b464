"""What must hold of where nodes' metrics go."""

import re
from typing import Protocol

from llm_fleet.catalog.monitoring import workspace_arn_pattern
from llm_fleet.rules.monitoring.metrics_codes import MetricsCode
from llm_fleet.rules.monitoring.metrics_terms import MetricsDestination
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import check_retention_days


class MetricsLike(Protocol):
    """Where metrics go: the construct's word and the fleet file's are of this form."""

    @property
    def destination(self) -> MetricsDestination:
        """Where they go."""
        ...

    @property
    def retention_days(self) -> int | None:
        """For how many days CloudWatch Logs keeps the lines; `None` for the default."""
        ...

    @property
    def workspace_arn(self) -> str | None:
        """ARN of the Prometheus workspace; `None` for one that is to be made, or none."""
        ...


def check_metrics(metrics: MetricsLike, *, region: str | None) -> list[Problem]:
    """Return what is wrong with `metrics` of clusters in `region`, by its attributes."""
    return [
        *check_retention_days(metrics.retention_days, MetricsCode.RETENTION, "retention_days"),
        *_strangers(metrics),
        *_workspace(metrics.workspace_arn, region),
    ]


def _strangers(metrics: MetricsLike) -> list[Problem]:
    """Return the settings that are for another destination."""
    wanted = {
        MetricsDestination.CLOUDWATCH: ("retention_days",),
        MetricsDestination.PROMETHEUS: ("workspace_arn", "grafana"),
    }
    known = wanted.get(metrics.destination, ())
    given = [name for name in ("retention_days", "workspace_arn", "grafana") if _is_given(metrics, name)]
    owner = {name: destination.value for destination, names in wanted.items() for name in names}
    return [
        Problem(
            code=MetricsCode.OTHER_DESTINATION,
            message=f"this is of metrics that go to {owner[name]}, and these go to {metrics.destination.value}",
            remedy=f"remove it, or send them to {owner[name]}",
            path=(name,),
            value=getattr(metrics, name),
        )
        for name in given
        if name not in known
    ]


def _is_given(metrics: MetricsLike, name: str) -> bool:
    return getattr(metrics, name, None) is not None


def _workspace(arn: str | None, region: str | None) -> list[Problem]:
    if arn is None or is_unresolved(arn):
        return []
    if not isinstance(arn, str) or not re.fullmatch(workspace_arn_pattern(), arn):  # pyright: ignore[reportUnnecessaryIsInstance] - a user's own program may give anything
        return [
            Problem(
                code=MetricsCode.WORKSPACE,
                message="this is no ARN of a workspace of Amazon Managed Service for Prometheus",
                remedy="take one from `aws amp list-workspaces`, or leave it out in a fleet file and have one made",
                path=("workspace_arn",),
                value=arn,
                allowed="arn:aws:aps:<region>:<account>:workspace/ws-<id>",
            )
        ]
    there = arn.split(":")[3]
    if region is None or is_unresolved(region) or there == region:
        return []
    return [
        Problem(
            code=MetricsCode.OTHER_REGION,
            message=f"the workspace is in {there} and the cluster in {region}: nodes sign for their own region",
            remedy=f"name a workspace in {region}",
            path=("workspace_arn",),
            value=arn,
        )
    ]


def check_is_metrics(given: object, kind: type, *path: str) -> list[Problem]:
    """Return a problem unless `given` is of the class `kind`, or nothing."""
    if given is None or isinstance(given, kind):
        return []
    return [
        Problem(
            code=MetricsCode.NO_METRICS,
            message=f"a {type(given).__name__} does not tell where metrics go",
            remedy=f"give {kind.__name__}.cloudwatch() or {kind.__name__}.prometheus(workspace_arn=…)",
            path=path,
            value=given,
        )
    ]
