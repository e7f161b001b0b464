"""Images of what runs beside a server."""

from collections.abc import Iterator

from llm_fleet.catalog.service import collector_facts, neuron_health_facts
from llm_fleet.spec.model import FleetModel


class SidecarImagesConfig(FleetModel):
    """Images of what runs beside a server, for networks that cannot reach public registries: copies in your own ECR."""

    collector: str | None = None
    """The AWS Distro for OpenTelemetry Collector, which brings the server's metrics to CloudWatch."""
    problem_detector: str | None = None
    """Kubernetes' node problem detector with Neuron's rules."""
    recovery: str | None = None
    """Neuron's own program beside it, where sick hosts are replaced."""

    def pulled(self, *, watched: bool, replaced: bool) -> Iterator[tuple[str, str]]:
        """Return what is pulled where devices are `watched` and sick hosts `replaced`, by the names of the keys."""
        yield "collector", self.collector or collector_facts().image
        if watched:
            yield "problem_detector", self.problem_detector or neuron_health_facts().detector_image
        if replaced:
            yield "recovery", self.recovery or neuron_health_facts().recovery_image
