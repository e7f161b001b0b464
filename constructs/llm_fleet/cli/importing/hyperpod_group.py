"""Converts an instance group of HyperPod's CreateCluster for the fleet file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.hyperpod import instances
from llm_fleet.cli.importing.translation import Notes
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import CapacityUnit, DeepHealthCheck, NodeType
from llm_fleet.spec.instance_group import InstanceGroup, SlurmRole
from llm_fleet.spec.spec import InRequest, Spec

_WORDS: Mapping[SlurmRole, frozenset[str]] = {
    SlurmRole.CONTROLLER: frozenset({"controller", "head", "headnode", "master", "slurmctld"}),
    SlurmRole.LOGIN: frozenset({"login", "bastion"}),
    SlurmRole.COMPUTE: frozenset({"worker", "workers", "compute", "queue", "gpu", "trn", "trainium", "training"}),
}
"""Usual names of groups by role."""


def infer_roles(groups: Sequence[Mapping[str, Any]], notes: Notes, problems: list[Problem]) -> dict[str, SlurmRole]:
    """Return the role of each group by name: from the request, else from the group's name, else by elimination.

    Adds to `problems` if there is not exactly one controller.
    """
    roles: dict[str, SlurmRole] = {}
    for group in groups:
        name = str(group["InstanceGroupName"])
        said = group.get("SlurmConfig", {}).get("NodeType")
        if said in set(NodeType):
            roles[name] = SlurmRole(str(said).lower())
        elif (guessed := _by_name(name)) is not None:
            roles[name] = guessed
            notes.chosen(f"{name} is the {guessed.value} group by its name: the request has no SlurmConfig for it")
    _fill_controller(groups, roles, notes)
    for group in groups:
        name = str(group["InstanceGroupName"])
        if name not in roles:
            roles[name] = SlurmRole.COMPUTE
            notes.chosen(f"{name} is a compute group, since another one is the controller")
    if groups and list(roles.values()).count(SlurmRole.CONTROLLER) != 1:
        problems.append(_ambiguous(roles))
    return roles


def _fill_controller(groups: Sequence[Mapping[str, Any]], roles: dict[str, SlurmRole], notes: Notes) -> None:
    """Use the only group with a single instance without accelerator as controller, if the request has none."""
    if SlurmRole.CONTROLLER in roles.values():
        return
    candidates = [
        str(group["InstanceGroupName"])
        for group in groups
        if group["InstanceGroupName"] not in roles and group.get("InstanceCount") == 1 and not _accelerated(group)
    ]
    if len(candidates) == 1:
        roles[candidates[0]] = SlurmRole.CONTROLLER
        notes.chosen(f"{candidates[0]} is the controller group: the only one with a single instance and no accelerator")


def _by_name(name: str) -> SlurmRole | None:
    words = set(re.split(r"[^a-z]+", name.lower()))
    found = [role for role, own in _WORDS.items() if words & own]
    return found[0] if len(found) == 1 else None


def _accelerated(group: Mapping[str, Any]) -> bool:
    bare = str(group.get("InstanceType", "")).removeprefix("ml.")
    facts = instances().get(f"ml.{bare}")
    return facts is not None and facts.accelerator is not None


def _ambiguous(roles: Mapping[str, SlurmRole]) -> Problem:
    controllers = [name for name, role in roles.items() if role is SlurmRole.CONTROLLER]
    reported = (
        f"these are candidates: {', '.join(controllers)}"
        if controllers
        else "no group has the name or the size of a controller"
    )
    return Problem(
        code=Code.REQUEST_ROLES,
        message=f"the request does not specify the controller group, and {reported}",
        remedy='add `"SlurmConfig": {"NodeType": "Controller"}` to it, and `"Compute"` or `"Login"` to other groups',
        path=("InstanceGroups",),
        value=list(roles),
        allowed="exactly one controller group",
    )


_PLACE = re.compile(r"s3://([^/]+)/?(.*)")
_WHY_AFTER = "OnInitComplete runs after the AMI has set up Slurm, but an OnCreate script must set it up itself"


@dataclass(slots=True)
class Lifecycle:
    """The converted lifecycle configuration."""

    cluster: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keys of the cluster."""
    groups: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """Keys of each group by name."""


