"""The EFA interfaces of a HyperPod group."""

from collections.abc import Sequence

from llm_fleet.catalog.instances import facts_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem


def check_network_interface(interface: str | None, instance_types: Sequence[str]) -> list[Problem]:
    """Check that each instance type has EFA where a kind of EFA interface is asked for; `None` asks for none."""
    if interface is None:
        return []
    return [
        Problem(
            code=Code.CLUSTER_INTERFACE,
            message=f"{name} has no EFA interface",
            remedy="leave network_interface out, or take an instance type with EFA",
            path=("network_interface",),
            value=interface,
        )
        for name in instance_types
        if (facts := facts_of(name)) is not None and facts.efa_interfaces == 0
    ]
