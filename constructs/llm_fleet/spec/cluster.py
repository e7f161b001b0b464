"""What nodes of a cluster are told and set up with, on every platform alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from llm_fleet.catalog.data_file import Limit, load
from llm_fleet.rules.codes import Code
from llm_fleet.rules.terms import LifecycleHook, NodeReports, NodeType, ParallelClusterHook
from llm_fleet.spec.instance_group import SlurmRole
from llm_fleet.spec.model import OWN_KEY, WithPaths
from llm_fleet.spec.monitoring import ClusterMetrics
from llm_fleet.spec.people import ClusterUser, Directory, SlurmAccount
from llm_fleet.spec.references import BUCKET, Bucket, NamedBucket
from llm_fleet.spec.spec import PYTHON_ONLY, InRequest, Spec, Within
from llm_fleet.spec.training_runtime import TrainingRuntime
from llm_fleet.spec.values import PATH, InFile, Named, Seconds, Several

_S3 = "s3://"
_LEGACY_FILE = "provisioning_parameters.json"
"""Where HyperPod looks for it: beside the entry point."""


class S3Mount(Spec):
    """A bucket that Mountpoint for Amazon S3 shows as a folder: for reading in parallel and writing whole files.

    It is no file system to work in: no renames, no appends. The cluster's own role is granted what the mount needs;
    with a role of your own, grant it yourself.
    """

    bucket: Annotated[Bucket, Field(examples=["s3://my-corpus"]), InRequest("bucket", lambda given: _name_of(given))]
    """A name under `storage.buckets`, or `s3://<bucket>` for one that exists. In Python it may be a bucket of the
    CDK."""
    prefix: Annotated[str | None, InRequest("prefix", lambda prefix: f"{prefix.rstrip('/')}/")] = None
    """Only keys below it, e.g. `tokenized`. Default: the whole bucket."""
    mount_path: Annotated[str, Field(alias="mount", examples=["/s3/corpus"]), InRequest("mount_path")]
    """Where nodes mount it: an absolute path that no other mount is at, above or below."""
    read_only: Annotated[bool, InRequest("read_only")] = True
    """Whether nodes can only read. Default: yes; `false` lets jobs write new files, and replace and delete old ones."""
    groups: Annotated[Several[str] | None, InRequest("groups")] = None
    """Names of the groups that mount it. Default: all."""


class NeuronHost(Spec):
    """The release of the AWS Neuron SDK that hosts carry: driver, runtime, collectives and tools.

    The Python stack is that of your containers or environments.
    """

    release: Annotated[str, Field(examples=["2.28.1"])]
    """The release, in quotes, e.g. `"2.28.1"`."""
    install: Annotated[
        bool,
        InFile(Literal["verify", "install"], lambda word: word == "install"),
        Field(alias="host", json_schema_extra={"default": "verify"}),
    ] = False
    """`verify` compares what the image carries, `install` adds what it lacks from `downloads`. Default: `verify`.

    An image owns its driver: where that is newer than the release goes with, the runtime of a later one is taken."""


class Downloads(WithPaths, Spec):
    """What nodes may fetch when they start, and from where. `llm-fleet mirror` writes the lock file, and the mirror."""

    lock: Annotated[str | PathLike[str], PATH, Field(examples=["downloads.lock.json"])]
    """The lock file, from where this file lies: every file that may be fetched, with its SHA-256. Nodes compare it."""
    mirror: Bucket | None = None
    """Where the mirror is, `s3://<bucket>/<prefix>`. In Python it may be a bucket of the CDK. Default: each file comes
    from its vendor, over the internet."""
    prefix: Annotated[str | None, Field(alias=f"{PYTHON_ONLY} prefix")] = None
    """The part of a bucket of the CDK that is the mirror; an `s3://` address has its own. Default: the whole bucket."""

    @property
    def lock_path(self) -> Path:
        """Where the lock file is, as seen from the process."""
        return self.path_of(self.lock)

    @property
    def source(self) -> Literal["mirror", "vendor"]:
        """Where files come from."""
        return "vendor" if self.mirror is None else "mirror"

    @property
    def mirror_name(self) -> str | None:
        """Name of the mirror's bucket; `None` without a mirror."""
        if not isinstance(self.mirror, str):
            return None if self.mirror is None else self.mirror.bucket_name
        return self.mirror.removeprefix(_S3).partition("/")[0]

    @property
    def mirror_prefix(self) -> str | None:
        """The part of that bucket which is the mirror; `None` for the whole."""
        written = self.prefix if not isinstance(self.mirror, str) else self.mirror.removeprefix(_S3).partition("/")[2]
        return (written or "").rstrip("/") or None


