"""Whether instances and endpoint services are offered where a fleet wants them."""

from collections.abc import Collection, Mapping, Sequence

from llm_fleet.rules.day_two.check_codes import CheckCode
from llm_fleet.rules.problem import PathPart, Problem


def check_offering(
    instance_type: str,
    zones: Sequence[str],
    *,
    offered: Collection[str],
    owner: str,
    path: tuple[PathPart, ...] = (),
    indication: bool = False,
    region: str,
) -> list[Problem]:
    """Return a problem where the type is offered in none, or not in all, of `zones` (AZ ids).

    `offered`: the AZ ids in which EC2 offers it. `indication`: SageMaker has its own stock, and EC2 only hints at it.
    """
    missing = [zone for zone in zones if zone not in offered]
    if not missing:
        return []
    hint = (
        "; SageMaker rents it out from a stock of its own, so this is an indication, and a training plan tells surely"
        if indication
        else ""
    )
    return [
        Problem(
            code=CheckCode.NOT_OFFERED,
            path=path,
            message=f"{owner} is to run on {instance_type} in {', '.join(missing)}, where EC2 does not offer it{hint}",
            value=instance_type,
            allowed=", ".join(sorted(offered)) or f"no AZ of {region}",
            remedy=f"put it into one of {', '.join(sorted(offered))}, with the file systems that it mounts"
            if offered
            else f"take another instance type, or another region than {region}",
        )
    ]


def check_zones_of_account(zones: Sequence[str], *, there: Collection[str], region: str) -> list[Problem]:
    """Return a problem for each AZ id that the account does not have in `region`."""
    return [
        Problem(
            code=CheckCode.ZONE_OF_ACCOUNT,
            path=("network",),
            message=f"this account has no AZ {zone} in {region}",
            value=zone,
            allowed=", ".join(sorted(there)),
            remedy=f"write one of {', '.join(sorted(there))}" if there else f"name another region than {region}",
        )
        for zone in zones
        if zone not in there
    ]


def check_endpoint_zones(
    placed: Mapping[str, Sequence[str]],
    *,
    offered: Mapping[str, Collection[str]],
    without: Mapping[str, Sequence[str]],
    region: str,
) -> list[Problem]:
    """Return a problem for each AZ that is to have interfaces of endpoints whose service is not offered there.

    `placed`: the AZ ids in which each endpoint is to have one. `offered`: those in which its service is offered.
    `without`: what the fleet file leaves out already. EC2 refuses such an endpoint ("does not support the availability
    zone of the subnet", aws/aws-cdk#4912), and the network is rolled back.
    """
    lacking: dict[str, list[str]] = {}
    for name, zones in placed.items():
        for zone in zones:
            if zone not in offered.get(name, ()):
                lacking.setdefault(zone, []).append(name)
    return [
        Problem(
            code=CheckCode.ENDPOINT_NOT_OFFERED,
            path=("network",),
            message=f"AWS does not offer the endpoint services {', '.join(names)} in {zone} of {region}",
            value=", ".join(names),
            allowed="services that `aws ec2 describe-vpc-endpoint-services` lists with the AZ",
            remedy=f"write `without_endpoints: {{{zone}: [{', '.join([*without.get(zone, ()), *names])}]}}`; "
            "interfaces in another AZ of the network answer for this one",
        )
        for zone, names in lacking.items()
    ]
