"""The parts of `fleet.json`. Their meaning is described in `llm_fleet/lifecycle/node_manifest.py`, which generates
`fleet.schema.json`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

FOR_JOBS, FOR_EXPORT = "jobs", "export"
"""The uses of an environment."""


@dataclass(frozen=True)
class InstanceType:
    """An instance type and the devices that its nodes should have; `None` if unknown."""

    name: str
    accelerator: Optional[str]
    """`gpu`, `neuron`, or `None`."""
    accelerators: Optional[int]
    efa_interfaces: Optional[int]
    lustre_efa_interfaces: Optional[int] = None
    """How many of them LNet uses; 0 if FSx serves this type only over TCP."""


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
    """An operating system with a minimum version, and a minimum kernel if set; `id` as in `/etc/os-release`."""

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
    """Operating systems that FSx for Lustre serves over EFA; empty if unknown."""


@dataclass(frozen=True)
class S3Mount:
    """A bucket that Mountpoint for Amazon S3 mounts. `groups`: `None` for every group."""

    bucket: str
    prefix: Optional[str]
    mount_path: str
    read_only: bool
    groups: Optional[tuple[str, ...]]


@dataclass(frozen=True)
class Accounting:
    """The database of slurmdbd. `local`: MariaDB on the controller; all other keys are `None` then."""

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
    """Absolute path of the home directory; `None` for the node's default."""


@dataclass(frozen=True)
class Package:
    """A package and its pinned version."""

    name: str
    version: str


@dataclass(frozen=True)
class PackageEdge:
    """A compatibility rule: `package` since `from_version` requires `other` in version `at_least` or newer."""

    package: str
    from_version: str
    other: str
    at_least: str


@dataclass(frozen=True)
class NeuronAlternative:
    """Packages of another release, for an image whose driver is not compatible with the configured release."""

    release: str
    packages: tuple[Package, ...]


@dataclass(frozen=True)
class Neuron:
    """The Neuron release of the host packages. `host`: `verify` the packages of the image, or `install` them."""

    release: str
    host: str
    packages: tuple[Package, ...]
    compatibility: tuple[PackageEdge, ...]
    alternatives: tuple[NeuronAlternative, ...]
    """In order of preference."""


@dataclass(frozen=True)
class Variable:
    """A variable of a job's environment."""

    name: str
    value: str


@dataclass(frozen=True)
class Fabric:
    """The network fabric of jobs on nodes of `groups`. A group has at most one."""

    name: str
    """E.g. `neuron-efa`."""
    groups: Optional[tuple[str, ...]]
    """Names of the groups it is for; `None` for all."""
    processes: int
    """Processes of a job on each node: one for each NeuronCore or GPU."""
    variables: tuple[Variable, ...]


@dataclass(frozen=True)
class Environment:
    """The environment of jobs of `groups`, on shared storage. `name` has the version: its content never changes."""

    name: str
    kind: str
    """`venv`, `container` or `conda`."""
    groups: Optional[tuple[str, ...]]
    program: Optional[str]
    """The Python of a `venv`, or the program that makes a `conda` environment; a name or path."""
    packages: tuple[Package, ...]
    """Downloads to install: wheels for a `venv`, archives for a `conda` environment."""
    image: Optional[str]
    """The image of a `container` in Enroot's form `docker://…`."""
    use: str = FOR_JOBS
    """`jobs`, or `export` for the environment that exports models."""


@dataclass(frozen=True)
class CompileCache:
    """The folder of compiled graphs, and their maximum age without use."""

    folder: str
    max_age_days: int
    max_gib: Optional[int]


@dataclass(frozen=True)
class Training:
    """The training runtime of jobs. `folder` is on storage that all nodes share."""

    folder: str
    environments: tuple[Environment, ...]
    fabrics: tuple[Fabric, ...]
    compile_cache: Optional[CompileCache]
    hub_token_secret_arn: Optional[str]
    """Secret with a Hugging Face Hub token, which jobs read."""


@dataclass(frozen=True)
class Download:
    """A file that a step can download. `system`: e.g. `ubuntu-22.04-amd64`; `None` for any."""

    name: str
    version: str
    kind: str
    system: Optional[str]
    url: str
    sha256: str
    size: int
    requires: tuple[str, ...]
    """Names of the files that it depends on."""


@dataclass(frozen=True)
class Downloads:
    """The source of downloads: `none` (no downloads), the `mirror` in S3, or the `vendor`."""

    source: str
    mirror_s3_uri: Optional[str]
    files: tuple[Download, ...]


@dataclass(frozen=True)
class Reports:
    """The destinations of the report of a start, and of the metric and event after a failure."""

    s3_uri: str
    metric_namespace: Optional[str]
    event_bus: Optional[str]


@dataclass(frozen=True)
class Metrics:
    """The destination of node metrics."""

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
    """A custom step: a script of the bundle."""

    name: str
    script: str
    roles: tuple[str, ...]
    needs: tuple[str, ...]
    timeout_seconds: int
    retries: int


@dataclass(frozen=True)
class Steps:
    """The user's changes to the steps: names of steps to skip, and custom steps."""

    skip: tuple[str, ...]
    own: tuple[OwnStep, ...]
