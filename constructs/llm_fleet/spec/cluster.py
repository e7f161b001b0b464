"""Settings and scripts of a cluster's nodes, the same on HyperPod and ParallelCluster."""

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
"""Where HyperPod looks for the file: in the same folder as the entry point."""


class S3Mount(Spec):
    """A bucket mounted as a folder by Mountpoint for Amazon S3, for parallel reads and for writing whole files.

    It is not a POSIX file system: files cannot be renamed or appended to. The role that the cluster creates gets the
    IAM permissions that the mount needs; add them yourself to a role of your own.
    """

    bucket: Annotated[Bucket, Field(examples=["s3://my-corpus"]), InRequest("bucket", lambda given: _name_of(given))]
    """A name under `storage.buckets`, or `s3://<bucket>` for an existing bucket. In Python it may be a bucket of the
    CDK."""
    prefix: Annotated[str | None, InRequest("prefix", lambda prefix: f"{prefix.rstrip('/')}/")] = None
    """Mount only the keys below this prefix, e.g. `tokenized`. Default: the whole bucket."""
    mount_path: Annotated[str, Field(alias="mount", examples=["/s3/corpus"]), InRequest("mount_path")]
    """Absolute path where nodes mount it. It must not be equal to, above or below the path of another mount."""
    read_only: Annotated[bool, InRequest("read_only")] = True
    """Whether the mount is read-only. Default: yes; `false` lets jobs write new files, and replace and delete existing
    ones."""
    groups: Annotated[Several[str] | None, InRequest("groups")] = None
    """Names of the instance groups that mount it. Default: all."""


class NeuronHost(Spec):
    """The release of the AWS Neuron SDK on the hosts: driver, runtime, collectives and tools.

    The Python packages are those of your containers or environments.
    """

    release: Annotated[str, Field(examples=["2.28.1"])]
    """The release, in quotes, e.g. `"2.28.1"`."""
    install: Annotated[
        bool,
        InFile(Literal["verify", "install"], lambda word: word == "install"),
        Field(alias="host", json_schema_extra={"default": "verify"}),
    ] = False
    """`verify` compares the release with what the image contains; `install` also installs missing packages from
    `downloads`. Default: `verify`.

    The driver is always the image's own. Where it is newer than the driver of the release, the runtime of a later
    release is installed."""


class Downloads(WithPaths, Spec):
    """Files that nodes may download when they start, and their source. `llm-fleet mirror` writes the lock file and the
    mirror."""

    lock: Annotated[str | PathLike[str], PATH, Field(examples=["downloads.lock.json"])]
    """The lock file, relative to the fleet file. It lists every file that may be downloaded, with its SHA-256, which
    nodes verify."""
    mirror: Bucket | None = None
    """The mirror, `s3://<bucket>/<prefix>`. In Python it may be a bucket of the CDK. Default: each file is downloaded
    from its vendor, over the internet."""
    prefix: Annotated[str | None, Field(alias=f"{PYTHON_ONLY} prefix")] = None
    """Prefix of the mirror in a bucket of the CDK; an `s3://` URI contains its own prefix. Default: the whole
    bucket."""

    @property
    def lock_path(self) -> Path:
        """Path of the lock file for the running process: absolute, or relative to the working directory."""
        return self.path_of(self.lock)

    @property
    def source(self) -> Literal["mirror", "vendor"]:
        """Where nodes download files from."""
        return "vendor" if self.mirror is None else "mirror"

    @property
    def mirror_name(self) -> str | None:
        """Name of the mirror's bucket; `None` without a mirror."""
        if not isinstance(self.mirror, str):
            return None if self.mirror is None else self.mirror.bucket_name
        return self.mirror.removeprefix(_S3).partition("/")[0]

    @property
    def mirror_prefix(self) -> str | None:
        """Prefix of the mirror in its bucket; `None` for the whole bucket."""
        written = self.prefix if not isinstance(self.mirror, str) else self.mirror.removeprefix(_S3).partition("/")[2]
        return (written or "").rstrip("/") or None


