"""The metrics that SageMaker publishes of an endpoint.

Names, units and dimensions: docs.aws.amazon.com/sagemaker/latest/dg/monitoring-cloudwatch.html
"""

from dataclasses import dataclass
from types import MappingProxyType

from llm_fleet.catalog.endpoint_operations import endpoint_alarm_facts
from llm_fleet.notifications.metric import MetricMath, ServiceMetric

MICROSECONDS = 1_000_000
_HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointMetrics:
    """The metrics of one variant of an endpoint."""

    endpoint_name: str
    variant_name: str

    def requests(self) -> ServiceMetric:
        """Return requests."""
        return self._of_requests("Invocations", "Sum", "requests")

    def requests_per_instance(self) -> ServiceMetric:
        """Return requests of each instance."""
        return self._of_requests("InvocationsPerInstance", "Sum", "requests of an instance")

    def server_errors(self) -> ServiceMetric:
        """Return requests that failed in the model."""
        return self._of_requests("Invocation5XXErrors", "Sum", "5xx")

    def client_errors(self) -> ServiceMetric:
        """Return requests that the model refused."""
        return self._of_requests("Invocation4XXErrors", "Sum", "4xx")

    def server_error_share(self) -> ServiceMetric:
        """Return the share of requests that failed in the model, 0 to 1: each has a point of 0 or 1."""
        return self._of_requests("Invocation5XXErrors", "Average", "share of 5xx")

    def model_latency(self, statistic: str = "Average") -> ServiceMetric:
        """Return how long the model takes for an answer, in microseconds."""
        return self._of_requests("ModelLatency", statistic, f"model, {statistic}")

    def overhead_latency(self) -> ServiceMetric:
        """Return what SageMaker adds to it, in microseconds."""
        return self._of_requests("OverheadLatency", "Average", "overhead, Average")

    def of_instances(self, name: str, label: str) -> ServiceMetric:
        """Return a metric of the instances, e.g. `CPUUtilization`, in percent of one core or one accelerator."""
        return self._metric(endpoint_alarm_facts().instances_namespace, name, "Average", label)

    def requests_while_running(self) -> MetricMath:
        """Return the requests of each hour in which an instance ran: 0 where none came, no value where none ran."""
        running = self._metric(endpoint_alarm_facts().instances_namespace, "CPUUtilization", "SampleCount", "")
        metrics = {"requests": self.requests(), "running": running}
        return MetricMath(
            expression="FILL(requests, 0) + 0 * running",
            metrics=MappingProxyType(metrics),
            label="requests while instances ran",
        ).over(seconds=_HOUR)

    def _of_requests(self, name: str, statistic: str, label: str) -> ServiceMetric:
        return self._metric(endpoint_alarm_facts().namespace, name, statistic, label)

    def _metric(self, namespace: str, name: str, statistic: str, label: str) -> ServiceMetric:
        return ServiceMetric(
            namespace=namespace,
            name=name,
            dimensions=MappingProxyType({"EndpointName": self.endpoint_name, "VariantName": self.variant_name}),
            statistic=statistic,
            label=label,
        )
