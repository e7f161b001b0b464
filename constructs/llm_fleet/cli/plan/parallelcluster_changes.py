"""What ParallelCluster would say to the update of a stack."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.cli.plan.stack_template import StackTemplate
from llm_fleet.named_files.cluster_template import clusters_of
from llm_fleet.named_files.deployed_configuration import DeployedConfiguration
from llm_fleet.rules.parallelcluster.update.check import is_new_cluster
from llm_fleet.rules.parallelcluster.update.plan import UpdatePlan, plan_update
from llm_fleet.rules.parallelcluster.update.script_digests import with_digests


def parallelcluster_changes(old: StackTemplate, new: StackTemplate) -> Iterator[tuple[str, UpdatePlan, bool]]:
    """Yield for each cluster of both templates its name, the plan, and whether it becomes a new cluster beside the old.

    It is taken to run: changes that a stopped fleet lets pass are told with that remedy.
    """
    before = {one.logical_id: one for one in _clusters(old)}
    for cluster in _clusters(new):
        deployed = before.get(cluster.logical_id)
        if deployed is None:
            continue
        one, two = _comparable(deployed.configuration, cluster.configuration)
        plan = plan_update(
            one.configuration,
            two.configuration,
            version_old=one.version,
            version_new=two.version,
            fleet_is_stopped=False,
        )
        yield two.cluster_name or cluster.logical_id, plan, is_new_cluster(one, two)


class _Found:
    """A cluster with its logical id."""

    def __init__(self, logical_id: str, configuration: DeployedConfiguration) -> None:
        self.logical_id = logical_id
        self.configuration = configuration


def _clusters(stack: StackTemplate) -> Iterator[_Found]:
    for one in clusters_of({"Resources": stack.resources}):
        told = DeployedConfiguration(
            configuration=one.configuration,
            cluster_name=one.cluster_name,
            version=one.version,
            script_digests=one.script_digests,
            source=stack.name,
        )
        yield _Found(one.logical_id, told)


def _comparable(
    old: DeployedConfiguration, new: DeployedConfiguration
) -> tuple[DeployedConfiguration, DeployedConfiguration]:
    """Return both with published scripts told apart by their digests, where both have them."""
    if not (old.script_digests and new.script_digests):
        return old, new
    return (
        replace(old, configuration=with_digests(old.configuration, old.script_digests)),
        replace(new, configuration=with_digests(new.configuration, new.script_digests)),
    )
