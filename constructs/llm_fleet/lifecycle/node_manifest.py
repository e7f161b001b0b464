"""The node manifest `fleet.json`: the configuration of a cluster's nodes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from llm_fleet.catalog.fsx import lustre_efa, lustre_efa_interfaces
from llm_fleet.catalog.hyperpod import Instance, facts_of
from llm_fleet.catalog.neuron import (
    NeuronPackage,
    alternative_packages,
    alternative_releases,
    compatibility,
    host_packages,
    neuron_release,
)
from llm_fleet.lifecycle.cluster_metrics import ReportPlace, render_metrics
from llm_fleet.lifecycle.node_setup import check_downloads
from llm_fleet.lifecycle.people import render_people
from llm_fleet.lifecycle.training_runtime import render_training
from llm_fleet.named_files.named_file import files_of, locked_files
from llm_fleet.rules.node_setup import check_manifest
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.terms import NodePlatform
from llm_fleet.rules.training.environment import check_training
from llm_fleet.rules.training.environment_place import SharedFolder, TrainingPlace
from llm_fleet.spec.cluster import ClusterSpec, Downloads, NeuronHost, NodeGroup, NodeMount, NodeScripts, S3Mount
from llm_fleet.spec.people import ClusterUser
from llm_fleet.spec.slurm_database import AccountingDatabase
from llm_fleet.spec.spec import in_request


def render_instance_type(name: str, platform: NodePlatform, *, efa: bool = True) -> dict[str, Any]:
    """The expected hardware of a node of this type; `None` for unknown values.

    `efa`: whether the platform attaches the type's EFA interfaces. The type has the catalog's name, with
    `ml.`, on every platform: the node adds the prefix to the type in its firmware.
    """
    if platform is NodePlatform.PARALLELCLUSTER and not name.startswith("ml."):
        name = f"ml.{name}"
    instance = facts_of(name)
    return {
        "name": str(name),
        "accelerator": instance.accelerator if instance else None,
        "accelerators": instance.accelerators if instance else None,
        **(_efa(instance) if efa else {"efa_interfaces": 0, "lustre_efa_interfaces": 0}),
    }


def _efa(instance: Instance | None) -> dict[str, int | None]:
    return {
        "efa_interfaces": instance.efa_interfaces if instance else None,
        "lustre_efa_interfaces": lustre_efa_interfaces(instance) if instance else None,
    }


def render_efa_systems() -> list[dict[str, str | None]]:
    """The operating systems that FSx for Lustre supports over EFA: a node compares its own with them at start."""
    return [{"id": one.id, "version": one.version, "kernel": one.kernel} for one in lustre_efa().systems]


def render_s3_mount(mount: S3Mount) -> dict[str, Any]:
    """The prefix ends with a slash, as Mountpoint requires: `a` alone would include `ab` too."""
    return {"prefix": None, "groups": None, **in_request(mount)}


def render_accounting(accounting: AccountingDatabase | Literal["local"] | None) -> dict[str, Any] | None:
    """`None` for a cluster without accounting."""
    if accounting is None:
        return None
    database = None if accounting == "local" else accounting
    return {
        "kind": "external" if database else "local",
        "endpoint": database and database.endpoint,
        "port": database and database.effective_port,
        "database": database and database.database_name,
        "secret_arn": database and database.secret_arn,
    }


def render_user(user: ClusterUser) -> dict[str, Any]:
    """With its group filled in."""
    return {
        "name": user.name,
        "uid": user.uid,
        "gid": user.uid if user.gid is None else user.gid,
        "sudo": user.sudo,
        "ssh_public_keys": [key.strip() for key in user.ssh_public_keys],
        "slurm_account": user.slurm_account,
        # Omitted unless set, so that the configuration of existing nodes does not change.
        **({} if user.home is None else {"home": user.home}),
    }


def render_neuron(neuron: NeuronHost | None) -> dict[str, Any] | None:
    """The release with the catalog's data of its packages."""
    if neuron is None:
        return None
    release = neuron_release(neuron.release)
    return {
        "release": release.name,
        "host": "install" if neuron.install else "verify",
        "packages": [_package(package) for package in host_packages(release)],
        "compatibility": [
            {
                "package": edge.package,
                "from_version": edge.from_version,
                "other": edge.other,
                "at_least": edge.at_least,
            }
            for edge in compatibility()
        ],
        "alternatives": [
            {"release": other.name, "packages": [_package(package) for package in alternative_packages(other)]}
            for other in alternative_releases(release)
        ],
    }


def render_reports(place: ReportPlace | None) -> dict[str, Any] | None:
    """`None` for nodes without reports."""
    if place is None:
        return None
    return {"s3_uri": place.s3_uri, "metric_namespace": place.metric_namespace, "event_bus": place.event_bus}


def render_downloads(downloads: Downloads | None) -> dict[str, Any]:
    """Raises `OSError` or `ValueError` when the lock file cannot be read."""
    if downloads is None:
        return {"source": "none", "mirror_s3_uri": None, "files": []}
    place = f"s3://{downloads.mirror_name}/{(downloads.mirror_prefix or '').strip('/')}".rstrip("/")
    return {
        "source": downloads.source,
        "mirror_s3_uri": None if downloads.mirror is None else place,
        "files": locked_files(downloads.lock_path),
    }


