"""Whether a front can stand in a network, and whom it lets in there."""

from collections.abc import Sequence

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.protocols import FrontLike
from llm_fleet.rules.network_load_balancers import check_load_balancer_place
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import InternetAccess


def check_front_place(
    front: FrontLike,
    *,
    zones: Sequence[str],
    target_zones: Sequence[str],
    vpc_cidrs: Sequence[str],
    internet: InternetAccess | None,
) -> list[Problem]:
    """Return why `front` cannot stand in a network; paths begin with `front` or `network`.

    - `zones`: where the network has subnets for it; `target_zones`: where hosts stand.
    - `vpc_cidrs`: the VPC's blocks, empty where nobody told.
    - `internet`: the network's; `None` of one that exists already.
    """
    problems = check_load_balancer_place(
        zones, target_zones=target_zones, public=front.public is True, new_network=internet is not None
    )
    if front.public is not True and not front.allowed_cidrs and not vpc_cidrs:
        problems.append(
            Problem(
                code=Code.FRONT_CLIENTS,
                path=("front", "allowed_cidrs"),
                message="a private front is open to the VPC's own addresses unless told otherwise, and nobody told "
                "which those are",
                allowed="ranges of IPv4 addresses",
                remedy="list the ranges of your clients, or tell the network its `vpc_cidrs`",
            )
        )
    return problems
