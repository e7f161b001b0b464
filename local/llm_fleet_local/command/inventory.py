"""Lists the resources from the services' own APIs, not from the templates."""

from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from rich.console import Console
from rich.table import Table

from llm_fleet_local.aws.client import LocalAws
from llm_fleet_local.command.inference_services import InferenceServices
from llm_fleet_local.command.parallel_clusters import ParallelClusters
from llm_fleet_local.command.sagemaker_pieces import SageMakerPieces
from llm_fleet_local.command.tables import table

NODES_SHOWN = 8


class Inventory:
    """Tables of clusters, nodes, services, SageMaker resources, file systems and lifecycle bundles in a region."""

    def __init__(self, *, endpoint: str, region: str, console: Console, assembly: Path, verbose: bool = False) -> None:
        """Query `endpoint` for the resources in `region`, which `assembly` was deployed to.

        `verbose` prints all nodes and the files of bundles.
        """
        self._verbose = verbose
        self._client = LocalAws(endpoint=endpoint, region=region).client
        self._console = console
        self._assembly = assembly

    def show(self) -> None:
        """Print all tables."""
        self._console.rule("resources in the emulator, of all fleets in this region", align="left")
        sagemaker = self._client("sagemaker")
        names = [summary["ClusterName"] for summary in sagemaker.list_clusters()["ClusterSummaries"]]
        clusters = [sagemaker.describe_cluster(ClusterName=name) for name in names]
        for cluster in clusters:
            self._console.print(self._groups(cluster))
            for line in _hooks(cluster):
                self._console.print(line, soft_wrap=True, highlight=False)
            self._show_nodes(cluster)
        bundles = {uri for cluster in clusters for uri in _bundles(cluster)}
        bundles |= set(ParallelClusters(self._client, self._console).show())
        InferenceServices(self._client, self._console, self._assembly).show()
        SageMakerPieces(self._client, self._console).show()
        file_systems = self._file_systems()
        if file_systems.row_count:
            self._console.print(file_systems)
        for uri in sorted(bundles):
            self._show_bundle(uri)

    def _groups(self, cluster: dict[str, Any]) -> Table:
        shown = table(
            f"HyperPod cluster {cluster['ClusterName']} ({cluster['ClusterStatus']})",
            "group",
            "role",
            "type",
            "nodes",
            "partition",
            "mounts",
        )
        for group in cluster["InstanceGroups"]:
            slurm = group.get("SlurmConfig", {})
            shown.add_row(
                group["InstanceGroupName"],
                slurm.get("NodeType", ""),
                group.get("InstanceType", ""),
                f"{group.get('CurrentCount', 0)} of {group.get('TargetCount', group.get('CurrentCount', 0))}",
                ", ".join(slurm.get("PartitionNames", [])),
                ", ".join(_mounts(group)),
            )
        return shown

    def _show_nodes(self, cluster: dict[str, Any]) -> None:
        nodes = self._client("sagemaker").list_cluster_nodes(ClusterName=cluster["ClusterName"])
        shown = table("its nodes", "node", "group", "type", "status")
        targets: list[str] = []
        cluster_id = cluster["ClusterArn"].rsplit("/", 1)[-1]
        for node in nodes["ClusterNodeSummaries"]:
            group, instance = node["InstanceGroupName"], node["InstanceId"]
            if self._verbose or len(targets) < NODES_SHOWN:
                shown.add_row(instance, group, node["InstanceType"], node["InstanceStatus"]["Status"])
            targets.append(f"sagemaker-cluster:{cluster_id}_{group}-{instance}")
        self._console.print(shown)
        if shown.row_count < len(targets):
            self._console.print(f"and {len(targets) - shown.row_count} more; --verbose lists them\n")
        if targets:
            self._console.print(
                f"on AWS, such a command opens a shell on a node (this ID exists in the emulator only):\n"
                f"  aws ssm start-session --target {targets[0]}\n",
                soft_wrap=True,
            )

    def _file_systems(self) -> Table:
        shown = table("file systems", "id", "type", "deployment", "size", "throughput", "EFA")
        for system in self._client("fsx").describe_file_systems()["FileSystems"]:
            lustre = system.get("LustreConfiguration", {})
            zfs = system.get("OpenZFSConfiguration", {})
            per_tib = lustre.get("PerUnitStorageThroughput")
            shown.add_row(
                system["FileSystemId"],
                system["FileSystemType"],
                lustre.get("DeploymentType") or zfs.get("DeploymentType", ""),
                f"{system.get('StorageCapacity', '')} GiB",
                f"{per_tib} MB/s/TiB" if per_tib else f"{zfs.get('ThroughputCapacity', '')} MB/s",
                "yes" if lustre.get("EfaEnabled") else "no",
            )
        return shown

    def _show_bundle(self, uri: str) -> None:
        parts = urlparse(uri)
        prefix = parts.path.lstrip("/")
        found = self._client("s3").list_objects_v2(Bucket=parts.netloc, Prefix=prefix).get("Contents", [])
        sizes = {item["Key"].removeprefix(prefix): item["Size"] for item in found}
        entry_points = ", ".join(name for name in sizes if name.endswith(".sh") and "/" not in name)
        self._console.print(
            f"lifecycle bundle {uri}\n  {len(sizes)} files, {sum(sizes.values()) // 1024} KiB; "
            f"entry points: {entry_points}\n",
            soft_wrap=True,
            highlight=False,
        )
        if self._verbose:
            shown = table(None, "object")
            shown.add_column("bytes", justify="right")
            for name, size in sizes.items():
                shown.add_row(name, str(size))
            self._console.print(shown)


def _mounts(group: dict[str, Any]) -> list[str]:
    """The mount paths of a group, or the API's defaults."""
    defaults = {"FsxLustreConfig": "/fsx", "FsxOpenZfsConfig": "/home"}
    return [
        config[kind].get("MountPath", path)
        for config in group.get("InstanceStorageConfigs", [])
        for kind, path in defaults.items()
        if kind in config
    ]


def _hooks(cluster: dict[str, Any]) -> list[str]:
    """The lifecycle script of each group, and its hook."""
    return [
        f"nodes of {group['InstanceGroupName']} run the lifecycle script {script} ({hook})"
        for group in cluster["InstanceGroups"]
        for hook in ("OnInitComplete", "OnCreate")
        if (script := group.get("LifeCycleConfig", {}).get(hook))
    ]


def _bundles(cluster: dict[str, Any]) -> list[str]:
    """The bundles that a cluster's groups run."""
    lifecycles = [group.get("LifeCycleConfig", {}) for group in cluster["InstanceGroups"]]
    return [lifecycle["SourceS3Uri"] for lifecycle in lifecycles if lifecycle.get("SourceS3Uri")]
