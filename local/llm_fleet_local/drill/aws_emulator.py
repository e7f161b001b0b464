"""Deploys a fleet file to the AWS emulator, and reads groups, nodes and scripts from it."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, cast

from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet_local.aws.client import LocalAws
from llm_fleet_local.command.project import LocalError
from llm_fleet_local.drill.bundle import Bundle, fetch, prove
from llm_fleet_local.drill.cluster_view import ClusterView, FileSystem, Group, Instance
from llm_fleet_local.drill.parallelcluster.view import ParallelClusterView
from llm_fleet_stacks.synth import app_context, recommended_context, use_node_of_environment

_IS_CLUSTER = "for a cluster of AWS ParallelCluster"
"""Part of the stack description of such a cluster in the AWS emulator."""


class NotDeployed(LocalError):
    """The fleet could not be deployed; the message has the AWS emulator's report."""


class AwsEmulator:
    """The AWS emulator, for as long as its context lasts."""

    def __init__(self) -> None:
        """Prepare; it starts on entering the context."""
        self._is_bootstrapped = False
        self._aws = LocalAws()
        self._hashes: dict[str, str] = {}

    def __enter__(self) -> AwsEmulator:
        self._aws.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._aws.stop()

    @property
    def endpoint(self) -> str:
        """Its endpoint on this machine's loopback interface."""
        return self._aws.endpoint

    def client(self, service: str) -> Any:
        """Return a boto3 client with all permissions."""
        return self._aws.client(service)

    def deploy(self, fleet_file: Path, fleet: Fleet | None = None, *, stack: str | None = None) -> None:
        """Synthesize the fleet and deploy all its stacks, or bring them up to date. Raises `NotDeployed`.

        `fleet`: instead of the content of `fleet_file`. `stack`: deploy only this one, and the stacks that it depends
        on. Feature flags are those of the nearest cdk.json.
        """
        fleet = fleet or load_fleet(fleet_file)
        self._aws.region = fleet.region
        if not self._is_bootstrapped:
            self._aws.bootstrap()
            self._is_bootstrapped = True
        with TemporaryDirectory(prefix="drill-synth-") as folder:
            assembly = _synthesize(fleet, fleet_file, self._aws.account, Path(folder, "cdk.out"))
            self._hashes |= _content_hashes(assembly)
            report = self._aws.deploy(assembly, only=None if stack is None else with_dependencies(assembly, stack))
        if not report.succeeded:
            raise NotDeployed(
                f"the fleet cannot be deployed to the AWS emulator: {report}",
                "fix what the report names; `llm-fleet local deploy` shows the same deployment in detail",
            )

    def clusters(self) -> list[str]:
        """Return the names of the clusters that exist."""
        return [one["ClusterName"] for one in self.client("sagemaker").list_clusters()["ClusterSummaries"]]

    def cluster(self, name: str) -> ClusterView:
        """Return the cluster `name` as its service describes it."""
        sagemaker = self.client("sagemaker")
        description = sagemaker.describe_cluster(ClusterName=name)
        pages = sagemaker.get_paginator("list_cluster_nodes").paginate(ClusterName=name)
        ids = [node["InstanceId"] for page in pages for node in page["ClusterNodeSummaries"]]
        details = [sagemaker.describe_cluster_node(ClusterName=name, NodeId=one)["NodeDetails"] for one in ids]
        return ClusterView(
            name=name,
            arn=description["ClusterArn"],
            region=self._aws.region,
            groups=tuple(_group(group) for group in description["InstanceGroups"]),
            instances=tuple(_instances(details)),
        )

    def parallelclusters(self) -> list[ParallelClusterView]:
        """Return the clusters of AWS ParallelCluster: each is a stack with the cluster's data in its metadata."""
        cloudformation = self.client("cloudformation")
        found: list[ParallelClusterView] = []
        for stack in cloudformation.describe_stacks()["Stacks"]:
            if _IS_CLUSTER not in stack.get("Description", ""):
                continue
            body: Any = cloudformation.get_template(StackName=stack["StackName"])["TemplateBody"]
            template = cast("dict[str, Any]", json.loads(body) if isinstance(body, str) else body)
            configuration = template["Metadata"]["ClusterConfiguration"]
            found.append(ParallelClusterView(stack["StackName"], self._aws.region, configuration))
        return found

    def subnet(self, name: str) -> str:
        """Return the addresses of the subnet that the nodes of the cluster `name` are in, e.g. `10.1.192.0/18`."""
        (subnet,) = self.client("sagemaker").describe_cluster(ClusterName=name)["VpcConfig"]["Subnets"]
        return self.client("ec2").describe_subnets(SubnetIds=[subnet])["Subnets"][0]["CidrBlock"]

    def file_systems(self) -> list[FileSystem]:
        """Return the file systems that exist, which the stand-ins of file servers serve."""
        found = self.client("fsx").describe_file_systems()["FileSystems"]
        return [
            FileSystem(
                kind=system["FileSystemType"],
                dns_name=system["DNSName"],
                mount_name=system.get("LustreConfiguration", {}).get("MountName"),
                id=system.get("OpenZFSConfiguration", {}).get("RootVolumeId") or system["FileSystemId"],
            )
            for system in found
        ]

    def bundle(self, source_s3_uri: str) -> tuple[Bundle, list[str]]:
        """Fetch the bundle from its bucket; return it, and the results of its verification."""
        bundle = fetch(self.client("s3"), source_s3_uri)
        known = self._hashes.get(bundle.prefix.rsplit("/", 1)[0], "")
        return bundle, prove(bundle, known)


