"""What is known of an inference service over time: its server's own metrics and its load balancer's."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from llm_fleet.catalog.model_server import ServerMetric, server_metrics
from llm_fleet.catalog.service import namespace
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
