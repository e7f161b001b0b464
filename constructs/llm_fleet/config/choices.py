"""Closed vocabularies that only the fleet file has."""

from enum import StrEnum

from llm_fleet.rules.terms import LifecycleHook, NodeProvisioningMode, NodeType


class Role(StrEnum):
    """What an instance group does in Slurm, as the fleet file spells it."""

    CONTROLLER = "controller"
    LOGIN = "login"
    COMPUTE = "compute"

    @property
    def node_type(self) -> NodeType:
        """The API's word for it."""
        return NodeType(self.value.capitalize())


class Lifecycle(StrEnum):
    """When the nodes run the scripts of the lifecycle bundle."""

    ON_INIT_COMPLETE = "OnInitComplete"
    ON_CREATE = "OnCreate"
    NONE = "none"
    """Never: the AMI configures all there is."""

    @property
    def hook(self) -> LifecycleHook | None:
        """The API's word for it; `None` for no script."""
        return None if self is Lifecycle.NONE else LifecycleHook(self.value)


class Provisioning(StrEnum):
    """How HyperPod brings up the instances."""

    CONTINUOUS = "Continuous"
    NONE = "none"
    """All or nothing, the service's older way."""

    @property
    def mode(self) -> NodeProvisioningMode | None:
        """The API's word for it; `None` where the API has none."""
        return None if self is Provisioning.NONE else NodeProvisioningMode(self.value)


class NetworkInterface(StrEnum):
    """What kind of EFA interface nodes get."""

    EFA = "efa"
    """EFA, and the ENA device for IP beside it."""
    EFA_ONLY = "efa-only"
    """EFA alone."""


class Removal(StrEnum):
    """What becomes of a thing when its stack is deleted."""

    DESTROY = "destroy"
    RETAIN = "retain"