class OwnStep(Spec):
    """A script that nodes run as a step, in order, with a timeout, retries, verification and a report. Its key is its
    name.

    It is called twice: with the argument `apply`, then with `verify`. `apply` makes the change and must be idempotent;
    `verify` changes nothing and exits with 0 only when the change is in place. It runs as root: by bash when its name
    ends in `.sh`, by the node's Python when it ends in `.py`, otherwise by the program in its `#!` line.
    """

    name: Annotated[str, Field(alias=OWN_KEY), InRequest("name")]
    """Lower-case letters, digits and underscores. It must differ from the names of llm-fleet's own steps."""
    script: Annotated[
        str,
        Field(examples=["tools.sh"]),
        InRequest("script", lambda script: f"{load('lifecycle')['own_steps_folder']}/{script}"),
    ]
    """Path of the script, relative to `folder`."""
    roles: Annotated[
        Several[Annotated[NodeType, InFile(SlurmRole, lambda role: role.node_type)]],
        Field(json_schema_extra={"default": [role.value for role in SlurmRole]}),
        InRequest("roles"),
    ] = tuple(NodeType)
    """Roles of the nodes that run it. Default: all."""
    needs: Annotated[Several[str], InRequest("needs")] = ()
    """Steps that must have finished before it, llm-fleet's or your own. A step that the node does not run counts as
    finished. Default: none."""
    timeout_seconds: Annotated[
        Seconds,
        Field(alias="timeout"),
        Within(
            limit=Limit(minimum=1, maximum=load("lifecycle")["own_step_max_seconds"]),
            code=Code.STEP_LIMIT,
            what="`timeout`",
        ),
        InRequest("timeout_seconds"),
    ] = 300
    """Timeout of one attempt, `apply` and `verify` together. Default: `300 s`."""
    retries: Annotated[
        int,
        Within(
            limit=Limit(minimum=0, maximum=load("lifecycle")["own_step_max_retries"]),
            code=Code.STEP_LIMIT,
            what="`retries`",
        ),
        InRequest("retries"),
    ] = 0
    """How many times it is retried after a failure. Default: never."""


class OwnSteps(WithPaths, Spec):
    """Steps of your own that run among the steps of llm-fleet."""

    folder: Annotated[str | PathLike[str], PATH, Field(examples=["node-steps"])]
    """The folder with their scripts, relative to the fleet file. It is uploaded together with llm-fleet's scripts."""
    steps: Annotated[Named[OwnStep], Field(examples=[{}, "{tools: {script: tools.sh}}"])]
    """The steps, by name."""

    @property
    def folder_path(self) -> Path:
        """Path of `folder` for the running process."""
        return self.path_of(self.folder)


class NodeScripts(WithPaths, Spec):
    """Scripts that nodes run when they start. Default: llm-fleet's own, uploaded to a bucket that is created for
    them."""

    skip_steps: Annotated[Several[str], Field(alias="skip")] = ()
    """Names of llm-fleet's steps that no node runs. Default: none are skipped."""
    own: OwnSteps | None = None
    """Steps of your own, run among llm-fleet's steps. Default: none."""
    bucket: Annotated[NamedBucket | None, Field(alias=f"{PYTHON_ONLY} bucket")] = None
    """Bucket to which the scripts are uploaded. Default: a bucket is created; it and its old bundles are retained."""
    scripts: Annotated[str | PathLike[str] | None, PATH, Field(alias=f"{PYTHON_ONLY} scripts")] = None
    """A folder to upload instead of llm-fleet's scripts, with the same entry point. Default: llm-fleet's scripts."""

    @property
    def own_steps(self) -> tuple[OwnStep, ...]:
        """The user's own steps, in order."""
        return () if self.own is None else tuple(self.own.steps)

    @property
    def scripts_path(self) -> Path | None:
        """Path of `scripts` for the running process; `None` for llm-fleet's scripts."""
        return None if self.scripts is None else self.path_of(self.scripts)


class LifecycleScripts(NodeScripts):
    """Scripts that the nodes of a HyperPod cluster run, and where they are stored."""

    bucket: Annotated[NamedBucket | None, Field(alias="bucket")] = None
    """An existing bucket for the scripts; its name must begin with `sagemaker-`. Default: a bucket is created; it and
    its old bundles are retained."""
    scripts: Annotated[str | PathLike[str] | None, PATH, Field(alias="folder")] = None
    """A folder to upload instead of llm-fleet's scripts, relative to the fleet file. Default: llm-fleet's scripts."""
    prefix: str | None = None
    """Prefix in `bucket` under which your scripts are already stored; then nothing is uploaded. Default: a bundle is
    uploaded."""
    entry_point: str | None = None
    """File name of the script that nodes run. Default: `on_init_complete.sh` or `on_create.sh`, according to
    `lifecycle`."""
    provisioning_parameters: bool | None = None
    """Whether the scripts include `provisioning_parameters.json`, the legacy way to configure Slurm. Default: whether
    `folder` contains the file.

    HyperPod rejects this file together with Slurm settings in the API, so a cluster with it leaves those settings and
    its mounts out. It requires `OnCreate` in every group and does not work with Continuous provisioning."""

    @property
    def legacy(self) -> bool:
        """Whether `provisioning_parameters.json` configures Slurm."""
        if self.provisioning_parameters is not None:
            return self.provisioning_parameters
        return self.scripts_path is not None and (self.scripts_path / _LEGACY_FILE).is_file()


