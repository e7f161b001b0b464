"""The parts of `fleet.json`, as the node's code holds them. Their meaning is told once, in `fleet.schema.json`'s maker:
`llm_fleet/lifecycle/node_manifest.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

FOR_JOBS, FOR_EXPORT = "jobs", "export"
"""What an environment is for."""


@dataclass(frozen=True)
class InstanceType:
    """An instance type and what a node of it is expected to have; `None` for what nobody told."""

    name: str
    accelerator: Optional[str]
    """`gpu`, `neuron`, or `None`."""
    accelerators: Optional[int]
    efa_interfaces: Optional[int]
    lustre_efa_interfaces: Optional[int] = None
    """How many of them Lustre's network takes; 0 where FSx serves this type over TCP only."""


@dataclass(frozen=True)
class Group:
    """One instance group."""

    name: str
    role: str
    hook: Optional[str]
    partition: Optional[str]
    instance_types: tuple[InstanceType, ...]


@dataclass(frozen=True)
class EfaSystem:
    """An operating system from a version on, and from a kernel on where one is named; `id` as in `/etc/os-release`."""

    id: str
    version: str
    kernel: Optional[str]


@dataclass(frozen=True)
class Mount:
    """A Lustre or OpenZFS file system. `groups`: `None` for every group."""

    kind: str
    """`lustre` or `open_zfs`."""
    dns_name: str
    mount_name: Optional[str]
    mount_path: str
    efa: Optional[bool]
    groups: Optional[tuple[str, ...]]
    efa_systems: tuple[EfaSystem, ...] = ()
    """Operating systems that FSx for Lustre serves over EFA; empty where nobody told."""


@dataclass(frozen=True)
class S3Mount:
    """A bucket that Mountpoint for S3 shows as a folder. `groups`: `None` for every group."""

    bucket: str
    prefix: Optional[str]
    mount_path: str
    read_only: bool
    groups: Optional[tuple[str, ...]]


@dataclass(frozen=True)
class Accounting:
    """Where slurmdbd keeps its records. `local`: MariaDB on the controller; all else is `None` then."""

    kind: str
    """`local` or `external`."""
    endpoint: Optional[str]
    port: Optional[int]
    database: Optional[str]
    secret_arn: Optional[str]
    """Secret with `username` and `password`."""


@dataclass(frozen=True)
class User:
    """A POSIX user with the same ids on every node, and its Slurm account."""

    name: str
    uid: int
    gid: int
    sudo: bool
    ssh_public_keys: tuple[str, ...]
    slurm_account: Optional[str]
    home: Optional[str] = None
    """Absolute path of the home; `None` for wherever this node's homes are."""


@dataclass(frozen=True)
class Package:
    """A package and its pinned version."""

    name: str
    version: str


@dataclass(frozen=True)
class PackageEdge:
    """What two packages ask of each other: `package` from `from_version` on works only with `other` at `at_least`."""

    package: str
    from_version: str
    other: str
    at_least: str


@dataclass(frozen=True)
class NeuronAlternative:
    """Packages of another release, for a node whose image owns a driver that the wanted release does not go with."""

    release: str
    packages: tuple[Package, ...]


@dataclass(frozen=True)
class Neuron:
    """The Neuron release whose host packages are wanted. `host`: `verify` what the image carries, or `install`."""

    release: str
    host: str
    packages: tuple[Package, ...]
    compatibility: tuple[PackageEdge, ...]
    alternatives: tuple[NeuronAlternative, ...]
    """By preference."""


@dataclass(frozen=True)
class Variable:
    """A variable of a job's environment."""

    name: str
    value: str


@dataclass(frozen=True)
class Fabric:
    """What processes of a job on nodes of `groups` talk over. Of one group there is at most one."""

    name: str
    """E.g. `neuron-efa`."""
    groups: Optional[tuple[str, ...]]
    """Names of the groups it is for; `None` for all."""
    processes: int
    """How many processes of a job a node has: one a NeuronCore or GPU."""
    variables: tuple[Variable, ...]


@dataclass(frozen=True)
class Environment:
    """What jobs of `groups` run in, on shared storage. `name` tells versions apart: what it holds never changes."""

    name: str
    kind: str
    """`venv`, `container` or `conda`."""
    groups: Optional[tuple[str, ...]]
    program: Optional[str]
    """The Python that a `venv` is made with, or the program that makes a `conda`; by name or path."""
    packages: tuple[Package, ...]
    """What is installed, out of the downloads: wheels for a `venv`, archives for a `conda`."""
    image: Optional[str]
    """The image of a `container`, as Enroot imports it: `docker://…`."""
    use: str = FOR_JOBS
    """`jobs`, or `export` for what models are exported in."""


@dataclass(frozen=True)
class CompileCache:
    """Where compiled graphs are kept, and for how long unused."""

    folder: str
    max_age_days: int
    max_gib: Optional[int]


@dataclass(frozen=True)
class Training:
    """What jobs find on the nodes. `folder` is on storage that all of them share."""

    folder: str
    environments: tuple[Environment, ...]
    fabrics: tuple[Fabric, ...]
    compile_cache: Optional[CompileCache]
    hub_token_secret_arn: Optional[str]
    """Secret with a token of the Hugging Face Hub, which jobs read themselves."""


@dataclass(frozen=True)
class Download:
    """A file that a step may fetch. `system`: e.g. `ubuntu-22.04-amd64`; `None` for any."""

    name: str
    version: str
    kind: str
    system: Optional[str]
    url: str
    sha256: str
    size: int
    requires: tuple[str, ...]
    """Names of the other files that a node without them needs for it: a package's dependencies."""


@dataclass(frozen=True)
class Downloads:
    """Where files come from: `none` at all, the `mirror` in S3, or their `vendor`."""

    source: str
    mirror_s3_uri: Optional[str]
    files: tuple[Download, ...]


@dataclass(frozen=True)
class Reports:
    """Where the report of a start goes, and the metric and event of a failure."""

    s3_uri: str
    metric_namespace: Optional[str]
    event_bus: Optional[str]


@dataclass(frozen=True)
class Metrics:
    """Where what nodes measure of themselves goes."""

    destination: str
    """`cloudwatch` or `prometheus`."""
    cluster: str
    """The dimension `Cluster`."""
    namespace: str
    log_group: Optional[str]
    remote_write_url: Optional[str]
    seconds: int


@dataclass(frozen=True)
class OwnStep:
    """A step of the user's own: a script of the bundle."""

    name: str
    script: str
    roles: tuple[str, ...]
    needs: tuple[str, ...]
    timeout_seconds: int
    retries: int


@dataclass(frozen=True)
class Steps:
    """What the user changes in the steps: names of steps to skip, and own ones."""

    skip: tuple[str, ...]
    own: tuple[OwnStep, ...]