def lifecycle(groups: Sequence[Mapping[str, Any]], notes: Notes) -> Lifecycle:
    """Return the source and the hook of the lifecycle scripts.

    Existing scripts keep their hook: a script for OnCreate sets up Slurm, and must not do so a second time. A
    placeholder means no script; then the fleet's own bundle and defaults are used.
    """
    configured = [group for group in groups if "LifeCycleConfig" in group]
    places = {str(group["LifeCycleConfig"].get("SourceS3Uri", "")) for group in configured}
    if not configured:
        notes.chosen("the lifecycle scripts of llm-fleet, by OnInitComplete: the request has no LifeCycleConfig")
        return Lifecycle()
    place = _PLACE.fullmatch(next(iter(places))) if len(places) == 1 else None
    if place is None or not place[1].startswith(load("lifecycle")["bucket_prefix"]):
        return _replaced(configured, places, notes)
    return _kept(configured, bucket=place[1], prefix=place[2].strip("/"), notes=notes)


def _replaced(configured: Sequence[Mapping[str, Any]], places: set[str], notes: Notes) -> Lifecycle:
    for place in sorted(places):
        match = _PLACE.fullmatch(place)
        if match is None or "<" in place or "$" in place:
            notes.repaired(f"SourceS3Uri {place or '(none)'} has no bucket: the fleet creates one for its own bundle")
        elif len(places) > 1:
            notes.left_out(f"SourceS3Uri {place}: a cluster has one source of scripts; the fleet's own bundle is used")
        else:
            prefix = load("lifecycle")["bucket_prefix"]
            notes.left_out(
                f"SourceS3Uri {place}: nodes can only read buckets whose name begins with {prefix}; "
                "the fleet's own bundle is used"
            )
    legacy = [str(group["InstanceGroupName"]) for group in configured if "OnCreate" in group["LifeCycleConfig"]]
    if legacy:
        notes.repaired(f"OnCreate of {', '.join(legacy)} becomes the default, OnInitComplete: {_WHY_AFTER}")
    return Lifecycle()


def _kept(configured: Sequence[Mapping[str, Any]], *, bucket: str, prefix: str, notes: Notes) -> Lifecycle:
    reported = Lifecycle(cluster={"scripts": {"bucket": bucket, "prefix": prefix}})
    notes.chosen(f"your scripts in s3://{bucket}/{prefix} are used unchanged")
    for group in configured:
        config, name = group["LifeCycleConfig"], str(group["InstanceGroupName"])
        hooks = {"on_create": config.get("OnCreate"), "on_init_complete": config.get("OnInitComplete")}
        reported.groups[name] = {key: value for key, value in hooks.items() if value} or {"lifecycle": "none"}
        if hooks["on_create"]:
            notes.chosen(f"{name} keeps OnCreate for your script; use on_init_complete if the AMI sets up Slurm")
    return reported


_FILE_SYSTEM_ID = re.compile(r"(fs|fc)i?-[0-9a-f]{8,}")
_MOUNTS = {"FsxLustreConfig": ("fsx", "mount_fsx", "/fsx"), "FsxOpenZfsConfig": ("home", "mount_home", "/home")}
"""By member: the key under `storage`, the key of a group that does not mount it, the default mount path."""


def group_volumes(group: Mapping[str, Any], account: str | None, region: str, notes: Notes) -> dict[str, Any]:
    """Return the EBS keys of one group."""
    reported: dict[str, Any] = {}
    for volume in _each(group, "EbsVolumeConfig"):
        key = _key_arn(volume.get("VolumeKmsKeyId"), account, region, str(group["InstanceGroupName"]), notes)
        if volume.get("RootVolume") and "VolumeSizeInGB" not in volume:
            reported["root_volume_key"] = key
        elif "ebs" in reported:
            notes.left_out(f"a second EBS volume of {group['InstanceGroupName']}: a group has one and the root volume")
        elif "VolumeSizeInGB" in volume:
            reported |= {"ebs": f"{volume['VolumeSizeInGB']} GiB", "ebs_key": key}
    return {name: value for name, value in reported.items() if value is not None}


