"""All that can be told of a domain before any resource is made."""

from typing import Any

from llm_fleet.network.network import Network
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.studio import check_studio
from llm_fleet.rules.sagemaker.studio_place import check_studio_place, studio_claims, studio_zones
from llm_fleet.sagemaker.studio.studio_forms import check_arguments
from llm_fleet.sagemaker.studio.studio_settings import StudioSettings
from llm_fleet.storage.mountable import MountableLustre

_OF_SETTINGS = (
    "sign_in",
    "internet",
    "users",
    "allowed_instance_types",
    "code_repositories",
    "pins",
    "name_prefixes",
    "volume_gib",
    "maximum_volume_gib",
    "idle_minutes",
    "home_efs",
)


def check_domain(
    settings: StudioSettings, *, network: Network | None, lustre: MountableLustre | None, subject: str, **others: Any
) -> tuple[str, ...]:
    """Return the AZ ids of the domain's subnets, in which its addresses are set aside.

    Raises `FleetError` with all that is wrong: of values of the wrong class those alone, since no rule can read them.
    """
    of_settings = {name: getattr(settings, name) for name in _OF_SETTINGS}
    raise_problems(check_arguments(network=network, lustre=lustre, **of_settings, **others), subject=subject)
    lustre_zone = lustre.availability_zone_id if lustre is not None else None
    there = network.availability_zone_ids if network is not None else ()
    problems = [
        *check_studio(settings),
        *check_studio_place(
            settings,
            has_network=network is not None,
            network_internet=network.internet if network is not None else None,
            zones=there,
            mounts_lustre=lustre is not None,
            lustre_zone=lustre_zone,
        ),
    ]
    zones = studio_zones(there, lustre_zone)
    if network is not None and not problems:
        claims = studio_claims(len(settings.users), zones=zones, home_efs=settings.home_efs, owner=subject)
        problems += network.reserve_addresses(claims)
    raise_problems(problems, subject=subject)
    return zones