def _name_of(bucket: Bucket) -> str:
    return BUCKET.name_of(bucket).removeprefix(_S3).strip("/")


class ClusterSpec(Spec):
    """A cluster that runs Slurm, on HyperPod or ParallelCluster."""

    cluster_name: Annotated[str | None, Field(alias="name")] = None
    """The cluster's name. Default: its key in a fleet file; in Python a name derived from the construct's path."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id of its compute subnet. Default: the AZ of the Lustre file system (the fleet's `fsx`), otherwise the first
    AZ of the network."""
    tags: Mapping[str, str] = {}
    """Tags of the cluster, in addition to those of the fleet or of its stack. Default: none."""
    users: Named[ClusterUser] = ()
    """POSIX users with the same ids on every node, by login name in a fleet file. Default: only the image's own
    user."""
    slurm_accounts: Annotated[Named[SlurmAccount], Field(examples=["{research: {max_jobs: 8}}"])] = ()
    """Slurm accounts and their limits, by name in a fleet file. With accounts, limits are enforced for every user.
    Default: the accounts that users name, without limits."""
    directory: Directory | None = None
    """An LDAP directory with more users. Default: the fleet's directory."""
    s3_mounts: Annotated[Several[S3Mount], Field(examples=[[{"bucket": "s3://my-corpus", "mount": "/s3/corpus"}]])] = ()
    """Buckets that nodes mount as folders. Default: none."""
    neuron: NeuronHost | None = None
    """The Neuron SDK on the hosts. Default: the release in the image."""
    training: Annotated[
        TrainingRuntime | None, Field(examples=[{"environments": {}}, "{environments: {nxd: {kind: neuron}}}"])
    ] = None
    """Training environments on the nodes: `neuron` for the usual environment, or a mapping. Default: none."""
    downloads: Downloads | None = None
    """Files that nodes may download when they start. Default: only the lifecycle bundle."""
    reports: NodeReports = NodeReports.ALL
    """What a node reports about its start: `all`, `s3` (report and log in S3; no metric, no event) or `none`.

    Default: `all`. In a network without internet access, the event requires `endpoints: [events]`."""
    metrics: Annotated[ClusterMetrics | None, Field(alias=f"{PYTHON_ONLY} metrics")] = None
    """Metrics that nodes measure each minute, and where they are sent; a fleet file sets this under `monitoring`. A
    role of your own needs the IAM permissions to write there. Default: nothing is measured."""

    @property
    def known_users(self) -> tuple[str, ...] | None:
        """Login names on the nodes; `None` with a directory, whose users are not available at synthesis."""
        return None if self.directory is not None else tuple(user.name for user in self.users)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroup:
    """One group of a cluster's nodes, with the values that are written to the nodes. Any name may be a CDK token."""

    name: str
    """`InstanceGroupName`; on ParallelCluster the name of a queue, `HeadNode`, or `LoginNodes-` and the name of a
    pool."""
    role: NodeType
    """Role of its nodes in Slurm."""
    instance_types: Sequence[str]
    """Instance types by priority, with `ml.`; on ParallelCluster the names of EC2, without `ml.`.

    Types made by `InstanceType.of` carry their own facts."""
    partition: str | None = None
    """Slurm partition; `None` for controller and login groups."""
    efa: bool = True
    """Whether the platform attaches the EFA interfaces that its instance types support."""
    hook: LifecycleHook | ParallelClusterHook | None = LifecycleHook.ON_INIT_COMPLETE
    """When its nodes run the bundle; `None` when they never do, because the AMI configures everything."""
    script: str | None = None
    """File name of the script that the platform runs. Default: that of the hook, e.g. `on_init_complete.sh`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMount:
    """A file system that nodes mount. Names may be CDK tokens, which are resolved when the bundle is deployed."""

    kind: Literal["lustre", "open_zfs"]
    """Which of the two file systems it is."""
    mount_path: str
    """Absolute path on the node."""
    dns_name: str = ""
    """DNS name to mount it by; empty in a fleet file."""
    mount_name: str | None = None
    """Mount name that FSx for Lustre generates; `None` for OpenZFS, and in a fleet file."""
    efa: bool | None = None
    """Whether EFA must be used where the node has it; `None` when this is unknown (an imported file system)."""
    groups: Sequence[str] | None = None
    """Names of the groups that mount it. Default: all."""
    availability_zone_id: str | None = None
    """AZ id of the file system, if known."""
