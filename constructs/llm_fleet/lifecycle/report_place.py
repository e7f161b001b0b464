"""Where a node leaves the report of its start."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPlace:
    """Where a node leaves the report of its start, and tells that it failed."""

    s3_uri: str
    """`s3://…` with a slash at its end; may be a token. Nodes write below it and never read."""
    metric_namespace: str | None = None
    """CloudWatch namespace of the metrics. `None` for no metric."""
    event_bus: str | None = None
    """EventBridge bus of the events. `None` for no event."""
