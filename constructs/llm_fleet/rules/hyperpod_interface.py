"""The EFA interfaces of a HyperPod group."""

from llm_fleet.catalog.instances import facts_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.instance_group import InstanceGroup


def check_network_interface(group: InstanceGroup) -> list[Problem]:
    """Check that each instance type has EFA where a kind of EFA interface is asked for."""
    if group.network_interface is None:
        return []
    return [
        Problem(
            code=Code.CLUSTER_INTERFACE,
            message=f"{name} has no EFA interface",
            remedy="leave network_interface out, or take an instance type with EFA",
            path=("network_interface",),
            value=group.network_interface.value,
        )
        for name in group.types
        if (facts := facts_of(name)) is not None and facts.efa_interfaces == 0
    ]
