"""Closed vocabularies that only the fleet file has."""

from enum import StrEnum

from llm_fleet.rules.terms import NodeProvisioningMode


class Provisioning(StrEnum):
    """How HyperPod brings up the instances."""

    CONTINUOUS = "Continuous"
    NONE = "none"
    """All or nothing, the service's older way."""

    @property
    def mode(self) -> NodeProvisioningMode | None:
        """The API's word for it; `None` where the API has none."""
        return None if self is Provisioning.NONE else NodeProvisioningMode(self.value)


class Removal(StrEnum):
    """What becomes of a thing when its stack is deleted."""

    DESTROY = "destroy"
    RETAIN = "retain"