def _synthesize(fleet: Fleet, fleet_file: Path, account: str, to: Path) -> Path:
    use_node_of_environment()
    import aws_cdk as cdk  # Only when needed: it takes a second.

    from llm_fleet_stacks.fleet_stacks import FleetStacks

    app = cdk.App(context=app_context(fleet_file.resolve().parent) or recommended_context(), outdir=str(to))
    FleetStacks.make(app, fleet, account=account)
    app.synth()
    return to


def with_dependencies(assembly: Path, stack: str) -> set[str]:
    """Return the names of the stack and of all stacks that it depends on."""
    artifacts: dict[str, dict[str, Any]] = json.loads((assembly / "manifest.json").read_bytes())["artifacts"]
    found: set[str] = set()
    left = {stack}
    while left:
        found |= left
        left = {other for name in left for other in artifacts[name].get("dependencies", ())} - found
    return found


def _content_hashes(assembly: Path) -> dict[str, str]:
    """Return the content hash that each bundle's construct wrote into its template, by the bundle's root."""
    found: dict[str, str] = {}
    for template in assembly.glob("**/*.template.json"):
        resources = cast("dict[str, Any]", json.loads(template.read_text(encoding="utf-8"))).get("Resources", {})
        for resource in resources.values():
            if resource["Type"] == "Custom::LlmFleetBundle":
                found[resource["Properties"]["Root"]] = resource["Properties"]["ContentHash"]
    return found


def _group(group: dict[str, Any]) -> Group:
    lifecycle = group.get("LifeCycleConfig", {})
    hook = next((name for name in ("OnCreate", "OnInitComplete") if name in lifecycle), None)
    slurm = group.get("SlurmConfig", {})
    return Group(
        name=group["InstanceGroupName"],
        role=slurm.get("NodeType", "Compute"),
        instance_type=group["InstanceType"],
        partitions=tuple(slurm.get("PartitionNames", ())),
        hook=hook,
        script=lifecycle.get(hook) if hook else None,
        source_s3_uri=lifecycle.get("SourceS3Uri"),
        storage=tuple(group.get("InstanceStorageConfigs", ())),
    )


def _instances(details: list[dict[str, Any]]) -> list[Instance]:
    """The nodes, each with the name `<group>-<n>` that HyperPod gives it.

    Source: assumption hyperpod-agent-files
    """
    counts: dict[str, int] = {}
    found: list[Instance] = []
    for node in details:
        group = node["InstanceGroupName"]
        counts[group] = counts.get(group, 0) + 1
        found.append(
            Instance(
                name=f"{group}-{counts[group]}",
                group=group,
                instance_id=node["InstanceId"],
                address=node["PrivatePrimaryIp"],
                host_name=node["PrivateDnsHostname"],
            )
        )
    return found
