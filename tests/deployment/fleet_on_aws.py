"""Queries the services for a deployed fleet."""

import json
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from urllib.parse import ParseResult, urlparse

from llm_fleet_local.aws.client import LocalAws
from llm_fleet_local.aws.reachability import Place, Reachability


class FleetOnAws:
    """One deployed fleet with one cluster and one file system, as boto3 sees it."""

    def __init__(self, aws: LocalAws, assembly: Path, cluster_name: str = "ml-cluster") -> None:
        self.aws = aws
        self._client = cache(aws.client)  # making one costs more than using it
        self.assembly = assembly
        self._cluster_name = cluster_name

    @property
    def cluster(self) -> dict[str, Any]:
        """What `describe-cluster` says now."""
        return self._client("sagemaker").describe_cluster(ClusterName=self._cluster_name)

    def group(self, name: str) -> dict[str, Any]:
        return next(group for group in self.cluster["InstanceGroups"] if group["InstanceGroupName"] == name)

    @cached_property
    def file_system(self) -> dict[str, Any]:
        (only,) = self._client("fsx").describe_file_systems()["FileSystems"]
        return only

    @cached_property
    def reachability(self) -> Reachability:
        return Reachability(self._client("ec2"))

    @property
    def subnet_id(self) -> str:
        (only,) = self.cluster["VpcConfig"]["Subnets"]
        return only

    @property
    def node(self) -> Place:
        return Place(groups=tuple(self.cluster["VpcConfig"]["SecurityGroupIds"]), subnet_id=self.subnet_id)

    @property
    def file_server(self) -> Place:
        """The file system's network interface, by the security groups that it was made with."""
        interfaces = self._client("ec2").describe_network_interfaces(
            NetworkInterfaceIds=self.file_system["NetworkInterfaceIds"]
        )["NetworkInterfaces"]
        groups = {group["GroupId"] for interface in interfaces for group in interface["Groups"]}
        return Place(groups=tuple(groups), subnet_id=self.file_system["SubnetIds"][0])

    @property
    def bundle(self) -> tuple[str, str]:
        """Bucket and prefix of the bundle that the nodes run."""
        first = self.cluster["InstanceGroups"][0]
        uri: ParseResult = urlparse(str(first["LifeCycleConfig"]["SourceS3Uri"]))
        return uri.netloc, uri.path.strip("/")

    def bundle_object(self, name: str) -> bytes:
        bucket, prefix = self.bundle
        return self._client("s3").get_object(Bucket=bucket, Key=f"{prefix}/{name}")["Body"].read()

    def bundle_objects(self) -> dict[str, bytes]:
        """Everything in the bundle, by name."""
        s3, (bucket, prefix) = self._client("s3"), self.bundle
        keys = [str(item["Key"]) for item in s3.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/")["Contents"]]
        return {key.removeprefix(f"{prefix}/"): s3.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys}

    @property
    def manifest(self) -> dict[str, Any]:
        return json.loads(self.bundle_object("fleet.json"))
