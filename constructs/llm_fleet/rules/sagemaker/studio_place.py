"""Where Studio stands: its network, its way to the internet, and the file system that it mounts."""

from collections.abc import Sequence

from llm_fleet.catalog.studio import studio_facts
from llm_fleet.rules.network_claim import AddressClaim
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.studio_protocols import StudioLike
from llm_fleet.rules.sagemaker.studio_terms import StudioInternet
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.tokens import is_unresolved


def check_studio_place(
    studio: StudioLike,
    *,
    has_network: bool,
    network_internet: InternetAccess | None,
    zones: Sequence[str],
    mounts_lustre: bool,
    lustre_zone: str | None,
) -> list[Problem]:
    """Return what is wrong with where `studio` stands.

    `network_internet`: the network's own way out, `None` where nobody told. `zones`: AZ ids of the domain's subnets.
    `lustre_zone`: where the file system stands; `None` where nobody told, or there is none.
    """
    if not has_network:
        return [
            Problem(
                code=SageMakerCode.NETWORK_NEEDED,
                message="a domain of Studio stands in a VPC, whichever way it takes to the internet",
                remedy="give it a network",
                path=("network",),
            )
        ]
    return [
        *_check_internet(studio, network_internet),
        *(_check_lustre(studio, zones, lustre_zone) if mounts_lustre else []),
    ]


def studio_zones(zones: Sequence[str], lustre_zone: str | None) -> tuple[str, ...]:
    """Return the AZs whose subnets a domain is given: that of the file system that it mounts, else all of `zones`.

    In one AZ no byte of the file system crosses to another, which is slower and costs by the gigabyte.
    """
    return (lustre_zone,) if lustre_zone is not None and lustre_zone in zones else tuple(zones)


def studio_claims(users: int, *, zones: Sequence[str], home_efs: bool, owner: str) -> list[AddressClaim]:
    """Return what a domain with so many `users` takes of each of its subnets.

    The users' applications may all be in one subnet. AWS recommends 2 to 4 addresses a user and tells no more.
    """
    facts = studio_facts()
    assumption = f"AWS recommends up to {facts.addresses_per_user} addresses a user of Studio, wherever they run"
    claims: list[AddressClaim] = []
    for zone in zones:
        claims.append(
            AddressClaim(
                owner=owner,
                what="applications of a user of Studio",
                count=users,
                addresses_each=facts.addresses_per_user,
                availability_zone_id=zone,
                assumption=assumption,
            )
        )
        if home_efs:
            claims.append(
                AddressClaim(
                    owner=owner,
                    what="mount target of EFS",
                    count=1,
                    addresses_each=facts.addresses_of_home,
                    availability_zone_id=zone,
                )
            )
    return claims


def _check_internet(studio: StudioLike, network_internet: InternetAccess | None) -> list[Problem]:
    if studio.internet is not StudioInternet.SAGEMAKER or network_internet is not InternetAccess.NONE:
        return []
    return [
        Problem(
            code=SageMakerCode.STUDIO_INTERNET,
            message="the network has no way to the internet, and Studio would be one around it, past its endpoints",
            remedy="leave it out: in a closed network Studio works through the VPC's endpoints",
            path=("internet",),
            value=studio.internet.value,
        )
    ]


def _check_lustre(studio: StudioLike, zones: Sequence[str], lustre_zone: str | None) -> list[Problem]:
    problems: list[Problem] = []
    limit, directory = studio_facts().lustre_directory, studio.lustre_directory
    if not is_unresolved(directory) and not (limit.matches(directory) and limit.holds(len(directory))):
        problems.append(
            Problem(
                code=SageMakerCode.STUDIO_LUSTRE,
                message="this is no directory of the file system",
                remedy="begin it with a slash, as seen from the root of the file system, and leave blanks out",
                path=("lustre_directory",),
                value=directory,
                allowed=f"/ and up to {(limit.maximum or 0) - 1} characters without blanks",
            )
        )
    if studio.internet is StudioInternet.SAGEMAKER:
        problems.append(
            Problem(
                code=SageMakerCode.STUDIO_LUSTRE,
                message="applications that take SageMaker's own way to the internet cannot reach the file system, "
                "which stands in the VPC",
                remedy="leave internet out, so that they take the VPC's, or leave the file system out",
                path=("internet",),
                value=studio.internet.value,
            )
        )
    if lustre_zone is not None and not is_unresolved([lustre_zone, *zones]) and lustre_zone not in zones:
        problems.append(
            Problem(
                code=SageMakerCode.STUDIO_LUSTRE,
                message=f"the file system stands in {lustre_zone}, and no subnet of the domain does",
                remedy=f"give the domain a network with a subnet in {lustre_zone}",
                path=("lustre",),
                value=lustre_zone,
                allowed=", ".join(zones),
            )
        )
    return problems
