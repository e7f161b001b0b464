"""Turns head node and login pools of a ParallelCluster configuration into those of a fleet file."""

from typing import Any

from llm_fleet.cli.importing.parallelcluster.buckets import Buckets
from llm_fleet.cli.importing.parallelcluster.section import Section
from llm_fleet.cli.importing.parallelcluster.values import (
    additional_groups,
    amount,
    dcv,
    number,
    root_volume,
    scripts_and_policies,
    told,
    truth,
    unless,
)
from llm_fleet.rules.parallelcluster.typed_keys import Place


def head_node(section: Section, subnet: str | None, buckets: Buckets) -> dict[str, Any]:
    """Return the keys of `head`; `subnet`: one of its own."""
    scripts_and_policies(section)
    buckets.add(section)
    multithreading = truth(section.take("DisableSimultaneousMultithreading"))
    return {
        **told(
            type=section.take("InstanceType"),
            root_volume=root_volume(section, "LocalStorage/RootVolume"),
            scratch=section.take("LocalStorage/EphemeralVolume/MountDir"),
            subnet=subnet,
            elastic_ip=unless(truth(section.take("Networking/ElasticIp")), False),
            security_groups=additional_groups(section),
            key=section.take("Ssh/KeyName"),
            allowed_from=_allowed_from(section),
            hyperthreading=False if multithreading is True else None,
            internal_storage=unless(section.take("SharedStorageType"), "Ebs"),
            image=section.take("Image/CustomAmi"),
            imds_secured=unless(truth(section.take("Imds/Secured")), True),
        ),
        **_desktop(section),
        **section.overrides(Place.HEAD_NODE),
    }


def login_pool(section: Section, subnet: str | None) -> dict[str, Any]:
    """Return the keys of one pool of `login`; `subnet`: one of its own."""
    scripts_and_policies(section)
    return {
        **told(
            type=section.take("InstanceType"),
            count=number(section.take("Count")),
            subnet=subnet,
            security_groups=additional_groups(section),
            grace_time=amount(unless(number(section.take("GracetimePeriod")), 10), "min"),
            allowed_from=_allowed_from(section),
            image=section.take("Image/CustomAmi"),
        ),
        **_desktop(section),
        **section.overrides(Place.LOGIN_POOL),
    }


def _allowed_from(section: Section) -> Any:
    given = section.take("Ssh/AllowedIps")
    if given is None:
        section.notes.chosen(
            f"{section.where} is reached by SSH from nowhere, the fleet's default, and by Session Manager; "
            "ParallelCluster's default is from everywhere: say with `allowed_from` from where"
        )
    return given


def _desktop(section: Section) -> dict[str, Any]:
    desktop = dcv(section)
    return {} if desktop is None else {"dcv": desktop}