def _package(package: NeuronPackage) -> dict[str, str]:
    return {"name": package.name, "version": package.version}


SCHEMA_VERSION = 1
"""Raised when a node of the older version could misread a newer manifest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeManifest:
    """The configuration of a cluster's nodes. Checked when created: raises one `FleetError` with all problems."""

    fleet_name: str
    """Name of the fleet."""
    region: str
    """Region of the cluster; may be a token."""
    groups: Sequence[NodeGroup]
    """All instance groups, so that every node can look up the roles of the others."""
    platform: NodePlatform = NodePlatform.HYPERPOD
    """The platform that starts the nodes."""
    cluster_name: str | None = None
    """`ClusterName`. `None` (a generated name) makes nodes skip the check that they are in the right cluster."""
    mounts: Sequence[NodeMount] = ()
    """File systems, each on a path of its own."""
    shared_folders: Sequence[SharedFolder] = ()
    """Additional file systems that all nodes share, mounted by the platform. Default: none."""
    accounting: AccountingDatabase | Literal["local"] | None = "local"
    """The accounting database of Slurm. Default: a database on the controller. `None` for no accounting."""
    spec: ClusterSpec = field(default_factory=ClusterSpec)
    """Software and users of nodes. Metrics use its name; ParallelCluster's own name, with a hash, is `cluster_name`."""
    scripts: NodeScripts = field(default_factory=NodeScripts)
    """The steps that they skip, and the custom steps."""
    report_place: ReportPlace | None = None
    """Where nodes write reports. Default: only on the node, and in its log group."""

    def __post_init__(self) -> None:
        problems = check_manifest(
            self.spec, self.scripts, groups=self.groups, mounts=self.mounts, platform=self.platform
        )
        problems += check_downloads(self.spec.downloads)
        if self.spec.training is not None:
            found = check_training(self.spec.training, self.training_place)
            problems += [problem.under("training") for problem in found]
        raise_problems(problems, subject=f"node manifest of {self.fleet_name}")

    @property
    def training_place(self) -> TrainingPlace:
        """The cluster's properties that the training rules need."""
        mounted = [SharedFolder(kind=each.kind, path=each.mount_path, groups=each.groups) for each in self.mounts]
        files = files_of(self.spec.downloads)
        return TrainingPlace.of(
            self.spec, self.groups, [*mounted, *self.shared_folders], files=files, region=self.region
        )


def render(manifest: NodeManifest, *, content_hash: str, scripts_sha256: str) -> dict[str, Any]:
    """Return `manifest` as the plain object of `fleet.json` (`lifecycle_scripts/fleet.schema.json`).

    `content_hash` names the bundle, `scripts_sha256` is the digest of the scripts' checksum list; both in hex.
    """
    spec, scripts = manifest.spec, manifest.scripts
    return {
        "schema_version": SCHEMA_VERSION,
        "package_version": package_version(),
        "content_hash": content_hash,
        "scripts_sha256": scripts_sha256,
        "platform": manifest.platform.value,
        "fleet": manifest.fleet_name,
        "cluster": manifest.cluster_name,
        "region": manifest.region,
        "groups": [_render_group(group, manifest.platform) for group in manifest.groups],
        "mounts": [_render_mount(mount) for mount in manifest.mounts],
        "s3_mounts": [render_s3_mount(mount) for mount in spec.s3_mounts],
        "accounting": render_accounting(manifest.accounting),
        "users": [render_user(user) for user in spec.users],
        **render_people(spec.slurm_accounts, spec.directory),
        "neuron": render_neuron(spec.neuron),
        "training": render_training(spec.training, manifest.training_place),
        "downloads": render_downloads(spec.downloads),
        "reports": render_reports(manifest.report_place),
        **render_metrics(spec.metrics, cluster_name=spec.cluster_name or manifest.cluster_name),
        # Fields with an `InRequest` are read here; an empty list is written too.
        "steps": {
            "skip": list(scripts.skip_steps),
            "own": [{"needs": [], **in_request(step)} for step in scripts.own_steps],
        },
    }


def package_version() -> str:
    """Return the version of the installed package, `0` in a checkout that was never installed."""
    try:
        return version("llm-fleet")
    except PackageNotFoundError:
        return "0"


def _render_group(group: NodeGroup, platform: NodePlatform) -> dict[str, Any]:
    return {
        "name": group.name,
        "role": group.role.value,
        "hook": group.hook.value if group.hook else None,
        "partition": group.partition,
        "instance_types": [render_instance_type(name, platform, efa=group.efa) for name in group.instance_types],
    }


def _render_mount(mount: NodeMount) -> dict[str, Any]:
    return {
        "kind": mount.kind,
        "dns_name": mount.dns_name,
        "mount_name": mount.mount_name,
        "mount_path": mount.mount_path,
        "efa": mount.efa,
        **({"efa_systems": render_efa_systems()} if mount.efa else {}),
        "groups": None if mount.groups is None else list(mount.groups),
    }
