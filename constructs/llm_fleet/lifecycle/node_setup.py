"""What the node scripts do beside Slurm: mounts, clients of Lustre, steps of the user's own."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import aws_cdk as cdk
import jsii
from aws_cdk import aws_s3 as s3
from constructs import Construct, IConstruct

from llm_fleet.lifecycle.downloads import Downloads
from llm_fleet.named_files.named_file import certificate_text, locked_files, own_scripts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import check_is_spec
from llm_fleet.rules.lustre_network import EfaClients, connections, why_efa_is_unused, why_too_many_connections
from llm_fleet.rules.monitoring import check_is_metrics, check_metrics
from llm_fleet.rules.own_steps import check_neuron_pinned, check_own_scripts
from llm_fleet.rules.people import SSSD_PACKAGES, check_are_accounts, check_is_directory, check_people
from llm_fleet.rules.problem import PathPart, Problem, raise_problems
from llm_fleet.rules.terms import NodeType
from llm_fleet.spec.monitoring import ClusterMetrics
from llm_fleet.spec.people import ClusterUser, Directory, SlurmAccount
from llm_fleet.spec.training_runtime import TrainingRuntime


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronHost:
    """The release of the AWS Neuron SDK whose driver, runtime, collectives and tools nodes carry.

    The Python stack is that of your containers or environments; it is not installed on the host.
    """

    release: str
    """E.g. `2.28.1`; one of the catalog's."""
    install: bool = False
    """Whether nodes install what their image lacks of it, from `downloads`. `False` compares, and refuses another.

    An image owns its driver: where that is newer than the release goes with, the runtime of a later one is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnStep:
    """A script of your own, run as one of the node's steps: in order, timed, tried again, verified and reported.

    It is called twice, with `apply` and then with `verify` as its argument. `apply` makes it so and may be run any
    number of times; `verify` changes nothing and ends with 0 only when it is so. It runs as root, by bash when it ends
    in `.sh`, by the node's Python when it ends in `.py`, else by what its `#!` line names.
    """

    name: str
    """Lower-case letters, digits and underscores; no step of llm-fleet is called so."""
    script: str
    """Path of the script below `LifecycleScripts.own_scripts`."""
    roles: Sequence[NodeType] = tuple(NodeType)
    """Roles of the nodes that take it. Default: all."""
    needs: Sequence[str] = ()
    """Steps that must be done before it, llm-fleet's or your own. One that a node does not take counts as done."""
    timeout_seconds: int = 300
    """How long one attempt, `apply` and `verify` together, may take."""
    retries: int = 0
    """How often it is attempted anew after it failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Mount:
    """A bucket that Mountpoint for Amazon S3 shows as a folder on nodes.

    It reads in parallel and writes new files front to back; it is no file system to work in: no renames, no appends.
    The cluster's own role is granted what the mount needs; with a role of your own, grant it yourself.
    """

    bucket: s3.IBucket | s3.Bucket
    """The bucket."""
    mount_path: str
    """Absolute path on the node, that no other mount is at, above or below."""
    prefix: str | None = None
    """Only keys below it, e.g. `tokenized`. Default: the whole bucket."""
    read_only: bool = True
    """Whether nodes can only read. `False` lets jobs write new files, and replace and delete old ones."""
    groups: Sequence[str] | None = None
    """Names of the instance groups that mount it. Default: all."""

    @property
    def key_prefix(self) -> str:
        """The prefix without a slash at its end; empty for the whole bucket."""
        return (self.prefix or "").rstrip("/")


_MARK = "EFA clients of "
_CONNECTIONS, _UNUSED = "llm-fleet:efa-connections", "llm-fleet:efa-unused"


def count_efa_clients(cluster: Construct, lustre: object, clients: Sequence[EfaClients]) -> None:
    """Note what `clients` make of `lustre`, a file system with EFA; warn where they open too many connections.

    Clusters of this app are added up, whichever stacks they are in. That no node of any of them can use EFA is known
    when the app is synthesized, and is a warning on the file system then.
    """
    elsewhere = 0
    if isinstance(lustre, Construct):
        claims = _claims(lustre)
        elsewhere = sum(int(claim.node.try_get_context(_CONNECTIONS)) for claim in claims)
        if not claims:
            cdk.Aspects.of(lustre).add(_UnusedEfa(lustre))
        claim = Construct(lustre, f"{_MARK}{cluster.node.path.replace('/', '.')}")
        claim.node.set_context(_CONNECTIONS, connections(clients))
        claim.node.set_context(_UNUSED, why_efa_is_unused(clients) or "")
    excess = why_too_many_connections(clients, elsewhere=elsewhere)
    if excess:
        cdk.Annotations.of(cluster).add_warning_v2("llm-fleet:lustre-efa-connections", excess)


@jsii.implements(cdk.IAspect)
class _UnusedEfa:
    """Warns where no cluster of the app can use the EFA of a file system."""

    def __init__(self, lustre: Construct) -> None:
        self._path = lustre.node.path

    def visit(self, node: IConstruct) -> None:
        """Look at the file system itself, once all its clusters are there."""
        if node.node.path != self._path:
            return
        told = [str(claim.node.try_get_context(_UNUSED) or "") for claim in _claims(node)]
        if all(told):
            cdk.Annotations.of(node).add_warning_v2("llm-fleet:lustre-efa-unused", "; ".join(told))


def _claims(lustre: IConstruct) -> list[IConstruct]:
    return [child for child in lustre.node.children if child.node.id.startswith(_MARK)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSetup:
    """What a cluster's nodes are set up with beyond Slurm, as the cluster's parameters of these names say."""

    users: Sequence[ClusterUser] = ()
    slurm_accounts: Sequence[SlurmAccount] = ()
    directory: Directory | None = None
    s3_mounts: Sequence[S3Mount] = ()
    neuron: NeuronHost | None = None
    training: TrainingRuntime | None = None
    downloads: Downloads = field(default_factory=Downloads.none)
    metrics: ClusterMetrics | None = None

    def __post_init__(self) -> None:
        """Raise `FleetError` for a training runtime, metrics, accounts or a directory that are none."""
        raise_problems(
            [
                *([] if self.training is None else check_is_spec(self.training, TrainingRuntime, "training")),
                *check_is_metrics(self.metrics, "metrics"),
                *check_are_accounts(self.slurm_accounts),
                *check_is_directory(self.directory),
            ]
        )


def known_users(setup: NodeSetup) -> tuple[str, ...] | None:
    """Return the login names that nodes of `setup` know; `None` with a directory, whose people nobody knows here."""
    return None if setup.directory is not None else tuple(user.name for user in setup.users)


def check_downloads(setup: NodeSetup) -> list[Problem]:
    """Return what is wrong with the downloads of `setup`, and what its Neuron SDK misses among them."""
    downloads = setup.downloads
    problems = [problem.under("downloads") for problem in downloads.problems()]
    if problems or setup.neuron is None or not setup.neuron.install:
        return problems
    files = None if downloads.lock is None else locked_files(downloads.lock)
    return [problem.under("neuron") for problem in check_neuron_pinned(setup.neuron.release, files)]


def check_people_of(setup: NodeSetup, *, has_accounting: bool, on_parallelcluster: bool) -> list[Problem]:
    """Return what is wrong with the accounts and the directory of `setup`."""
    lock = setup.downloads.lock
    pinned = None
    if lock is not None:
        # One that cannot be read is told where it is named.
        unread = setup.downloads.problems()
        pinned = SSSD_PACKAGES if unread else [str(file["name"]) for file in locked_files(lock)]
    return check_people(
        users=setup.users,
        slurm_accounts=setup.slurm_accounts,
        directory=setup.directory,
        certificate_text=setup.directory and certificate_text(setup.directory),
        has_accounting=has_accounting,
        on_parallelcluster=on_parallelcluster,
        pinned=pinned,
    )


def check_node_metrics(setup: NodeSetup, region: str | None) -> list[Problem]:
    """Return what is wrong with where the metrics of nodes in `region` go."""
    if setup.metrics is None:
        return []
    return [problem.under("metrics") for problem in check_metrics(setup.metrics, region=region)]


def check_own_step_files(own_steps: Sequence[OwnStep], folder: Path | None) -> list[Problem]:
    """Return what is wrong with the scripts of `own_steps` in `folder`."""
    if folder is not None and not folder.is_dir():
        return [_no_folder(folder)]
    named = {step.script for step in own_steps}
    return check_own_scripts(own_steps, None if folder is None else own_scripts(folder, named))


def given_for_nodes(
    setup: NodeSetup, *, skip_steps: Sequence[str], own_steps: Sequence[OwnStep]
) -> dict[tuple[PathPart, ...], bool]:
    """Return, by its path, whether the user has given each thing that only nodes with scripts are told of."""
    return {
        ("users",): bool(setup.users),
        ("slurm_accounts",): bool(setup.slurm_accounts),
        ("directory",): setup.directory is not None,
        ("s3_mounts",): bool(setup.s3_mounts),
        ("neuron",): setup.neuron is not None,
        ("training",): setup.training is not None,
        ("metrics",): setup.metrics is not None,
        ("downloads",): setup.downloads.source != "none",
        ("skip_steps",): bool(skip_steps),
        ("own_steps",): bool(own_steps),
    }


def _no_folder(folder: Path) -> Problem:
    return Problem(
        code=Code.STEP_SCRIPT,
        message="there is no such folder of own scripts",
        remedy="give the path of a folder as `own_scripts`",
        value=str(folder),
    )
