"""HyperPod's rules across fields: input that its API model allows and the service rejects."""

from collections.abc import Iterator
from typing import Any

_LUSTRE, _OPEN_ZFS = "FsxLustreConfig", "FsxOpenZfsConfig"


def rule_problems(requested: dict[str, Any]) -> list[str]:
    """Return the errors of a cluster; `requested` is the input of `CreateCluster`, or an updated cluster."""
    groups = [group for kind in ("InstanceGroups", "RestrictedInstanceGroups") for group in requested.get(kind, [])]
    return [
        *_cluster(requested, groups),
        *_slurm(requested, groups),
        *(error for group in groups for error in _group(requested, group)),
    ]


def _cluster(requested: dict[str, Any], groups: list[dict[str, Any]]) -> Iterator[str]:
    """Return the errors of the cluster as a whole.

    Source: model botocore sagemaker ClusterOrchestratorSlurmConfig (AccountingDatabase)
    Source: assumption hyperpod-rules-across-fields
    """
    names = [group["InstanceGroupName"] for group in groups]
    if not groups:
        yield "a cluster needs at least one instance group"
    if len(set(names)) != len(names):
        yield f"instance group names must be unique: {', '.join(sorted(names))}"
    continuous = requested.get("NodeProvisioningMode") == "Continuous"
    slurm: dict[str, Any] = requested.get("Orchestrator", {}).get("Slurm", {})
    if continuous and "SlurmConfigStrategy" in slurm:
        yield "SlurmConfigStrategy is not allowed with NodeProvisioningMode Continuous"
    if "AccountingDatabase" in slurm and not continuous:
        yield "AccountingDatabase requires NodeProvisioningMode Continuous"
    if any("MinInstanceCount" in group for group in groups) and not continuous:
        yield "MinInstanceCount requires NodeProvisioningMode Continuous"
    if "Eks" in requested.get("Orchestrator", {}) and "VpcConfig" not in requested:
        yield "VpcConfig is required with the EKS orchestrator"


def _slurm(requested: dict[str, Any], groups: list[dict[str, Any]]) -> Iterator[str]:
    """Return the errors of the groups as nodes of Slurm.

    Source: assumption hyperpod-rules-across-fields
    """
    kinds = [group["SlurmConfig"]["NodeType"] for group in groups if "SlurmConfig" in group]
    if not kinds:
        return
    if kinds.count("Controller") != 1:
        yield f"exactly one instance group must have the node type Controller; found {kinds.count('Controller')}"
    if kinds.count("Login") > 1:
        yield f"at most one instance group can have the node type Login; found {kinds.count('Login')}"
    if len(kinds) != len(groups):
        yield "SlurmConfig must be set for every instance group or for none"


def _group(requested: dict[str, Any], group: dict[str, Any]) -> Iterator[str]:
    """Return the errors of one group.

    Source: model botocore sagemaker ClusterInstanceGroupSpecification (InstanceRequirements)
    Source: assumption hyperpod-rules-across-fields
    """
    name = group["InstanceGroupName"]
    if ("InstanceType" in group) == ("InstanceRequirements" in group):
        yield f"{name}: set exactly one of InstanceType and InstanceRequirements"
    if group.get("MinInstanceCount", 0) > group["InstanceCount"]:
        yield f"{name}: MinInstanceCount must be at most InstanceCount"
    partitions = group.get("SlurmConfig", {}).get("PartitionNames")
    compute = group.get("SlurmConfig", {}).get("NodeType") == "Compute"
    if compute and not partitions:
        yield f"{name}: PartitionNames is required for node type Compute"
    if "SlurmConfig" in group and partitions and not compute:
        yield f"{name}: PartitionNames is allowed for node type Compute only"
    yield from (f"{name}: {problem}" for problem in _life_cycle(requested, group))
    yield from (f"{name}: {problem}" for problem in _storage(requested, group))
    if "OverrideVpcConfig" in group and "VpcConfig" not in requested:
        yield f"{name}: OverrideVpcConfig requires VpcConfig of the cluster"


def _life_cycle(requested: dict[str, Any], group: dict[str, Any]) -> Iterator[str]:
    """Return what is wrong with a group's lifecycle configuration.

    Source: model botocore sagemaker ClusterLifeCycleConfig (SourceS3Uri)
    Source: assumption hyperpod-rules-across-fields
    """
    config = group.get("LifeCycleConfig")
    if config is None:
        if "Eks" in requested.get("Orchestrator", {}):
            yield "LifeCycleConfig is required with the EKS orchestrator"
        return
    hooks = [hook for hook in ("OnCreate", "OnInitComplete") if hook in config]
    if len(hooks) > 1:
        yield "set only one of OnCreate and OnInitComplete"
    uri = config.get("SourceS3Uri")
    if hooks and not uri:
        yield f"{hooks[0]} requires SourceS3Uri"
    if uri and not uri.startswith("s3://sagemaker-"):
        yield f"SourceS3Uri {uri} must start with 's3://sagemaker-'"


def _storage(requested: dict[str, Any], group: dict[str, Any]) -> Iterator[str]:
    """Return what is wrong with a group's volumes and file systems.

    Source: model botocore sagemaker ClusterEbsVolumeConfig (RootVolume)
    Source: assumption hyperpod-rules-across-fields
    """
    configs: list[dict[str, Any]] = group.get("InstanceStorageConfigs", [])
    for kind in (_LUSTRE, _OPEN_ZFS):
        count = sum(kind in config for config in configs)
        if count > 1:
            yield f"at most one {kind} is allowed"
        if count and "VpcConfig" not in requested:
            yield f"{kind} requires VpcConfig of the cluster"
    for config in configs:
        ebs = config.get("EbsVolumeConfig", {})
        if ebs.get("RootVolume") and "VolumeSizeInGB" in ebs:
            yield "VolumeSizeInGB is not allowed for a root volume"
        if ebs.get("RootVolume") and "VolumeKmsKeyId" not in ebs:
            yield "RootVolume requires VolumeKmsKeyId"