def storage(groups: Sequence[Mapping[str, Any]], notes: Notes) -> dict[str, Any]:
    """Return the file systems that the groups mount, as existing ones."""
    reported: dict[str, Any] = {}
    for member, (key, _, default_path) in _MOUNTS.items():
        found = [config for group in groups for config in _each(group, member)]
        for other in found[1:]:
            if other.get("DnsName") != found[0].get("DnsName"):
                notes.left_out(f"{member} {other.get('DnsName')}: the fleet's `{key}` is {found[0].get('DnsName')}")
        if found:
            reported[key] = _existing(found[0], default_path)
            notes.chosen(f"{found[0].get('DnsName')} is used unchanged, under `storage.{key}.existing`")
    return reported


def unmounted(group: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a group that does not mount file systems of other groups."""
    return {
        switch: False
        for member, (key, switch, _) in _MOUNTS.items()
        if key in shared
        and shared[key]["existing"]["dns_name"] not in [each.get("DnsName") for each in _each(group, member)]
    }


def _existing(config: Mapping[str, Any], default_path: str) -> dict[str, Any]:
    dns_name = str(config.get("DnsName", ""))
    match = _FILE_SYSTEM_ID.match(dns_name)
    existing: dict[str, Any] = {"id": match[0] if match else dns_name, "dns_name": dns_name}
    if "MountName" in config:
        existing["mount_name"] = config["MountName"]
    path = config.get("MountPath", default_path)
    return {"existing": existing, **({"mount": path} if path != default_path else {})}


def _each(group: Mapping[str, Any], member: str) -> Iterator[Mapping[str, Any]]:
    yield from (config[member] for config in group.get("InstanceStorageConfigs", []) if member in config)


def _key_arn(key: str | None, account: str | None, region: str, group: str, notes: Notes) -> str | None:
    """Return the key as an ARN; the API also accepts an id."""
    if key is None or key.startswith("arn:"):
        return key
    if account is None:
        notes.left_out(f"VolumeKmsKeyId {key} of {group}: a fleet file needs the key's ARN, and the account is unknown")
        return None
    arn = f"arn:aws:kms:{region}:{account}:{key if '/' in key else f'key/{key}'}"
    notes.repaired(f"VolumeKmsKeyId {key} of {group} is {arn}")
    return arn


_API_ONLY = ("PatchSchedule", "IdleWaitWindowInSeconds", "DrainPolicy")


def rolling(update: Mapping[str, Any]) -> dict[str, Any]:
    """Return `DeploymentConfig` as the key `rolling`; empty if it is missing."""
    deployment = update.get("DeploymentConfig", {})
    policy = deployment.get("RollingUpdatePolicy", {})
    reported: dict[str, Any] = {
        "batch": _batch(policy.get("MaximumBatchSize")),
        "rollback_batch": _batch(policy.get("RollbackMaximumBatchSize")),
        "wait": f"{deployment['WaitIntervalInSeconds']} s" if "WaitIntervalInSeconds" in deployment else None,
        "alarms": [alarm["AlarmName"] for alarm in deployment.get("AutoRollbackConfiguration", []) if alarm],
    }
    reported = {key: value for key, value in reported.items() if value}
    return {"rolling": reported} if reported else {}


def auto_patch(patch: Mapping[str, Any], name: str, notes: Notes) -> dict[str, Any] | None:
    """Return the part of `AutoPatchConfig` that CloudFormation supports."""
    for member in _API_ONLY:
        if member in patch:
            notes.left_out(
                f"AutoPatchConfig.{member} of {name}: CloudFormation cannot set it; use `aws sagemaker update-cluster`"
            )
    strategy = patch.get("PatchingStrategy")
    if strategy == "DrainFirst":
        notes.left_out(f"AutoPatchConfig of {name}: DrainFirst evicts pods, and is for EKS")
        return None
    return {"strategy": strategy, **rolling(patch)}


def _batch(size: Mapping[str, Any] | None) -> str | None:
    if size is None or "Value" not in size:
        return None
    return f"{size['Value']}%" if size.get("Type") == CapacityUnit.CAPACITY_PERCENTAGE else f"{size['Value']} nodes"


_NOT_CARRIED = {
    "KubernetesConfig": "labels and taints are for EKS",
    "ImageReleaseVersion": "CloudFormation cannot set it; use `aws sagemaker update-cluster-software`",
}


def translate_group(group: Mapping[str, Any], role: SlurmRole, notes: Notes) -> dict[str, Any]:
    """Return the group's keys, the most important first."""
    name = str(group["InstanceGroupName"])
    reported: dict[str, Any] = {"role": role.value}
    plain = _as_they_are(InstanceGroup, group)
    if "type" in plain:
        reported["type"] = _type(plain["type"], name, notes)
    if "types" in plain:
        reported["types"] = [_type(each, name, notes) for each in plain["types"]]
    if "count" in plain:
        reported["count"] = plain["count"]
    partitions = group.get("SlurmConfig", {}).get("PartitionNames", [])
    if partitions:
        reported["partition"] = partitions[0]
        for more in partitions[1:]:
            notes.left_out(f"partition {more} of {name}: HyperPod accepts one per group")
    elif role is SlurmRole.COMPUTE:
        reported["partition"] = name
        notes.chosen(f"{name} gets a Slurm partition of its own name: the request has none")
    return reported | _rest(group, plain, name, notes)


def _as_they_are(description: type[Spec], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `request` that fields of `description` take unchanged, by their keys in a fleet file."""
    found: dict[str, Any] = {}
    keys = description.keys()
    for name, info in description.model_fields.items():
        key = description.key_of(name)
        for place in info.metadata:
            if isinstance(place, InRequest) and place.render is None and key in keys:
                value: Any = request
                for part in place.path.split("."):
                    value = value.get(part[0].upper() + part[1:], {})
                found |= {} if isinstance(value, Mapping) else {key: value}
    return found


def _rest(group: Mapping[str, Any], plain: Mapping[str, Any], name: str, notes: Notes) -> dict[str, Any]:
    reported: dict[str, Any] = {key: value for key, value in plain.items() if key not in ("type", "types", "count")}
    if "Spot" in group.get("CapacityRequirements", {}):
        reported["spot"] = True
    if "deep_health_checks" in plain:
        reported["deep_health_checks"] = _health_checks(plain["deep_health_checks"], name, notes)
    if "OverrideVpcConfig" in group:
        reported["subnets"] = group["OverrideVpcConfig"].get("Subnets", [])
        reported["security_groups"] = group["OverrideVpcConfig"].get("SecurityGroupIds", [])
    if "ScheduledUpdateConfig" in group:
        update = group["ScheduledUpdateConfig"]
        reported["schedule"] = {"cron": update.get("ScheduleExpression", ""), **rolling(update)}
    if "AutoPatchConfig" in group:
        reported["auto_patch"] = auto_patch(group["AutoPatchConfig"], name, notes)
    for member, reason in _NOT_CARRIED.items():
        if member in group:
            notes.left_out(f"{member} of {name}: {reason}")
    return {key: value for key, value in reported.items() if value not in (None, [], {})}


def _type(name: str, group: str, notes: Notes) -> str:
    prefixed = f"ml.{name}"
    if name not in instances() and prefixed in instances():
        notes.repaired(f"the instance type of {group}, {name}, is {prefixed} in SageMaker")
        return prefixed
    return name


def _health_checks(checks: list[str], name: str, notes: Notes) -> list[str]:
    api_only = DeepHealthCheck.MULTI_NODE_TRAINING_VALIDATION.value
    if api_only in checks:
        instead = "use `aws sagemaker start-cluster-health-check`"
        notes.left_out(f"{api_only} of {name}: CloudFormation cannot set it; {instead}")
    return [check for check in checks if check != api_only]
