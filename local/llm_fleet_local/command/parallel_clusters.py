"""Lists clusters of AWS ParallelCluster: the input of their provider, read from their stacks."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from llm_fleet_local.aws.parallelcluster.cluster_stack import VERSION_TAG
from llm_fleet_local.command.tables import table
from llm_fleet_local.parallelcluster import named


class ParallelClusters:
    """Tables of head node, login nodes, queues, storage and hooks of each cluster in one region."""

    def __init__(self, client: Callable[[str], Any], console: Console) -> None:
        """Query CloudFormation for the stacks; print to `console`."""
        self._cloudformation = client("cloudformation")
        self._console = console

    def show(self) -> list[str]:
        """Print all tables; return the S3 folders of the queues' bundles."""
        bundles: list[str] = []
        for stack in self._stacks():
            body = self._cloudformation.get_template(StackName=stack["StackName"])["TemplateBody"]
            configuration: dict[str, Any] = body["Metadata"]["ClusterConfiguration"]
            self._console.print(_nodes(stack, body["Metadata"]["Version"], configuration))
            self._console.print(_storage(configuration))
            for line in _hooks(configuration):
                self._console.print(line, soft_wrap=True, highlight=False)
            self._say_what_was_in(stack)
            bundles += _bundles(configuration)
        return list(dict.fromkeys(bundles))

    def _stacks(self) -> Iterator[dict[str, Any]]:
        for page in self._cloudformation.get_paginator("describe_stacks").paginate():
            for stack in page["Stacks"]:
                if any(tag["Key"] == VERSION_TAG for tag in stack["Tags"]):
                    yield stack

    def _say_what_was_in(self, stack: dict[str, Any]) -> None:
        outputs = {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}
        self._console.print(
            f"""
head node {outputs["HeadNodeInstanceID"]} at {outputs["HeadNodePrivateIP"]}: a STAND-IN, like AWS's provider here.
It validated the configuration with ParallelCluster's own schema and validators; no instance was started.
Shell on the head node, on AWS:
  aws ssm start-session --target {outputs["HeadNodeInstanceID"]}
""",
            soft_wrap=True,
            highlight=False,
        )


def _nodes(stack: Mapping[str, Any], version: str, configuration: Mapping[str, Any]) -> Table:
    title = f"ParallelCluster {stack['StackName']} ({stack['StackStatus']}), version {version}"
    shown = table(
        f"{title}, {configuration['Image']['Os']}", "nodes", "type", "count", "EFA", "placed", "jobs", "scratch"
    )
    head = configuration["HeadNode"]
    shown.add_row("head node", head["InstanceType"], "1", "", "", "", _scratch(head))
    for pool in named.login_pools(configuration):
        shown.add_row(f"login {pool['Name']}", pool["InstanceType"], pool["Count"], "", "", "", "")
    for queue in named.queues(configuration):
        for resource in named.compute_resources(queue):
            shown.add_row(*_compute_resource(queue, resource))
    return shown


def _compute_resource(queue: Mapping[str, Any], resource: Mapping[str, Any]) -> tuple[str, ...]:
    own, of_queue = named.section(resource, "Networking"), named.section(queue, "Networking")
    group = named.section(own, "PlacementGroup") or named.section(of_queue, "PlacementGroup")
    return (
        f"queue {queue['Name']}, {resource['Name']}",
        ", ".join(named.instance_types(resource)),
        f"{resource.get('MinCount', '0')} to {resource.get('MaxCount', '10')}",
        "yes" if _is_true(named.section(resource, "Efa").get("Enabled")) else "no",
        "together" if _is_true(group.get("Enabled")) or group.get("Name") else "",
        "exclusive" if _is_true(queue.get("JobExclusiveAllocation")) else "shared",
        _scratch(named.section(queue, "ComputeSettings")),
    )


def _storage(configuration: Mapping[str, Any]) -> Table:
    shown = table("shared storage", "at", "name", "type", "which")
    for storage in named.shared_storages(configuration):
        settings = named.section(storage, f"{storage['StorageType']}Settings")
        existing = next((settings[key] for key in ("FileSystemId", "VolumeId", "FileCacheId") if key in settings), None)
        which = str(existing) if existing else f"created by ParallelCluster, {settings.get('Size', '')} GiB"
        shown.add_row(storage["MountDir"], storage["Name"], storage["StorageType"], which)
    return shown


def _hooks(configuration: Mapping[str, Any]) -> Iterator[str]:
    """The scripts of the nodes, and their hooks."""
    places = [("the head node", configuration["HeadNode"])]
    places += [(f"login nodes {pool['Name']}", pool) for pool in named.login_pools(configuration)]
    places += [(f"nodes of {queue['Name']}", queue) for queue in named.queues(configuration)]
    for who, section in places:
        for hook, action in named.section(section, "CustomActions").items():
            for script in named.values({"here": action}, "Script"):
                yield f"{hook} of {who}: {script}"


def _bundles(configuration: Mapping[str, Any]) -> list[str]:
    """Return the S3 folders of the queues' scripts."""
    scripts = [one for queue in named.queues(configuration) for one in named.values(queue, "Script")]
    return [f"{script.rsplit('/', 1)[0]}/" for script in scripts if script.startswith("s3://")]


def _scratch(section: Mapping[str, Any]) -> str:
    return str(named.section(section, "LocalStorage", "EphemeralVolume").get("MountDir", ""))


def _is_true(value: Any) -> bool:
    """Convert CloudFormation's booleans, which are strings."""
    return str(value).lower() == "true"
