"""What the function was told when it was deployed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

HYPERPOD, PARALLELCLUSTER = "hyperpod", "parallelcluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Which clusters there are, and where what is found of them goes."""

    clusters: Mapping[str, str]
    """Kind of each cluster by its name: `hyperpod` or `parallelcluster`."""
    namespace: str
    dimension: str
    metrics: Mapping[str, str]
    """Names of metrics by our keys."""
    log_group: str
    """What the names of HyperPod's log groups begin with."""
    retention_days: int
    key_arn: str
    """Of the KMS key that the log groups get; empty for CloudWatch's own encryption."""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """Take them from the function's environment. Raises `KeyError` for one that is missing."""
        return cls(
            clusters=json.loads(environment["CLUSTERS"]),
            namespace=environment["NAMESPACE"],
            dimension=environment["DIMENSION"],
            metrics=json.loads(environment["METRICS"]),
            log_group=environment["LOG_GROUP"],
            retention_days=int(environment["RETENTION_DAYS"]),
            key_arn=environment.get("KEY_ARN", ""),
        )