class OwnStep(Spec):
    """A script that nodes run as a step: in order, timed, tried again, verified and reported. Its key is its name.

    It is called twice, with `apply` and then with `verify` as its argument. `apply` makes it so and may be run any
    number of times; `verify` changes nothing and ends with 0 only when it is so. It runs as root, by bash when it ends
    in `.sh`, by the node's Python when it ends in `.py`, else by what its `#!` line names.
    """

    name: Annotated[str, Field(alias=OWN_KEY), InRequest("name")]
    """Lower-case letters, digits and underscores; no step of llm-fleet is called so."""
    script: Annotated[
        str,
        Field(examples=["tools.sh"]),
        InRequest("script", lambda script: f"{load('lifecycle')['own_steps_folder']}/{script}"),
    ]
    """Path of the script below `folder`."""
    roles: Annotated[
        Several[Annotated[NodeType, InFile(SlurmRole, lambda role: role.node_type)]],
        Field(json_schema_extra={"default": [role.value for role in SlurmRole]}),
        InRequest("roles"),
    ] = tuple(NodeType)
    """Roles of the nodes that take it. Default: all."""
    needs: Annotated[Several[str], InRequest("needs")] = ()
    """Steps that must be done before it, llm-fleet's or your own. One that a node does not take counts as done.
    Default: none."""
    timeout_seconds: Annotated[
        Seconds,
        Field(alias="timeout"),
        Within(
            limit=Limit(minimum=1, maximum=load("lifecycle")["own_step_max_seconds"]),
            code=Code.STEP_LIMIT,
            what="the seconds that an attempt may take",
        ),
        InRequest("timeout_seconds"),
    ] = 300
    """How long an attempt, `apply` and `verify` together, may take. Default: `300 s`."""
    retries: Annotated[
        int,
        Within(
            limit=Limit(minimum=0, maximum=load("lifecycle")["own_step_max_retries"]),
            code=Code.STEP_LIMIT,
            what="the number of times that it is attempted anew",
        ),
        InRequest("retries"),
    ] = 0
    """How often it is attempted anew after it failed. Default: never."""


class OwnSteps(WithPaths, Spec):
    """Steps of your own, among those that llm-fleet ships."""

    folder: Annotated[str | PathLike[str], PATH, Field(examples=["node-steps"])]
    """The folder with their scripts, from where this file lies; it is uploaded beside the shipped ones."""
    steps: Annotated[Named[OwnStep], Field(examples=[{}, "{tools: {script: tools.sh}}"])]
    """The steps, by name."""

    @property
    def folder_path(self) -> Path:
        """Where `folder` is, as seen from the process."""
        return self.path_of(self.folder)


class NodeScripts(WithPaths, Spec):
    """Which scripts nodes run when they start. Default: those that llm-fleet ships, in a bucket of their own."""

    skip_steps: Annotated[Several[str], Field(alias="skip")] = ()
    """Shipped steps that no node takes, by name. Default: none are skipped."""
    own: OwnSteps | None = None
    """Steps of your own among the shipped ones. Default: none."""
    bucket: Annotated[NamedBucket | None, Field(alias=f"{PYTHON_ONLY} bucket")] = None
    """Where the scripts are uploaded. Default: a bucket is made, and retained with its old bundles."""
    scripts: Annotated[str | PathLike[str] | None, PATH, Field(alias=f"{PYTHON_ONLY} scripts")] = None
    """A folder to upload in place of the shipped one, with the same entry point. Default: the shipped scripts."""

    @property
    def own_steps(self) -> tuple[OwnStep, ...]:
        """The steps of the user's own, in their order."""
        return () if self.own is None else tuple(self.own.steps)

    @property
    def scripts_path(self) -> Path | None:
        """Where `scripts` is, as seen from the process; `None` for the shipped ones."""
        return None if self.scripts is None else self.path_of(self.scripts)


class LifecycleScripts(NodeScripts):
    """Which scripts the nodes of a HyperPod cluster run, and where these lie."""

    bucket: Annotated[NamedBucket | None, Field(alias="bucket")] = None
    """An existing bucket for the scripts; its name begins with `sagemaker-`. Default: one is made, and retained with
    its old bundles."""
    scripts: Annotated[str | PathLike[str] | None, PATH, Field(alias="folder")] = None
    """A folder to upload in place of the shipped one, from where this file lies. Default: the shipped scripts."""
    prefix: str | None = None
    """Where in `bucket` your own scripts lie already; nothing is uploaded then. Default: a bundle is uploaded."""
    entry_point: str | None = None
    """File name of the script that runs. Default: `on_init_complete.sh` or `on_create.sh`, by `lifecycle`."""
    provisioning_parameters: bool | None = None
    """Whether they bring `provisioning_parameters.json`, Slurm's legacy way. Default: whether `folder` has the file.

    HyperPod refuses it together with the API's values, so a cluster with it leaves them out, as well as its mounts; it
    needs `OnCreate` in every group, and no Continuous provisioning."""

    @property
    def legacy(self) -> bool:
        """Whether the legacy file configures Slurm."""
        if self.provisioning_parameters is not None:
            return self.provisioning_parameters
        return self.scripts_path is not None and (self.scripts_path / _LEGACY_FILE).is_file()


