"""The metrics of a service: those of its server, which a collector sends to CloudWatch, and those of its load balancer.

The collector reads the server's metrics, calculates differences of counters, and writes EMF lines. Its configuration
format is that of the OpenTelemetry Collector, with components of the AWS Distro for OpenTelemetry (README of
aws-observability/aws-otel-collector), as JSON, which is also YAML.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from llm_fleet.catalog.model_server import ServerMetric, server_metrics
from llm_fleet.catalog.service import collector_facts, namespace
from llm_fleet.iam.statements import Permission
from llm_fleet.notifications.metric_alarms import Measure, MetricMath, ServiceMetric, average_sum

_LOAD_BALANCER = "AWS/ApplicationELB"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceMetrics:
    """Metrics of one service. It creates no resource; each method returns data with `as_cloudwatch()`.

    Server metrics are averages over the scrapes of all tasks, so the average of a gauge is that of one task.
    Percentiles are not available: CloudWatch gets only sum and count of a histogram.
    """

    server: str
    """Name of the server in the catalog, e.g. `tgi`."""
    batch_size: int
    """Number of sequences that a task generates concurrently."""
    cluster_name: str
    """Name of the ECS cluster."""
    service_name: str
    """Name of the ECS service."""
    load_balancer: str
    """Full name of the load balancer: `app/<name>/<id>`."""
    target_group: str
    """Full name of the target group: `targetgroup/<name>/<id>`."""

    @property
    def dimensions(self) -> Mapping[str, str]:
        """Dimensions of all metrics of the collector, with ECS's names."""
        return MappingProxyType({"ClusterName": self.cluster_name, "ServiceName": self.service_name})

    def waiting(self) -> Measure:
        """Return the average number of waiting requests per task."""
        return self._answer("waiting", label="waiting")

    def running(self) -> Measure:
        """Return the average number of sequences in generation per task."""
        return self._answer("running", label="running")

    def requests_in_task(self) -> MetricMath:
        """Return the average number of requests per task, waiting and running: the scaling metric."""
        metrics = self._metrics("waiting") | self._metrics("running")
        return MetricMath(expression=" + ".join(metrics), metrics=MappingProxyType(metrics), label="requests per task")

    def time_to_first_token(self) -> Measure:
        """Return the average seconds until the first token.

        TGI has no such metric; for TGI it is the sum of the averages of validation, queue and prefill.
        """
        return self._answer("time_to_first_token", label="time to first token")

    def time_per_token(self) -> Measure:
        """Return the average seconds per output token."""
        return self._answer("time_per_token", label="time per token")

    def answer_time(self) -> Measure:
        """Return the average end-to-end latency in seconds."""
        return self._answer("answer_time", label="answer")

    def answers(self) -> Measure:
        """Return the number of finished answers."""
        return self._answer("answer_time", statistic="SampleCount", label="answers")

    def tokens(self) -> Measure:
        """Return the number of generated tokens, counted when an answer is finished."""
        return self._answer("answer_tokens", statistic="Sum", label="tokens")

    def rejected(self) -> Measure | None:
        """Return the number of requests rejected because of overload; `None` for a server that never rejects any."""
        if not server_metrics(self.server).rejected:
            return None
        return self._answer("rejected", statistic="Sum", label="rejected (429)")

    def scraped(self) -> ServiceMetric:
        """Return whether the collector reached any server: 1 or 0."""
        return ServiceMetric(
            namespace=namespace(), name="up", dimensions=self.dimensions, statistic="Maximum", label="collector"
        )

    def requests(self) -> ServiceMetric:
        """Return the number of requests that the load balancer forwarded to servers."""
        return self._of_targets("RequestCount", label="requests")

    def server_errors(self) -> ServiceMetric:
        """Return the number of 5xx responses of servers."""
        return self._of_targets("HTTPCode_Target_5XX_Count", label="5xx of servers")

    def client_errors(self) -> ServiceMetric:
        """Return the number of 4xx responses of servers, including 429."""
        return self._of_targets("HTTPCode_Target_4XX_Count", label="4xx of servers")

    def failed(self) -> Measure | None:
        """Return the number of failed answers without a 5xx; `None` for a server that does not report it.

        TGI returns 424 for a failed generation; a stream that has begun keeps its status 200.
        """
        if not server_metrics(self.server).failed:
            return None
        return self._answer("failed", statistic="Sum", label="failed generations")

    def server_error_percent(self) -> MetricMath:
        """Return the percentage of requests that failed in servers; no value without requests."""
        bad = {"errors": self.server_errors()} | self._metrics("failed", statistic="Sum")
        failures = " + ".join(f"FILL({id}, 0)" for id in bad)
        return MetricMath(
            expression=f"100 * ({failures}) / requests",
            metrics=MappingProxyType({**bad, "requests": self.requests()}),
            label="failed requests, percent",
        )

    def load_balancer_errors(self) -> ServiceMetric:
        """Return the number of 5xx responses of the load balancer itself."""
        return ServiceMetric(
            namespace=_LOAD_BALANCER,
            name="HTTPCode_ELB_5XX_Count",
            dimensions=MappingProxyType({"LoadBalancer": self.load_balancer}),
            statistic="Sum",
            label="5xx of the load balancer",
        )

    def healthy_hosts(self) -> ServiceMetric:
        """Return the number of healthy targets."""
        return self._of_targets("HealthyHostCount", statistic="Minimum", label="healthy")

    def unhealthy_hosts(self) -> ServiceMetric:
        """Return the number of unhealthy targets."""
        return self._of_targets("UnHealthyHostCount", statistic="Maximum", label="unhealthy")

    def of_log(self, name: str, *, label: str) -> ServiceMetric:
        """Return the number of matches of the metric filter `name` in the service's log group."""
        return ServiceMetric(
            namespace=namespace(), name=f"{self.service_name}/{name}", dimensions={}, statistic="Sum", label=label
        )

    def _of_targets(self, name: str, *, statistic: str = "Sum", label: str) -> ServiceMetric:
        return ServiceMetric(
            namespace=_LOAD_BALANCER,
            name=name,
            dimensions=MappingProxyType({"LoadBalancer": self.load_balancer, "TargetGroup": self.target_group}),
            statistic=statistic,
            label=label,
        )

    def _answer(self, question: str, *, label: str, statistic: str = "Average") -> Measure:
        return average_sum(self._metrics(question, statistic=statistic), label=label)

    def _metrics(self, question: str, *, statistic: str = "Average") -> dict[str, ServiceMetric]:
        """Return the server's metrics for `question`, a field of `ServerMetrics`, by an id for metric math."""
        found: tuple[ServerMetric, ...] = getattr(server_metrics(self.server), question)
        return {
            f"{question}{n or ''}": ServiceMetric(
                namespace=namespace(),
                name=metric.name,
                dimensions=MappingProxyType({**self.dimensions, **metric.labels}),
                statistic=statistic,
                label=metric.name,
            )
            for n, metric in enumerate(found)
        }


