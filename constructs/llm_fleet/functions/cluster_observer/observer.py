"""Looks at clusters and writes down what it finds: metrics that alarms look at, and log groups that end one day."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from .head_node import head_node_is_impaired
from .hyperpod_nodes import Cluster, look_at_hyperpod
from .log_groups import keep_log_group
from .settings import HYPERPOD, Settings

_LOG = logging.getLogger(__name__)
_MOST_METRICS = 1000
"""A call of PutMetricData takes no more."""


class NotAllSeen(Exception):
    """Some of the clusters could not be looked at; the log has the reasons."""


class Observer:
    """One run over all clusters, or over one that has just changed its state."""

    def __init__(self, settings: Settings, client: Callable[[str], Any]) -> None:
        """Ask with the clients that `client` makes of a service's name."""
        self._settings = settings
        self._client = client

    def look_at_all(self) -> dict[str, dict[str, int]]:
        """Publish how each cluster stands, and return it by cluster.

        A cluster that is not there is passed over. One that cannot be looked at does not keep the others from it:
        raises `NotAllSeen` in the end, so that Lambda counts an error.
        """
        seen: dict[str, dict[str, int]] = {}
        failed: list[str] = []
        for name, kind in self._settings.clusters.items():
            try:
                seen[name] = self._hyperpod(name) if kind == HYPERPOD else self._parallelcluster(name)
            except Exception:
                _LOG.exception("%s could not be looked at", name)
                failed.append(name)
        self._publish(seen)
        if failed:
            raise NotAllSeen(", ".join(failed))
        return seen

    def hear_of(self, detail: Mapping[str, Any]) -> str:
        """Make the log group of a cluster whose state has changed, before its first node writes; return what was done.

        Only of a cluster that this function was told of, and as long as it is one that is there.
        """
        arn, status = str(detail.get("ClusterArn", "")), str(detail.get("ClusterStatus"))
        name = str(detail.get("ClusterName", ""))
        if self._settings.clusters.get(name) != HYPERPOD or ":cluster/" not in arn or status == "Deleting":
            return "passed over"
        return self._keep_log_group(name, arn)

    def _hyperpod(self, name: str) -> dict[str, int]:
        cluster = look_at_hyperpod(self._client("sagemaker"), name)
        if cluster is None:
            return {}
        self._keep_log_group(name, cluster.arn)
        return _counted(cluster)

    def _parallelcluster(self, name: str) -> dict[str, int]:
        impaired = head_node_is_impaired(self._client("ec2"), name)
        return {} if impaired is None else {"head_node_impaired": int(impaired)}

    def _keep_log_group(self, name: str, arn: str) -> str:
        group = f"{self._settings.log_group}/{name}/{arn.rpartition('/')[2]}"
        done = keep_log_group(
            self._client("logs"), group, days=self._settings.retention_days, key_arn=self._settings.key_arn
        )
        if done != "kept":
            _LOG.info("log group %s %s, for %d days", group, done, self._settings.retention_days)
        return done

    def _publish(self, seen: Mapping[str, Mapping[str, int]]) -> None:
        data = [
            {
                "MetricName": self._settings.metrics[key],
                "Dimensions": [{"Name": self._settings.dimension, "Value": name}],
                "Value": value,
                "Unit": "Count",
            }
            for name, counted in seen.items()
            for key, value in counted.items()
        ]
        for start in range(0, len(data), _MOST_METRICS):
            self._client("cloudwatch").put_metric_data(
                Namespace=self._settings.namespace, MetricData=data[start : start + _MOST_METRICS]
            )


def _counted(cluster: Cluster) -> dict[str, int]:
    return {
        "nodes_running": cluster.running,
        "nodes_pending": cluster.pending,
        "nodes_missing": cluster.missing,
        "nodes_failed": cluster.failed,
    }
