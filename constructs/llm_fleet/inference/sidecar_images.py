"""Images of what runs beside a server, for networks that cannot reach public registries."""

from collections.abc import Iterator
from dataclasses import dataclass

from llm_fleet.catalog.service import collector_facts, neuron_health_facts


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarImages:
    """Whose images are pulled beside the server's. Default: those of their makers, in public registries.

    A network without a way to the internet reaches ECR of its region alone: copy the images there and name them here.
    """

    collector: str = collector_facts().image
    """The AWS Distro for OpenTelemetry Collector, which brings the server's metrics to CloudWatch."""
    problem_detector: str = neuron_health_facts().detector_image
    """Kubernetes' node problem detector with Neuron's rules."""
    recovery: str = neuron_health_facts().recovery_image
    """Neuron's own program beside it, where sick hosts are replaced."""

    def pulled(self, *, watched: bool, replaced: bool) -> Iterator[tuple[str, str]]:
        """Return what is pulled where devices are `watched` and sick hosts `replaced`, by the names of the fields."""
        yield "collector", self.collector
        if watched:
            yield "problem_detector", self.problem_detector
        if replaced:
            yield "recovery", self.recovery