LOG_STREAM = "metrics"
"""Stream of the metrics in the service's log group. All tasks share it; PutLogEvents needs no sequence token."""
_SERIES = {"gauge": ("",), "counter": ("",), "histogram": ("_bucket", "_sum", "_count")}
"""Suffixes of series names by type of metric."""
_UP = "up"
"""Prometheus's own metric: whether the scrape succeeded."""


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
    """Return the configuration for `server` (its name in the catalog) on `port` of the same task.

    Only metrics in the catalog are kept, because each metric, dimension set and log line has a cost.
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
    """Labels of the target are added to all series, including `up`: they become the dimensions."""
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
    """The exporter itself converts counters to differences, but not histograms.

    The first value is kept: the collector starts with its server, so the initial value of a series is new, and many
    series exist only from their first event on.
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


COLLECTOR = "collector"
"""Name of the container."""


def collector_container(
    scope: Construct,
    *,
    server: str,
    port: int,
    metrics_path: str,
    cluster_name: str,
    service_name: str,
    log_group_name: str,
    image: str | None = None,
    log: ecs.CfnTaskDefinition.LogConfigurationProperty | None = None,
) -> ecs.CfnTaskDefinition.ContainerDefinitionProperty:
    """Return the AWS Distro for OpenTelemetry collector as a sidecar container of the server's task.

    It connects to the server at 127.0.0.1, so the task must have the network mode `awsvpc`. It is not essential: the
    service also works without metrics, and ECS restarts the container when it exits.

    - `server`: the server's name in the catalog.
    - `image`: default: the catalog's in ECR Public, which a network without internet access cannot reach.
    - `log`: log configuration for its own warnings. Default: none.
    """
    facts = collector_facts()
    configuration = collector_configuration(
        server=server,
        port=port,
        metrics_path=metrics_path,
        cluster_name=cluster_name,
        service_name=service_name,
        log_group_name=log_group_name,
        region=cdk.Stack.of(scope).region,
    )
    return ecs.CfnTaskDefinition.ContainerDefinitionProperty(
        name=COLLECTOR,
        image=image or facts.image,
        essential=False,
        cpu=facts.cpu_units,
        memory=facts.memory_mib,
        environment=[
            ecs.CfnTaskDefinition.KeyValuePairProperty(
                name="AOT_CONFIG_CONTENT", value=cdk.Stack.of(scope).to_json_string(configuration)
            )
        ],
        readonly_root_filesystem=True,
        log_configuration=log,
        restart_policy=ecs.CfnTaskDefinition.RestartPolicyProperty(
            enabled=True, restart_attempt_period=facts.restart_attempt_seconds
        ),
    )


def collector_permissions(*, log_group_arn: str) -> tuple[Permission, ...]:
    """Return the task role's permissions for the collector. `log_group_arn` has no `:*` at its end."""
    return (
        Permission(
            sid="WriteMetrics",
            actions=("logs:CreateLogStream", "logs:PutLogEvents"),
            resources=(f"{log_group_arn}:log-stream:{LOG_STREAM}",),
            reason="the collector writes the server's metrics as EMF lines, which CloudWatch converts to metrics",
        ),
    )
