"""Asks the services what a deployed fleet with a ParallelCluster is like."""

from typing import Any

from llm_fleet_local.aws.client import LocalAws
from llm_fleet_local.aws.reachability import Place

VERSION_TAG = "parallelcluster:version"


class ParallelClusterOnAws:
    """A fleet with one cluster and one file system of each kind, as boto3 sees it."""

    def __init__(self, aws: LocalAws) -> None:
        self.aws = aws
        self._cloudformation = aws.client("cloudformation")

    @property
    def names(self) -> list[str]:
        """The clusters that there are: each is a stack."""
        stacks = self._cloudformation.describe_stacks()["Stacks"]
        return [one["StackName"] for one in stacks if any(tag["Key"] == VERSION_TAG for tag in one["Tags"])]

    @property
    def name(self) -> str:
        (only,) = self.names
        return only

    @property
    def configuration(self) -> dict[str, Any]:
        """What the provider was handed last."""
        return self._cloudformation.get_template(StackName=self.name)["TemplateBody"]["Metadata"][
            "ClusterConfiguration"
        ]

    @property
    def queue(self) -> dict[str, Any]:
        (only,) = self.configuration["Scheduling"]["SlurmQueues"]
        return only

    @property
    def max_count(self) -> int:
        (only,) = self.queue["ComputeResources"]
        return int(only["MaxCount"])

    def storage(self, name: str) -> dict[str, Any]:
        return next(one for one in self.configuration["SharedStorage"] if one["Name"] == name)

    def outputs(self, stack: str) -> dict[str, str]:
        found = self._cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["Outputs"]
        return {one["OutputKey"]: one["OutputValue"] for one in found}

    @property
    def head_node(self) -> Place:
        """Where the interface is that is for the head node."""
        address = {"Name": "addresses.private-ip-address", "Values": [self.outputs(self.name)["HeadNodePrivateIP"]]}
        (interface,) = self.aws.client("ec2").describe_network_interfaces(Filters=[address])["NetworkInterfaces"]
        return Place(
            groups=tuple(group["GroupId"] for group in interface["Groups"]), subnet_id=str(interface["SubnetId"])
        )

    def file_server(self, kind: str) -> tuple[str, Place]:
        """The id of the file system of a kind of FSx, and where its interfaces are."""
        systems = self.aws.client("fsx").describe_file_systems()["FileSystems"]
        (system,) = [one for one in systems if one["FileSystemType"] == kind]
        interfaces = self.aws.client("ec2").describe_network_interfaces(
            NetworkInterfaceIds=system["NetworkInterfaceIds"]
        )["NetworkInterfaces"]
        groups = {str(group["GroupId"]) for interface in interfaces for group in interface["Groups"]}
        return system["FileSystemId"], Place(groups=tuple(groups), subnet_id=str(system["SubnetIds"][0]))

    def text(self, uri: str) -> str:
        """What is at an S3 URI."""
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        return self.aws.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read().decode()