def _name_of(bucket: Bucket) -> str:
    return BUCKET.name_of(bucket).removeprefix(_S3).strip("/")


class ClusterSpec(Spec):
    """A cluster that runs Slurm, on HyperPod or ParallelCluster, by itself."""

    cluster_name: Annotated[str | None, Field(alias="name")] = None
    """The cluster's name. Default: its key in a fleet file; in Python one that is made of the construct's path."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id of its compute subnet. Default: that of the Lustre file system, the fleet's `fsx`, else the network's
    first."""
    tags: Mapping[str, str] = {}
    """Tags of the cluster, next to those of the fleet or of its stack. Default: none."""
    users: Named[ClusterUser] = ()
    """People with the same ids on every node; by login name in a fleet file. Default: the image's own user."""
    slurm_accounts: Annotated[Named[SlurmAccount], Field(examples=["{research: {max_jobs: 8}}"])] = ()
    """The tree of Slurm's accounts with its limits, which then hold for everybody; by name in a fleet file. Default:
    those that users name, without limits."""
    directory: Directory | None = None
    """An LDAP directory that nodes know further people from. Default: the fleet's."""
    s3_mounts: Several[S3Mount] = ()
    """Buckets that nodes see as folders. Default: none."""
    neuron: NeuronHost | None = None
    """The Neuron SDK that hosts carry. Default: whichever release the image has."""
    training: Annotated[
        TrainingRuntime | None, Field(examples=[{"environments": {}}, "{environments: {nxd: {kind: neuron}}}"])
    ] = None
    """What nodes carry for training jobs: `neuron` for the usual environment, or more about it. Default: nothing."""
    downloads: Downloads | None = None
    """What nodes may fetch when they start. Default: nothing but the lifecycle bundle."""
    reports: NodeReports = NodeReports.ALL
    """What a node leaves behind of its start: `all`, `s3` (report and log, no metric, no event) or `none`.

    Default: `all`. In a network without internet an event needs `endpoints: [events]`."""
    metrics: Annotated[ClusterMetrics | None, Field(alias=f"{PYTHON_ONLY} metrics")] = None
    """What nodes measure of themselves each minute, and where it goes; a fleet file says it under `monitoring`. A role
    of your own must be allowed to write there. Default: nothing is measured."""

    @property
    def known_users(self) -> tuple[str, ...] | None:
        """The login names that nodes know; `None` with a directory, whose people nobody knows here."""
        return None if self.directory is not None else tuple(user.name for user in self.users)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroup:
    """One group of a cluster's nodes, as the nodes need to know it. Any name may be a CDK token."""

    name: str
    """`InstanceGroupName`; on ParallelCluster a queue's name, `HeadNode`, or `LoginNodes-` and a pool's."""
    role: NodeType
    """What its nodes do in Slurm."""
    instance_types: Sequence[str]
    """The `ml.` names that it may be made of, by priority; on ParallelCluster EC2's own, without `ml.`.

    Types made by `InstanceType.of` bring their own facts."""
    partition: str | None = None
    """Slurm partition; `None` on controller and login groups."""
    efa: bool = True
    """Whether the platform attaches the EFA interfaces that its types have."""
    hook: LifecycleHook | ParallelClusterHook | None = LifecycleHook.ON_INIT_COMPLETE
    """When its nodes run the bundle; `None` when the AMI does all and they never do."""
    script: str | None = None
    """File name of the script that the platform is told to run. Default: the hook's own, e.g. `on_init_complete.sh`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMount:
    """A file system that nodes mount. Names may be tokens: they are resolved when the bundle is deployed."""

    kind: Literal["lustre", "open_zfs"]
    """Which of the two file systems it is."""
    mount_path: str
    """Absolute path on the node."""
    dns_name: str = ""
    """Name to mount it by; a fleet file does not know it."""
    mount_name: str | None = None
    """Lustre's generated name; `None` for OpenZFS, and in a fleet file."""
    efa: bool | None = None
    """Whether EFA must be used where the node has it; `None` when nobody knows (an imported file system)."""
    groups: Sequence[str] | None = None
    """Names of the groups that mount it. Default: all."""
    availability_zone_id: str | None = None
    """The zone it stands in, where known."""
