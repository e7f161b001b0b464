"""Converts ParallelCluster's queues, nodes and Slurm settings for the fleet file."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from llm_fleet.catalog.ec2_instances import ec2_instance
from llm_fleet.cli.importing.parallelcluster_values import (
    Buckets,
    Section,
    additional_groups,
    dcv,
    placement,
    reservation,
    root_volume,
    scripts_and_policies,
    tags,
)
from llm_fleet.cli.importing.translation import amount, number, truth, unless, without_none
from llm_fleet.rules.parallelcluster.overrides import Place
from llm_fleet.spec.parallelcluster_queue import OF_ITS_RESOURCE, Queue


def head_node(section: Section, subnet: str | None, buckets: Buckets) -> dict[str, Any]:
    """Return the keys of `head`; `subnet`: its own subnet, if any."""
    scripts_and_policies(section)
    buckets.add(section)
    multithreading = truth(section.take("DisableSimultaneousMultithreading"))
    return {
        **without_none(
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
    """Return the keys of one pool of `login`; `subnet`: its own subnet, if any."""
    scripts_and_policies(section)
    return {
        **without_none(
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
            f"{section.where} allows Session Manager but no SSH, the fleet's default; "
            "ParallelCluster's default is SSH from everywhere: set `allowed_from` to allow CIDR blocks"
        )
    return given


def _desktop(section: Section) -> dict[str, Any]:
    desktop = dcv(section)
    return {} if desktop is None else {"dcv": desktop}


_CAPACITY = {"SPOT": "spot", "CAPACITY_BLOCK": "capacity-block", "ONDEMAND": None}
_NO_EFFECT = "Efa/GdrSupport"


def queue(section: Section, resources: Sequence[Section], where: dict[str, Any], buckets: Buckets) -> dict[str, Any]:
    """Return the keys of one queue with its compute resources; `where`: the keys for its subnets."""
    scripts_and_policies(section)
    buckets.add(section)
    kind = section.take("CapacityType")
    instances = _instances(section, resources)
    both = _said_of_both(section)
    if "placement" not in both:
        _report_placement(section, instances)
    return {
        **instances,
        **without_none(
            capacity=_CAPACITY.get(str(kind), kind) if kind is not None else None,
            allocation=section.take("AllocationStrategy"),
            exclusive=_exclusive(section, instances),
            root_volume=root_volume(section, "ComputeSettings/LocalStorage/RootVolume"),
            scratch=section.take("ComputeSettings/LocalStorage/EphemeralVolume/MountDir"),
            image=section.take("Image/CustomAmi"),
            **where,
            security_groups=additional_groups(section),
            public_ip=truth(section.take("Networking/AssignPublicIp")),
        ),
        **both,
        **section.overrides(Place.QUEUE),
    }


def _instances(section: Section, resources: Sequence[Section]) -> dict[str, Any]:
    """Return the keys of a single compute resource as keys of the queue, or several under `resources`."""
    named = {str(resource.take("Name")): _resource(resource) for resource in resources}
    if len(named) != 1:
        return {"resources": named}
    ((name, only),) = named.items()
    short = {Queue.key_of(attribute) for attribute in OF_ITS_RESOURCE}
    if not set(only) <= short:
        return {"resources": named}
    queue_name = section.where.rsplit(" ", 1)[-1]
    if name != queue_name:
        section.notes.chosen(
            f"the compute resource {name} of {queue_name} gets the name of its queue, also in the names of its nodes"
        )
    return only


def _report_placement(section: Section, instances: Mapping[str, Any]) -> None:
    """Add a note about the placement group of instances with EFA, which ParallelCluster requires to be explicit."""
    named: Mapping[str, Any] = instances.get("resources", {"": instances})
    if any(each.get("efa") is not False and _has_efa(each) and "placement" not in each for each in named.values()):
        section.notes.repaired(f"{section.where} has EFA and no PlacementGroup: its nodes get a placement group")


def _exclusive(section: Section, instances: Mapping[str, Any]) -> bool | None:
    written = truth(section.take("JobExclusiveAllocation"))
    named: Mapping[str, Any] = instances.get("resources", {"": instances})
    if written is None and any(map(_has_accelerator, named.values())):
        section.notes.chosen(
            f"{section.where} gives each job whole nodes (the fleet's default with accelerators); "
            "set `exclusive: false` if jobs share nodes"
        )
    return written


def _has_accelerator(resource: Mapping[str, Any]) -> bool:
    known = [ec2_instance(str(name)) for name in resource.get("types", [resource.get("type")])]
    return any(facts is not None and facts.accelerator is not None for facts in known)


def _has_efa(resource: Mapping[str, Any]) -> bool:
    known = [ec2_instance(str(name)) for name in resource.get("types", [resource.get("type")])]
    return all(facts is not None and facts.efa_interfaces for facts in known)


def _resource(section: Section) -> dict[str, Any]:
    listed = [
        cast("dict[str, Any]", item).get("InstanceType")
        for item in section.items("Instances")
        if isinstance(item, dict)
    ]
    one = section.take("InstanceType")
    types = [str(name) for name in (listed or [one]) if name]
    multithreading = truth(section.take("DisableSimultaneousMultithreading"))
    if section.take(_NO_EFFECT) is not None:
        section.notes.left_out(f"{section.say(_NO_EFFECT)}: it has no effect")
    return {
        **without_none(
            type=one if not listed else None,
            types=listed,
            min=unless(number(section.take("MinCount")), 0),
            max=number(section.take("MaxCount")),
            efa=_efa(section, types),
            hyperthreading=False if multithreading is True else None,
            spot_price=section.take("SpotPrice"),
            memory=amount(section.take("SchedulableMemory"), "MiB"),
            static_priority=number(section.take("StaticNodePriority")),
            dynamic_priority=number(section.take("DynamicNodePriority")),
        ),
        **_said_of_both(section),
        **section.overrides(Place.COMPUTE_RESOURCE),
    }


def _said_of_both(section: Section) -> dict[str, Any]:
    """Return the keys that queues and compute resources have in common."""
    return without_none(
        placement=placement(section),
        reservation=reservation(section),
        gpu_health_check=truth(section.take("HealthChecks/Gpu/Enabled")),
        slurm=section.take("CustomSlurmSettings"),
        tags=tags(section),
    )


def _efa(section: Section, types: Sequence[str]) -> bool | None:
    written = truth(section.take("Efa/Enabled"))
    capable = bool(types) and _has_efa({"types": types})
    if written is None and capable:
        section.notes.chosen(
            f"{section.where} has EFA, the fleet's default: {', '.join(types)} supports it, at no cost"
        )
    return unless(written, True) if capable else unless(written, False)


def slurm(section: Section, scaling: Any) -> dict[str, Any]:
    """Return the keys of `slurm`; `scaling` is `ScalingStrategy`, which is outside that section."""
    idle = number(section.take("ScaledownIdletime"))
    strategy = section.take("QueueUpdateStrategy")
    if strategy is None:
        section.notes.chosen(
            "queues are updated with DRAIN, the fleet's default: no job is killed and the compute fleet is not stopped"
        )
    return {
        **without_none(
            scaledown="never" if idle == -1 else amount(unless(idle, 10), "min"),
            scaling=unless(scaling, "all-or-nothing"),
            queue_update=unless(strategy, "DRAIN"),
            memory_based=unless(truth(section.take("EnableMemoryBasedScheduling")), False),
            settings=section.take("CustomSlurmSettings"),
            settings_file=section.take("CustomSlurmSettingsIncludeFile"),
        ),
        **section.overrides(Place.SLURM),
    }


def accounting(section: Section) -> dict[str, Any]:
    """Return the keys of `accounting`; empty for none."""
    host, _, port = str(section.take("Database/Uri") or "").partition(":")
    slurmdbd = section.take("ExternalSlurmdbd/Host")
    dbd_port = number(section.take("ExternalSlurmdbd/Port"))
    return without_none(
        endpoint=host or None,
        slurmdbd=slurmdbd,
        port=number(port) or dbd_port or None,
        user=section.take("Database/UserName"),
        secret=section.take("Database/PasswordSecretArn"),
        database=section.take("Database/DatabaseName"),
        munge_key=section.take("MungeKeySecretArn"),
    )
