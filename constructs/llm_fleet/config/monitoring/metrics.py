"""What nodes measure of themselves, and where it goes."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from pydantic import Field

from llm_fleet.rules.monitoring.metrics_terms import MetricsDestination
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Days


class MetricsConfig(FleetModel):
    """What nodes of clusters measure of themselves each minute, and where it goes."""

    other_words: ClassVar[Mapping[str, str]] = {
        "destination": "write `to`",
        "namespace": "the namespace is `LlmFleet/Nodes`, and cannot be another",
        "interval": "nodes measure each minute",
        "logs": "write `retention`",
    }

    destination: MetricsDestination = Field(alias="to", examples=["cloudwatch"])
    """Where it goes: `cloudwatch`, `prometheus` (Amazon Managed Service for Prometheus) or `none`."""
    retention_days: Days | None = Field(default=None, alias="retention")
    """How long CloudWatch Logs keeps the line that each node writes each minute. Default: `14 days`."""
    workspace_arn: str | None = Field(default=None, alias="workspace")
    """ARN of an existing workspace for `prometheus`, of the fleet's region. Default: one is made, and retained."""
    grafana: bool | None = None
    """Whether a workspace of Amazon Managed Grafana is made that reads the Prometheus workspace. Default: no.

    People sign in by IAM Identity Center, which the account must have."""


def metrics_in_long_form(written: Any) -> Any:
    """Return `metrics: cloudwatch` as `{to: cloudwatch}`; what is of another form stays as it is."""
    return {"to": written} if isinstance(written, str) else written


def or_destination(schema: dict[str, Any]) -> None:
    """Tell editors of the short form: the destination alone."""
    arms = cast("list[dict[str, Any]]", schema.get("anyOf", [{"$ref": schema.pop("$ref", "")}]))
    long = [arm for arm in arms if arm.get("type") != "null"]
    schema["anyOf"] = [*long, {"enum": [kind.value for kind in MetricsDestination]}]
