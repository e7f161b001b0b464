"""A fleet in the AWS emulator that changes from one fleet file to another, with the outcome for each resource."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any
from unittest.mock import patch

from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.plan.fleet_sections import Section
from llm_fleet.cli.plan.stack_templates import DeployedStacks, synthesized_stacks
from llm_fleet.cli.plan.whole_plan import difference_section
from llm_fleet_local.aws.assembly.report import DeploymentReport
from llm_fleet_local.aws.client import LocalAws

REGION = "us-west-2"
Place = tuple[str, str]
"""Stack and logical id."""
_NO_RESOURCE = "AWS::CDK::Metadata"


@dataclass(frozen=True, kw_only=True)
class Done:
    """Result of a deployment."""

    report: DeploymentReport
    outcomes: Mapping[Place, str]
    """`add`, `update`, `replace`, `remove` or `keep` (removed from the stack only) for each changed resource.

    Only of stacks that existed before, without changes that a failed update rolled back.
    """
    lost: Mapping[str, Place | None]
    """Lost data: by id its former resource, `None` if no stack had it."""
    ended: Mapping[str, tuple[Place | None, str]]
    """Removed HyperPod nodes: by id the cluster and the group's name."""

    @property
    def failed(self) -> tuple[str, ...]:
        """The stacks that failed."""
        return tuple(stack.name for stack in self.report.stacks if not stack.succeeded)


class DeployedFleet:
    """A fleet in an AWS emulator."""

    def __init__(self, aws: LocalAws, name: str) -> None:
        """`name`: name of the fleet."""
        self._aws = aws
        self._name = name

    def plan(self, assembly: Path) -> Section:
        """Return the difference from the deployed stacks by `llm-fleet plan`."""
        planned = synthesized_stacks(assembly)
        with patch.dict(os.environ, self._aws.environment):
            deployed = DeployedStacks(AwsClients(region=REGION), [stack.name for stack in planned], fleet=self._name)
            return difference_section(planned, deployed)

    def deploy(self, assembly: Path) -> Done:
        """Deploy as `cdk deploy --all` does."""
        before, data, nodes = self._resources(), self._data(), self._nodes()
        stacks = {stack for stack, _ in before}
        report = self._aws.deploy(assembly)
        after = self._resources()
        new = {stack.name: self._newest_events(stack.name) if stack.changed else [] for stack in report.stacks}
        touched = {
            (stack, event["LogicalResourceId"])
            for stack, those in new.items()
            for event in those
            if event["ResourceStatus"] == "UPDATE_COMPLETE" and event["ResourceType"] != "AWS::CloudFormation::Stack"
        }
        outcomes: dict[Place, str] = {}
        undone = {stack.name for stack in report.stacks if not stack.succeeded}
        for place in {*before, *after}:
            if place[0] not in stacks or place[0] in undone:
                continue
            if place not in before:
                outcomes[place] = "add"
            elif place not in after:
                outcomes[place] = "remove" if _is_deleted(new.get(place[0], []), place[1]) else "keep"
            elif before[place] != after[place]:
                outcomes[place] = "replace"
            elif place in touched:
                outcomes[place] = "update"
        places = {physical_id: place for place, (_, physical_id) in before.items()}
        lost = {one: places.get(one) for one in data - self._data()}
        gone = nodes.keys() - self._nodes().keys()
        ended = {one: (places.get(nodes[one][0]), nodes[one][1]) for one in gone}
        return Done(report=report, outcomes=outcomes, lost=lost, ended=ended)

    def restore(self, assembly: Path, *, is_deployed: bool) -> bool:
        """Delete the stacks that `assembly` does not have, deploy it unless it is; return whether that succeeded."""
        mine = {stack.name for stack in synthesized_stacks(assembly)}
        client = self._aws.client("cloudformation")
        for name in self._stacks() - mine:
            client.update_termination_protection(StackName=name, EnableTerminationProtection=False)
            client.delete_stack(StackName=name)
            client.get_waiter("stack_delete_complete").wait(StackName=name, WaiterConfig={"Delay": 1})
        return is_deployed or self._aws.deploy(assembly).succeeded

    def _newest_events(self, stack: str) -> list[dict[str, Any]]:
        """Return the events of the last operation on a stack."""
        pages = self._aws.client("cloudformation").get_paginator("describe_stack_events").paginate(StackName=stack)
        newest_first = (event for page in pages for event in page["StackEvents"])
        return list(next(those for _, those in groupby(newest_first, key=itemgetter("OperationId"))))

    def _stacks(self) -> set[str]:
        """Return the names of the stacks that the CDK deployed, without nested ones."""
        pages = self._aws.client("cloudformation").get_paginator("describe_stacks").paginate()
        found = (stack for page in pages for stack in page["Stacks"] if "ParentId" not in stack)
        return {stack["StackName"] for stack in found if stack["StackName"].startswith(f"{self._name}-")}

    def _resources(self) -> dict[Place, tuple[str, str]]:
        """Return type and physical id of every resource of these stacks."""
        names = self._stacks()
        return {
            (stack["name"], one["logical_id"]): (one["type"], one["physical_id"])
            for stack in self._aws.stacks()
            if stack["name"] in names
            for one in stack["resources"]
            if one["type"] != _NO_RESOURCE
        }

    def _data(self) -> set[str]:
        """Return the ids of resources with data that cannot be restored; a root volume counts as its file system."""
        client = self._aws.client
        keys = client("kms").get_paginator("list_keys").paginate()
        return {
            *(one["FileSystemId"] for one in client("fsx").describe_file_systems()["FileSystems"]),
            *(
                one["VolumeId"]
                for one in client("fsx").describe_volumes()["Volumes"]
                if one["OpenZFSConfiguration"].get("ParentVolumeId")
            ),
            *(one["Name"] for one in client("s3").list_buckets()["Buckets"]),
            *(one["DBClusterIdentifier"] for one in client("rds").describe_db_clusters()["DBClusters"]),
            *client("dynamodb").list_tables()["TableNames"],
            *self._living_keys(one["KeyId"] for page in keys for one in page["Keys"]),
        }

    def _nodes(self) -> dict[str, tuple[str, str]]:
        """Return the nodes of all HyperPod clusters by their ids: the ARN of the cluster, the name of the group."""
        client = self._aws.client("sagemaker")
        return {
            node["InstanceId"]: (cluster["ClusterArn"], node["InstanceGroupName"])
            for cluster in client.list_clusters()["ClusterSummaries"]
            for node in client.list_cluster_nodes(ClusterName=cluster["ClusterName"])["ClusterNodeSummaries"]
        }

    def _living_keys(self, keys: Iterator[str]) -> Iterator[str]:
        for key in keys:
            described: dict[str, Any] = self._aws.client("kms").describe_key(KeyId=key)["KeyMetadata"]
            if described["KeyState"] == "Enabled":
                yield key


def _is_deleted(events: list[dict[str, Any]], logical_id: str) -> bool:
    return any(
        event["LogicalResourceId"] == logical_id and event["ResourceStatus"] == "DELETE_COMPLETE" for event in events
    )
