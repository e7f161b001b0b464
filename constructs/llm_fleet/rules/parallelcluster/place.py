"""Whether a ParallelCluster can live in the network that it is to stand in."""

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import InternetAccess


def check_place(*, has_network: bool, internet: str | None) -> list[Problem]:
    """Return why a cluster cannot stand there, by the attribute `network`; `internet`: `None` is not known."""
    if not has_network:
        return [
            Problem(
                code=Code.PARALLELCLUSTER_NETWORK,
                message="a ParallelCluster stands in a VPC, and there is none",
                remedy="name the AZ that its subnet is to be made in, or a network that exists",
                path=("network",),
            )
        ]
    if internet != InternetAccess.NONE:
        return []
    return [
        Problem(
            code=Code.PARALLELCLUSTER_CLOSED,
            message="the head node writes the names of nodes to Route 53, and calls DynamoDB and CloudFormation: it "
            "reaches none of them from a closed network",
            value=str(internet),
            allowed=f"{InternetAccess.NAT}, {InternetAccess.SHARED_NAT}",
            remedy=f"write `{InternetAccess.NAT}`: nodes have no public address with it, and nobody reaches them",
            path=("network", "internet"),
        )
    ]
