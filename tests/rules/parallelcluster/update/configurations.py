"""A cluster with most kinds of settings, and edits of it."""

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

import yaml

Configuration = dict[str, Any]
Edit = Callable[[Configuration], None]

_BASE = """
Region: us-west-2
Image: {Os: alinux2023}
Imds: {ImdsSupport: v2.0}
HeadNode:
  InstanceType: c5.2xlarge
  Networking: {SubnetId: subnet-0123456789abcdef0}
  LocalStorage: {RootVolume: {Size: 100, VolumeType: gp3}}
  Ssh: {AllowedIps: 10.0.0.0/16}
  Imds: {Secured: true}
  Dcv: {Enabled: true, AllowedIps: 10.0.0.0/16}
  Iam:
    AdditionalIamPolicies: [{Policy: "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"}]
    S3Access: [{BucketName: data, EnableWriteAccess: false}]
  CustomActions:
    OnNodeConfigured: {Script: "s3://scripts/entry.sh", Args: [one]}
    OnNodeUpdated: {Script: "s3://scripts/entry.sh", Args: [one]}
Scheduling:
  Scheduler: slurm
  ScalingStrategy: all-or-nothing
  SlurmSettings:
    QueueUpdateStrategy: DRAIN
    ScaledownIdletime: 20
    Dns: {DisableManagedDns: true}
    CustomSlurmSettings: [{MaxJobCount: 1000}]
  SlurmQueues:
  - Name: trn1
    CapacityType: ONDEMAND
    ComputeResources:
    - {Name: trn1, InstanceType: trn1.32xlarge, MinCount: 2, MaxCount: 4, Efa: {Enabled: true}}
    - {Name: spare, Instances: [{InstanceType: c5.large}, {InstanceType: c5a.large}], MinCount: 0, MaxCount: 8}
    Networking:
      SubnetIds: [subnet-0123456789abcdef1]
      PlacementGroup: {Enabled: true}
      AssignPublicIp: false
    CustomActions: {OnNodeConfigured: {Script: "s3://scripts/aaaa/entry.sh", Args: [trn1]}}
    Iam: {AdditionalIamPolicies: [{Policy: "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"}]}
    Tags: [{Key: team, Value: llm}]
  - Name: cpu
    ComputeResources: [{Name: cpu, InstanceType: c5.large, MinCount: 0, MaxCount: 10}]
    Networking: {SubnetIds: [subnet-0123456789abcdef1]}
LoginNodes:
  Pools:
  - Name: users
    InstanceType: c5.large
    Count: 2
    Networking: {SubnetIds: [subnet-0123456789abcdef0]}
    Ssh: {AllowedIps: 10.0.0.0/16}
    Dcv: {Enabled: true}
    CustomActions:
      OnNodeConfigured: {Script: "s3://scripts/entry.sh", Args: [one]}
      OnNodeUpdated: {Script: "s3://scripts/entry.sh", Args: [one]}
SharedStorage:
- {Name: home, MountDir: /home, StorageType: Efs, EfsSettings: {FileSystemId: fs-0123456789abcdef0}}
- {Name: fsx, MountDir: /fsx, StorageType: FsxLustre, FsxLustreSettings: {FileSystemId: fs-0123456789abcdef1}}
- {Name: ebs, MountDir: /apps, StorageType: Ebs, EbsSettings: {Size: 100, VolumeType: gp3, Iops: 3000}}
Monitoring:
  DetailedMonitoring: false
  Logs: {CloudWatch: {RetentionInDays: 180}}
Tags: [{Key: project, Value: tanuki}]
DevSettings:
  Cookbook:
    ExtraChefAttributes: '{"cluster": {"slurm": {"reconfigure_timeout": 300}, "nvidia": {"enabled": true}}}'
  Timeouts: {HeadNodeBootstrapTimeout: 1800, ComputeNodeBootstrapTimeout: 1800}
"""

MANAGED_LUSTRE: Configuration = {
    "Name": "scratch",
    "MountDir": "/scratch2",
    "StorageType": "FsxLustre",
    "FsxLustreSettings": {"StorageCapacity": 1200, "DeploymentType": "SCRATCH_2"},
}
STRATEGIES = ("COMPUTE_FLEET_STOP", "DRAIN", "TERMINATE")


@cache
def _parsed() -> Configuration:
    return yaml.safe_load(_BASE)


def base(strategy: str = "DRAIN", *, login_nodes: int = 2) -> Configuration:
    """Return the deployed cluster."""
    configuration = deepcopy(_parsed())
    configuration["Scheduling"]["SlurmSettings"]["QueueUpdateStrategy"] = strategy
    configuration["LoginNodes"]["Pools"][0]["Count"] = login_nodes
    return configuration


def edited(configuration: Configuration, *edits: Edit) -> Configuration:
    """Return a changed copy."""
    copy = deepcopy(configuration)
    for edit in edits:
        edit(copy)
    return copy


def put(path: str, value: Any) -> Edit:
    """Return the edit that sets a key, e.g. `put("Scheduling/SlurmQueues/cpu/CapacityType", "SPOT")`."""
    *sections, key = path.split("/")
    return lambda configuration: _walk(configuration, sections).__setitem__(key, deepcopy(value))


def drop(path: str) -> Edit:
    """Return the edit that removes a key, or an item of a list by its name."""
    *sections, key = path.split("/")

    def edit(configuration: Configuration) -> None:
        place: Any = _walk(configuration, sections)
        if isinstance(place, dict):
            del place[key]
        else:
            place.remove(_item(place, key))

    return edit


def append(path: str, item: Any) -> Edit:
    """Return the edit that adds an item to a list."""
    return lambda configuration: _walk(configuration, path.split("/")).append(deepcopy(item))


def _walk(place: Any, path: list[str]) -> Any:
    for part in path:
        place = _item(place, part) if isinstance(place, list) else place.setdefault(part, {})  # pyright: ignore[reportUnknownArgumentType]
    return place


def _item(items: list[Any], name: str) -> Any:
    return items[int(name)] if name.isdigit() else next(item for item in items if item["Name"] == name)
