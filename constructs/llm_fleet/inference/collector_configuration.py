"""What the collector is told: read the server's metrics, make differences of what only grows, write EMF lines.

Its form is the OpenTelemetry Collector's, of the components that the AWS Distro has (README of
aws-observability/aws-otel-collector). JSON is YAML, so the distribution takes it as it is.
"""

import re
from collections.abc import Sequence
from typing import Any

from llm_fleet.catalog.model_server import ServerMetric, server_metrics
from llm_fleet.catalog.service import collector_facts, namespace

LOG_STREAM = "metrics"
"""Of the service's log group: what CloudWatch has made metrics of. One for all tasks; PutLogEvents needs no order."""
_SERIES = {"gauge": ("",), "counter": ("",), "histogram": ("_bucket", "_sum", "_count")}
"""What names of series end in, by type of metric."""
_UP = "up"
"""Prometheus's own: whether the scrape was answered."""


def collector_configuration(
    *,
    server: str,
    port: int,
    metrics_path: str,
    cluster_name: str,
    service_name: str,
    log_group_name: str,
    region: str,
) -> dict[str, Any]:
    """Return the configuration for `server` (its name in the catalog) at `port` of the same task.

    Only the metrics in the catalog are kept: each metric and set of dimensions costs, and each line is stored.
    """
    metrics = server_metrics(server).all
    return {
        "receivers": {
            "prometheus": {
                "config": {
                    "scrape_configs": [
                        _scrape(
                            metrics,
                            target=f"127.0.0.1:{port}",
                            path=metrics_path,
                            labels={"ClusterName": cluster_name, "ServiceName": service_name},
                        )
                    ]
                }
            }
        },
        "processors": _processors(metrics),
        "exporters": {"awsemf": _exporter(metrics, log_group_name=log_group_name, region=region)},
        "service": {
            "telemetry": {"logs": {"level": "warn"}},
            "pipelines": {
                "metrics": {
                    "receivers": ["prometheus"],
                    "processors": ["memory_limiter", "cumulativetodelta"],
                    "exporters": ["awsemf"],
                }
            },
        },
    }


def _scrape(metrics: Sequence[ServerMetric], *, target: str, path: str, labels: dict[str, str]) -> dict[str, Any]:
    """The labels of the target stand at every series, also at `up`: they become the dimensions."""
    facts = collector_facts()
    series = [re.escape(metric.name) + end for metric in metrics for end in _SERIES[metric.type]]
    return {
        "job_name": "server",
        "scrape_interval": f"{facts.scrape_seconds}s",
        "scrape_timeout": f"{facts.scrape_timeout_seconds}s",
        "metrics_path": path,
        "static_configs": [{"targets": [target], "labels": labels}],
        "metric_relabel_configs": [{"source_labels": ["__name__"], "regex": "|".join(series), "action": "keep"}],
    }


def _processors(metrics: Sequence[ServerMetric]) -> dict[str, Any]:
    """Counters are made differences by the exporter itself; histograms are not.

    The first value is kept: the collector starts with its server, so what a series begins with has just happened, and
    many series are there only from their first event on.
    """
    facts = collector_facts()
    histograms = [metric.name for metric in metrics if metric.type == "histogram"]
    return {
        "memory_limiter": {
            "check_interval": "1s",
            "limit_mib": facts.memory_limiter_mib,
            "spike_limit_mib": facts.memory_spike_mib,
        },
        "cumulativetodelta": {
            "include": {"match_type": "strict", "metrics": histograms},
            "initial_value": "keep",
        },
    }


def _exporter(metrics: Sequence[ServerMetric], *, log_group_name: str, region: str) -> dict[str, Any]:
    plain = [_UP, *(metric.name for metric in metrics if not metric.labels)]
    return {
        "namespace": namespace(),
        "region": region,
        "log_group_name": log_group_name,
        "log_stream_name": LOG_STREAM,
        "dimension_rollup_option": "NoDimensionRollup",
        "retain_initial_value_of_delta_metric": True,
        "metric_declarations": [
            _declaration(plain, []),
            *(_declaration([metric.name], sorted(metric.labels)) for metric in metrics if metric.labels),
        ],
        "metric_descriptors": [
            {"metric_name": metric.name, "unit": metric.unit, "overwrite": True} for metric in metrics
        ],
    }


def _declaration(names: Sequence[str], labels: Sequence[str]) -> dict[str, Any]:
    return {
        "dimensions": [["ClusterName", "ServiceName", *labels]],
        "metric_name_selectors": [f"^{re.escape(name)}$" for name in names],
    }
