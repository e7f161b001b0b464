"""Whether an existing subnet is where the fleet file says, has room, and leads somewhere."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from llm_fleet.rules.day_two.check_codes import CheckCode
from llm_fleet.rules.network_zone_plan import ZonePlan
from llm_fleet.rules.problem import PathPart, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingSubnet:
    """What EC2 says of one subnet."""

    subnet_id: str
    vpc_id: str
    zone: str
    """AZ id."""
    cidr: str
    free: int
    """Addresses that nobody has."""
    held: int = 0
    """Addresses that the fleet itself has already, from an earlier deployment."""


def check_subnet_place(
    subnet: ExistingSubnet, *, vpc_id: str, zone: str, path: tuple[PathPart, ...] = ()
) -> list[Problem]:
    """Return a problem when the subnet is of another VPC or AZ than the fleet file says."""
    found = {"VPC": (subnet.vpc_id, vpc_id), "AZ": (subnet.zone, zone)}
    return [
        Problem(
            code=CheckCode.SUBNET_ELSEWHERE,
            path=path,
            message=f"{subnet.subnet_id} is in the {what} {real}, and the fleet file says {told}",
            value=subnet.subnet_id,
            allowed=f"a subnet of {told}",
            remedy=f"name a subnet of {told}: `aws ec2 describe-subnets --filters Name=vpc-id,Values={vpc_id}` lists "
            "them, with AvailabilityZoneId",
        )
        for what, (real, told) in found.items()
        if real != told
    ]


def check_free_addresses(subnet: ExistingSubnet, plan: ZonePlan, *, path: tuple[PathPart, ...] = ()) -> list[Problem]:
    """Return a problem when the subnet has fewer free addresses than the claims of its AZ take.

    As at synth, one node's addresses are kept free for a replacement; those that the fleet holds already count as free.
    """
    needed = plan.addresses + plan.headroom
    free = subnet.free + subnet.held
    if needed <= free:
        return []
    takers = [f"{claim.addresses} for {claim.count} x {claim.what} ({claim.owner})" for claim in plan.claims]
    if plan.headroom:
        takers.append(f"{plan.headroom} to replace one while the others run")
    larger = f"a subnet of a /{plan.prefix_needed} that nobody else uses" if plan.prefix_needed else "several subnets"
    return [
        Problem(
            code=CheckCode.FREE_ADDRESSES,
            path=path,
            message=f"{subnet.subnet_id} in {subnet.zone} has {free} free addresses, and the fleet takes {needed}: "
            f"{', '.join(takers)}",
            value=subnet.cidr,
            allowed=f"{needed} free addresses or more",
            remedy=f"name {larger}, or fewer nodes; `aws ec2 describe-network-interfaces --filters "
            f"Name=subnet-id,Values={subnet.subnet_id}` tells who has the addresses",
        )
    ]


def check_way_out(
    subnet_id: str, targets: Sequence[tuple[str, str]], *, path: tuple[PathPart, ...] = ()
) -> list[Problem]:
    """Return a problem for each default route whose target is gone. `targets`: pairs of target and state."""
    return [
        Problem(
            code=CheckCode.DEAD_ROUTE,
            path=path,
            message=f"the default route of {subnet_id} leads to {target}, which is gone: packets vanish there",
            value=target,
            remedy="let the route lead to a NAT gateway that exists, or take it away and give the VPC endpoints",
        )
        for target, state in targets
        if state == "blackhole"
    ]


def check_endpoints_of_closed(
    subnet_ids: Sequence[str],
    *,
    needed: Sequence[str],
    there: Collection[str],
    route_tables: Sequence[str],
    vpc_id: str,
    region: str,
    path: tuple[PathPart, ...] = (),
) -> list[Problem]:
    """Return which endpoints a VPC lacks whose subnets have no way to the internet.

    `needed`, `there`: names of interface endpoints, after `com.amazonaws.<region>.`. `route_tables`: those of the
    subnets that do not lead to the gateway endpoint of S3.
    """
    where = ", ".join(subnet_ids)
    missing = [name for name in needed if name not in there]
    command = f"aws ec2 create-vpc-endpoint --vpc-id {vpc_id} --region {region} --service-name com.amazonaws.{region}"
    found: list[Problem] = []
    if missing:
        others = f", and so for {', '.join(missing[1:])}" if missing[1:] else ""
        found.append(
            _missing(
                missing,
                f"{where} has no way to the internet, and {vpc_id} has no interface endpoint for {', '.join(missing)}: "
                "nodes cannot reach these services, and the deployment hangs",
                f"run `{command}.{missing[0]} --vpc-endpoint-type Interface --private-dns-enabled --subnet-ids "
                f"{' '.join(subnet_ids)}`{others}, with a security group that lets TCP 443 in from the nodes",
                path,
            )
        )
    if route_tables:
        found.append(
            _missing(
                ["s3"],
                f"{where} has no way to the internet, and no route to a gateway endpoint of S3: nodes cannot fetch "
                "their lifecycle scripts",
                f"run `{command}.s3 --vpc-endpoint-type Gateway --route-table-ids {' '.join(route_tables)}`",
                path,
            )
        )
    return found


def _missing(names: Sequence[str], message: str, remedy: str, path: tuple[PathPart, ...]) -> Problem:
    return Problem(code=CheckCode.ENDPOINT_MISSING, path=path, message=message, value=", ".join(names), remedy=remedy)


def no_such(what: str, thing_id: str, remedy: str, *, path: tuple[PathPart, ...] = ()) -> Problem:
    """Return the problem of a part of a network that is not in this account and region."""
    return Problem(
        code=CheckCode.NETWORK_MISSING,
        path=path,
        message=f"there is no {what} {thing_id} in this account and region",
        value=thing_id,
        remedy=remedy,
    )


def check_endpoint(
    name: str,
    endpoint_id: str,
    *,
    state: str,
    private_dns: bool,
    lets_in: bool,
    region: str,
    path: tuple[PathPart, ...] = (),
) -> list[Problem]:
    """Return why nodes cannot use an interface endpoint that is there."""
    if state.lower() != "available":
        why, remedy = f"is {state}", "wait until it is available, or make it anew"
    elif not private_dns:
        why = "has no private DNS names, so nodes go past it"
        remedy = (
            f"run `aws ec2 modify-vpc-endpoint --vpc-endpoint-id {endpoint_id} --private-dns-enabled --region {region}`"
        )
    elif not lets_in:
        why = "does not let the nodes' security group in at port 443"
        remedy = "let TCP 443 in from the nodes' security group, in that of the endpoint"
    else:
        return []
    return [
        Problem(
            code=CheckCode.ENDPOINT_UNUSABLE,
            path=path,
            message=f"the endpoint {endpoint_id} of {name} {why}",
            value=endpoint_id,
            remedy=remedy,
        )
    ]
