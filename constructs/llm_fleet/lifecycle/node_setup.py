"""Checks of the software and users of a cluster's nodes, and of the EFA connections to its file system."""

from collections.abc import Sequence

import aws_cdk as cdk
import jsii
from constructs import Construct, IConstruct

from llm_fleet.named_files.named_file import certificate_text, check_own_folder, files_of, lock_problems, pinned_names
from llm_fleet.rules.downloads_lock import check_mirror
from llm_fleet.rules.lustre_network import EfaClients, connections, why_efa_is_unused, why_too_many_connections
from llm_fleet.rules.monitoring import check_metrics
from llm_fleet.rules.node_setup import check_node_settings_used, check_node_setup
from llm_fleet.rules.own_steps import check_neuron_pinned
from llm_fleet.rules.people import check_people
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.environment import check_training
from llm_fleet.rules.training.environment_place import TrainingPlace
from llm_fleet.spec.cluster import ClusterSpec, Downloads, NodeScripts


def check_nodes(
    cluster: ClusterSpec,
    scripts: NodeScripts,
    place: TrainingPlace,
    *,
    mount_paths: Sequence[str],
    has_accounting: bool,
    on_parallelcluster: bool,
) -> list[Problem]:
    """Return all problems of the software and users of nodes of `cluster`, and of the files that it refers to.

    `place`: the cluster's properties for the training rules. `mount_paths`: where file systems are mounted.
    `has_accounting`: whether Slurm keeps records.
    """
    setup = check_node_setup(
        cluster, scripts, groups=place.groups, mount_paths=mount_paths, home_is_shared=on_parallelcluster
    )
    own = check_own_folder(scripts, start="the process runs")
    metrics = check_metrics(cluster.metrics, region=place.region) if cluster.metrics is not None else []
    people = check_people(
        users=cluster.users,
        slurm_accounts=cluster.slurm_accounts,
        directory=cluster.directory,
        certificate_text=cluster.directory and certificate_text(cluster.directory),
        has_accounting=has_accounting,
        on_parallelcluster=on_parallelcluster,
        pinned=pinned_names(cluster.downloads),
    )
    training = check_training(cluster.training, place) if cluster.training is not None else []
    return [
        *setup,
        *(problem.under("scripts") for problem in own),
        *_downloads(cluster),
        *(problem.under("metrics") for problem in metrics),
        *people,
        *(problem.under("training") for problem in training),
        *check_node_settings_used(cluster, scripts, place.groups),
    ]


def check_downloads(downloads: Downloads | None) -> list[Problem]:
    """Return the problems of `downloads` and their lock file."""
    if downloads is None:
        return []
    locked = [problem.under("lock") for problem in lock_problems(downloads.lock_path)]
    return [problem.under("downloads") for problem in (*check_mirror(downloads), *locked)]


def _downloads(cluster: ClusterSpec) -> list[Problem]:
    """Return the problems of the downloads of `cluster`, and the packages of its Neuron SDK that they lack."""
    problems = check_downloads(cluster.downloads)
    if problems or cluster.neuron is None or not cluster.neuron.install:
        return problems
    files = None if cluster.downloads is None else files_of(cluster.downloads)
    return [problem.under("neuron") for problem in check_neuron_pinned(cluster.neuron.release, files)]


_MARK = "EFA clients of "
_CONNECTIONS, _UNUSED = "llm-fleet:efa-connections", "llm-fleet:efa-unused"


def count_efa_clients(cluster: Construct, lustre: object, clients: Sequence[EfaClients]) -> None:
    """Record `clients` of `lustre`, a file system with EFA; warn if they open too many connections.

    The sum is over all clusters of this app, in any stack. If no node of any of them can use EFA, the file system gets
    a warning when the app is synthesized.
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
    """Warns if no cluster of the app can use the EFA of a file system."""

    def __init__(self, lustre: Construct) -> None:
        self._path = lustre.node.path

    def visit(self, node: IConstruct) -> None:
        """Check the file system after all its clusters are created."""
        if node.node.path != self._path:
            return
        reported = [str(claim.node.try_get_context(_UNUSED) or "") for claim in _claims(node)]
        if all(reported):
            cdk.Annotations.of(node).add_warning_v2("llm-fleet:lustre-efa-unused", "; ".join(reported))


def _claims(lustre: IConstruct) -> list[IConstruct]:
    return [child for child in lustre.node.children if child.node.id.startswith(_MARK)]
