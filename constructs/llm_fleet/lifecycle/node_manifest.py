"""What the nodes are told of their fleet: `fleet.json`, the only contract between the CDK side and the nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from llm_fleet.catalog.instance_type import facts_of
from llm_fleet.rules.manifest import manifest as manifest_rules
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.terms import LifecycleHook, NodeType

SCHEMA_VERSION = 1
"""Raised when a node of the older version could misread a newer manifest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroup:
    """One instance group, as its nodes need to know it."""

    name: str
    """`InstanceGroupName`."""
    role: NodeType
    """What its nodes do in Slurm."""
    instance_types: Sequence[str]
    """The `ml.` names that it may be made of, by priority."""
    partition: str | None = None
    """Slurm partition; `None` on controller and login groups."""
    hook: LifecycleHook | None = LifecycleHook.ON_INIT_COMPLETE
    """When its nodes run the bundle; `None` when the AMI does all and they never do."""
    script: str | None = None
    """File name of the script that HyperPod is told to run. Default: the hook's own, e.g. `on_init_complete.sh`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMount:
    """A file system that every node mounts. Names may be tokens: they are resolved when the bundle is deployed."""

    kind: Literal["lustre", "open_zfs"]
    """Which of the two file systems it is."""
    dns_name: str
    """Name to mount it by."""
    mount_path: str
    """Absolute path on the node."""
    mount_name: str | None = None
    """Lustre's generated name; `None` for OpenZFS."""
    efa: bool | None = None
    """Whether EFA must be used where the node has it; `None` when nobody knows (an imported file system)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeManifest:
    """A fleet's cluster as its nodes see it. Checked when made: raises `FleetError` with every problem at once."""

    fleet_name: str
    """Name of the fleet."""
    region: str
    """Region of the cluster; may be a token."""
    groups: Sequence[NodeGroup]
    """All instance groups, so that every node knows every other's role."""
    cluster_name: str | None = None
    """`ClusterName`. `None` (a generated name) makes nodes skip the check that they are in the right cluster."""
    mounts: Sequence[NodeMount] = ()
    """File systems, each on a path of its own."""

    def __post_init__(self) -> None:
        raise_problems(manifest_rules(self), subject=f"node manifest of {self.fleet_name}")


def render(manifest: NodeManifest, *, content_hash: str, scripts_sha256: str) -> dict[str, Any]:
    """Return `manifest` as the plain object that becomes `fleet.json` (`lifecycle_scripts/fleet.schema.json`).

    `content_hash` names the bundle, `scripts_sha256` is the digest of the scripts' checksum list; both in hex.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "package_version": package_version(),
        "content_hash": content_hash,
        "scripts_sha256": scripts_sha256,
        "platform": "hyperpod",
        "fleet": manifest.fleet_name,
        "cluster": manifest.cluster_name,
        "region": manifest.region,
        "groups": [_render_group(group) for group in manifest.groups],
        "mounts": [_render_mount(mount) for mount in manifest.mounts],
        "s3_mounts": [],
        "accounting": None,
        "users": [],
        "neuron": None,
        "downloads": {"source": "none", "mirror_s3_uri": None, "files": []},
        "reports": None,
        "steps": {"skip": [], "own": []},
    }


def package_version() -> str:
    """Return the version of the installed package, `0` in a checkout that was never installed."""
    try:
        return version("llm-fleet")
    except PackageNotFoundError:
        return "0"


def _render_group(group: NodeGroup) -> dict[str, Any]:
    return {
        "name": group.name,
        "role": group.role.value,
        "hook": group.hook.value if group.hook else None,
        "partition": group.partition,
        "instance_types": [_render_instance_type(name) for name in group.instance_types],
    }


def _render_instance_type(name: str) -> dict[str, Any]:
    """What a node of this type is expected to have; `None` for what nobody told."""
    instance = facts_of(name)
    return {
        "name": str(name),
        "accelerator": instance.accelerator if instance else None,
        "accelerators": instance.accelerators if instance else None,
        "efa_interfaces": instance.efa_interfaces if instance else None,
    }


def _render_mount(mount: NodeMount) -> dict[str, Any]:
    return {
        "kind": mount.kind,
        "dns_name": mount.dns_name,
        "mount_name": mount.mount_name,
        "mount_path": mount.mount_path,
        "efa": mount.efa,
        "groups": None,
    }
