"""Configurations of ParallelCluster for tests, as its users write them."""

from copy import deepcopy
from typing import Any

import yaml

_WORKING = """
Region: us-west-2
Image: {Os: alinux2023}
HeadNode:
  InstanceType: c5.2xlarge
  Networking: {SubnetId: {Ref: Public}}
  Iam: {AdditionalIamPolicies: [{Policy: "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"}]}
  CustomActions: {OnNodeConfigured: {Script: "s3://scripts/entry.sh", Args: [one]}}
Scheduling:
  Scheduler: slurm
  SlurmSettings: {QueueUpdateStrategy: DRAIN}
  SlurmQueues:
  - Name: trn1
    JobExclusiveAllocation: true
    ComputeResources:
    - {Name: trn1, InstanceType: trn1.32xlarge, MinCount: 0, MaxCount: 4, Efa: {Enabled: true}}
    Networking: {SubnetIds: [{Ref: Private}], PlacementGroup: {Enabled: true}}
SharedStorage:
- {Name: fsx, MountDir: /fsx, StorageType: FsxLustre, FsxLustreSettings: {FileSystemId: {Ref: Fsx}}}
"""


def working() -> dict[str, Any]:
    """Return a Trainium cluster that ParallelCluster accepts."""
    return yaml.safe_load(_WORKING)


def with_change(configuration: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return it with another value at a path, e.g. `Scheduling/SlurmQueues/0/Name`."""
    changed = deepcopy(configuration)
    *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    place: Any = changed
    for step in steps:
        place = place[step]
    place[last] = value
    return changed
