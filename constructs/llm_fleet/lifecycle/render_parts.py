"""The parts of `fleet.json`, each from the value that describes it."""

from typing import Any

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.instances import Instance, facts_of
from llm_fleet.catalog.lustre import lustre_efa, lustre_efa_interfaces
from llm_fleet.catalog.neuron import (
    NeuronPackage,
    alternative_packages,
    alternative_releases,
    compatibility,
    host_packages,
    neuron_release,
)
from llm_fleet.lifecycle.cluster_user import ClusterUser
from llm_fleet.lifecycle.neuron_host import NeuronHost
from llm_fleet.lifecycle.node_accounting import NodeAccounting
from llm_fleet.lifecycle.own_step import OwnStep
from llm_fleet.lifecycle.report_place import ReportPlace
from llm_fleet.lifecycle.s3_mount import S3Mount
from llm_fleet.rules.terms import NodePlatform


def render_instance_type(name: str, platform: NodePlatform, *, efa: bool = True) -> dict[str, Any]:
    """What a node of this type is expected to have; `None` for what nobody told.

    `efa`: whether the platform attaches the type's EFA interfaces. The type is called as the catalog calls it, with
    `ml.`, on every platform: the node adds that to what its firmware says.
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
    """The operating systems that FSx for Lustre serves over EFA: only a started node knows its own."""
    return [{"id": one.id, "version": one.version, "kernel": one.kernel} for one in lustre_efa().systems]


def render_s3_mount(mount: S3Mount) -> dict[str, Any]:
    """The prefix ends with a slash, as Mountpoint wants it: `a` alone would show `ab` too."""
    return {
        "bucket": mount.bucket.bucket_name,
        "prefix": f"{mount.key_prefix}/" if mount.key_prefix else None,
        "mount_path": mount.mount_path,
        "read_only": mount.read_only,
        "groups": None if mount.groups is None else list(mount.groups),
    }


def render_accounting(accounting: NodeAccounting | None) -> dict[str, Any] | None:
    """`None` for a cluster that keeps none."""
    if accounting is None:
        return None
    return {
        "kind": accounting.kind,
        "endpoint": accounting.endpoint,
        "port": accounting.port,
        "database": accounting.database,
        "secret_arn": accounting.secret_arn,
    }


def render_user(user: ClusterUser) -> dict[str, Any]:
    """With its group spelt out."""
    return {
        "name": user.name,
        "uid": user.uid,
        "gid": user.uid if user.gid is None else user.gid,
        "sudo": user.sudo,
        "ssh_public_keys": [key.strip() for key in user.ssh_public_keys],
        "slurm_account": user.slurm_account,
        # Left out unless told, so that what nodes are told stays as it was.
        **({} if user.home is None else {"home": user.home}),
    }


def render_neuron(neuron: NeuronHost | None) -> dict[str, Any] | None:
    """The release with all that the catalog knows of its packages."""
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
    """`None` for nodes that leave nothing behind."""
    if place is None:
        return None
    return {"s3_uri": place.s3_uri, "metric_namespace": place.metric_namespace, "event_bus": place.event_bus}


def render_own_step(step: OwnStep) -> dict[str, Any]:
    """The script by its path in the bundle."""
    return {
        "name": step.name,
        "script": f"{load('lifecycle')['own_steps_folder']}/{step.script}",
        "roles": [role.value for role in step.roles],
        "needs": list(step.needs),
        "timeout_seconds": step.timeout_seconds,
        "retries": step.retries,
    }


def _package(package: NeuronPackage) -> dict[str, str]:
    return {"name": package.name, "version": package.version}
