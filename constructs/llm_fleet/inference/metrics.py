"""The metrics of a service: its server's own, brought to CloudWatch by a collector, and its load balancer's.

What the collector is told: read the server's metrics, make differences of what only grows, write EMF lines.

Its form is the OpenTelemetry Collector's, of the components that the AWS Distro has (README of
aws-observability/aws-otel-collector). JSON is YAML, so the distribution takes it as it is.
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
    """Every metric of one service. Makes no resource; each method returns data with `as_cloudwatch()`.

    Metrics of servers are averages over the scrapes of all its tasks, so an average of a gauge is an average task's.
    Percentiles cannot be had: of a histogram CloudWatch gets sum and count.
    """

    server: str
    """Name of the server in the catalog, e.g. `tgi`."""
    batch_size: int
    """How many sequences a task generates side by side."""
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
        """Dimensions of every metric that the collector brings, by ECS's own names."""
        return MappingProxyType({"ClusterName": self.cluster_name, "ServiceName": self.service_name})

    def waiting(self) -> Measure:
        """Return how many requests wait in a task on average."""
        return self._answer("waiting", label="waiting")

    def running(self) -> Measure:
        """Return how many sequences a task generates on average."""
        return self._answer("running", label="running")

    def requests_in_task(self) -> MetricMath:
        """Return how many requests a task has on average, waiting and running: what scaling follows."""
        metrics = self._metrics("waiting") | self._metrics("running")
        return MetricMath(expression=" + ".join(metrics), metrics=MappingProxyType(metrics), label="requests in a task")

    def time_to_first_token(self) -> Measure:
        """Return the average seconds until the first token.

        TGI has no such metric: of it this is the sum of the averages of validation, queue and prefill.
        """
        return self._answer("time_to_first_token", label="time to first token")

    def time_per_token(self) -> Measure:
        """Return the average seconds for each token of an answer."""
        return self._answer("time_per_token", label="time per token")

    def answer_time(self) -> Measure:
        """Return the average seconds of a whole answer."""
        return self._answer("answer_time", label="answer")

    def answers(self) -> Measure:
        """Return how many answers were finished."""
        return self._answer("answer_time", statistic="SampleCount", label="answers")

    def tokens(self) -> Measure:
        """Return how many tokens were generated, counted when their answer was finished."""
        return self._answer("answer_tokens", statistic="Sum", label="tokens")

    def rejected(self) -> Measure | None:
        """Return how many requests were turned away because too many were there; `None` of a server that never does."""
        if not server_metrics(self.server).rejected:
            return None
        return self._answer("rejected", statistic="Sum", label="rejected (429)")

    def scraped(self) -> ServiceMetric:
        """Return whether the collector reached any server: 1, or 0."""
        return ServiceMetric(
            namespace=namespace(), name="up", dimensions=self.dimensions, statistic="Maximum", label="collector"
        )

    def requests(self) -> ServiceMetric:
        """Return how many requests the load balancer sent on to servers."""
        return self._of_targets("RequestCount", label="requests")

    def server_errors(self) -> ServiceMetric:
        """Return how many requests servers answered with 5xx."""
        return self._of_targets("HTTPCode_Target_5XX_Count", label="5xx of servers")

    def client_errors(self) -> ServiceMetric:
        """Return how many requests servers answered with 4xx, 429 among them."""
        return self._of_targets("HTTPCode_Target_4XX_Count", label="4xx of servers")

    def failed(self) -> Measure | None:
        """Return how many answers failed without a 5xx; `None` of a server that does not tell.

        TGI answers 424 where a generation fails, and of a stream that has begun nobody sees another status than 200.
        """
        if not server_metrics(self.server).failed:
            return None
        return self._answer("failed", statistic="Sum", label="failed generations")

    def server_error_percent(self) -> MetricMath:
        """Return how many of a hundred requests failed in servers; nothing where there were no requests."""
        bad = {"errors": self.server_errors()} | self._metrics("failed", statistic="Sum")
        failures = " + ".join(f"FILL({id}, 0)" for id in bad)
        return MetricMath(
            expression=f"100 * ({failures}) / requests",
            metrics=MappingProxyType({**bad, "requests": self.requests()}),
            label="failed requests, percent",
        )

    def load_balancer_errors(self) -> ServiceMetric:
        """Return how many requests the load balancer itself answered with 5xx."""
        return ServiceMetric(
            namespace=_LOAD_BALANCER,
            name="HTTPCode_ELB_5XX_Count",
            dimensions=MappingProxyType({"LoadBalancer": self.load_balancer}),
            statistic="Sum",
            label="5xx of the load balancer",
        )

    def healthy_hosts(self) -> ServiceMetric:
        """Return how many targets answered their health checks."""
        return self._of_targets("HealthyHostCount", statistic="Minimum", label="healthy")

    def unhealthy_hosts(self) -> ServiceMetric:
        """Return how many targets did not answer their health checks."""
        return self._of_targets("UnHealthyHostCount", statistic="Maximum", label="unhealthy")

    def of_log(self, name: str, *, label: str) -> ServiceMetric:
        """Return how often a metric filter called `name` found something in the service's log group."""
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
        """Return the server's metrics that answer `question`, by an id for metric math."""
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
    """Return the AWS Distro for OpenTelemetry Collector as a container of the server's task.

    It reaches the server at 127.0.0.1, so the task must be in network mode `awsvpc`. It is not essential, since a
    service that nobody measures still serves, and ECS starts it anew when it ends.

    - `server`: the server's name in the catalog.
    - `image`: default the catalog's, of the public ECR, which a network without internet cannot reach.
    - `log`: where its own warnings go. Default: nowhere.
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
    """Return what the task's role must have for the collector. `log_group_arn` is without `:*` at its end."""
    return (
        Permission(
            sid="WriteMetrics",
            actions=("logs:CreateLogStream", "logs:PutLogEvents"),
            resources=(f"{log_group_arn}:log-stream:{LOG_STREAM}",),
            reason="the collector writes the server's metrics as lines of EMF, of which CloudWatch makes metrics",
        ),
    )
