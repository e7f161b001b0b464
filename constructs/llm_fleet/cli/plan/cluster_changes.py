"""What an update changes in a cluster."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from llm_fleet.cli.plan.stack_templates import StackTemplate, value_at
from llm_fleet.cli.plan.template_changes import ChangeKind, ResourceChange, template_changes
from llm_fleet.named_files.deployed_configuration import clusters_of, comparable
from llm_fleet.rules.feature_codes import PlanCode
from llm_fleet.rules.parallelcluster.update_check import is_new_cluster
from llm_fleet.rules.parallelcluster.update_plan import UpdatePlan, plan_update

_TYPE = "AWS::SageMaker::Cluster"
_COUNT, _TYPES, _STORAGE = "InstanceCount", "InstanceRequirements.InstanceTypes", "InstanceStorageConfigs"
_NODE_TYPE = "SlurmConfig.NodeType"
_FIXED = ("OverrideVpcConfig", _NODE_TYPE)
"""assumption: hyperpod-refuses-change-of-group-network-and-node-type"""
_KEPT = ("InstanceType", "ThreadsPerCore", "ExecutionRole")
"""assumption: hyperpod-refuses-change-of-instance-type"""
_MOUNTS = ("FsxLustreConfig", "FsxOpenZfsConfig")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """Effect of an update on one instance group."""

    stack: str
    """The cluster's stack."""
    group: str
    what: str
    """Text of the effect."""
    refused: bool = False
    """Whether HyperPod rejects it."""
    code: str | None = None
    """A `PlanCode` if jobs end or HyperPod rejects the update."""


def hyperpod_changes(old: StackTemplate, new: StackTemplate) -> tuple[GroupChange, ...]:
    """Return the changes of the groups of each cluster that is in both templates and is not replaced."""
    return tuple(
        found
        for change in template_changes(old, new)
        if change.type == _TYPE and change.logical_id in old.resources and change.logical_id in new.resources
        if change.kind is not ChangeKind.REPLACED
        for found in _of_cluster(change, old.resources[change.logical_id], new.resources[change.logical_id])
    )


def _of_cluster(change: ResourceChange, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[GroupChange]:
    yield from _provisioning(change.stack, before, after)
    old, new = groups_of(before), groups_of(after)
    for index, (name, group) in enumerate(new.items()):
        if name not in old:
            yield GroupChange(stack=change.stack, group=name, what=f"added, with {_count(group)}")
            continue
        one = _Group(stack=change.stack, name=name, old=old[name], new=group, controller=_is_controller(old, name))
        yield from (*one.resized(), *one.fixed(), *one.kept(), *one.types(), *one.of_nodes(), *one.mounts())
        is_replaced = f"InstanceGroups[{index}].ExecutionRole" in change.properties
        if is_replaced and old[name].get("ExecutionRole") == group.get("ExecutionRole"):
            yield from one.role()
    for name, group in old.items():
        if name not in new:
            controller = _is_controller(old, name)
            yield from _Group(stack=change.stack, name=name, old=group, new={}, controller=controller).removed()


def _provisioning(stack: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[GroupChange]:
    """Warn of another mode of a running cluster; assumption: hyperpod-changes-provisioning-mode"""
    before, after = (value_at(one, "Properties.NodeProvisioningMode") or "none" for one in (old, new))
    if before != after:
        what = f"NodeProvisioningMode from {before} to {after}: HyperPod may reject it on a running cluster; a "
        what += "cluster with another name avoids that"
        yield GroupChange(stack=stack, group="all groups", what=what, code=PlanCode.REFUSED.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """A group of a cluster before and after an update."""

    stack: str
    name: str
    old: Mapping[str, Any]
    new: Mapping[str, Any]
    controller: bool | None
    """Whether its node is the Slurm controller; `None` if only provisioning_parameters.json has the roles."""

    def resized(self) -> Iterator[GroupChange]:
        before, after = self.old.get(_COUNT), self.new.get(_COUNT)
        what = f"from {_count(self.old)} to {_count(self.new)}"
        if isinstance(before, int) and isinstance(after, int) and after < before:
            yield from self._nodes_go(
                what,
                ": HyperPod chooses the nodes to remove, and their jobs end; to choose nodes yourself, call "
                "BatchDeleteClusterNodes first",
            )
        elif before != after:
            yield self._change(what)

    def removed(self) -> Iterator[GroupChange]:
        yield from self._nodes_go("removed", ", with its nodes, their jobs and the data on their disks")

    def _nodes_go(self, what: str, with_jobs: str) -> Iterator[GroupChange]:
        """Report removed nodes; HyperPod rejects the removal of the controller.

        https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-operate-slurm-cli-command.html: "You cannot
        remove instances that are configured as Slurm controller nodes".
        """
        refused = f"{what}: HyperPod does not remove nodes of the Slurm controller (NODE_ID_IN_USE). Keep the group "
        refused += "with its name and count; to change the groups, create a cluster with another name"
        if self.controller:
            yield self._change(refused, PlanCode.REFUSED, refused=True)
            return
        yield self._change(f"{what}{with_jobs}", PlanCode.JOBS)
        if self.controller is None:
            yield self._change(
                f"if provisioning_parameters.json has it as controller group: {refused}", PlanCode.REFUSED
            )

    def fixed(self) -> Iterator[GroupChange]:
        """Report changes of a group that HyperPod rejects.

        The first node type of a group is not a change of one: it replaces provisioning_parameters.json
        (https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-slurm-api-config-migration.html).
        """
        for key in (key for key in _FIXED if self._differs(key)):
            if key == _NODE_TYPE and value_at(self.old, key) is None:
                continue
            what = f"{key} cannot change in place: give the {self._renamed} another name to create a new one"
            yield self._change(what, PlanCode.REFUSED, refused=True)

    def kept(self) -> Iterator[GroupChange]:
        """Report changes about which AWS's pages contradict each other."""
        changed = [key for key in _KEPT if self._differs(key)]
        for key in changed:
            one, two = (_in_words(value_at(group, key)) for group in (self.old, self.new))
            yield self._change(
                f"{key} from {one} to {two}: HyperPod may reject it for an existing group; {self._safe}",
                PlanCode.REFUSED,
            )
        if set(changed) - {"ExecutionRole"}:
            what = "if HyperPod accepts that, it may replace the group's nodes, with their jobs and disks"
            yield self._change(what, PlanCode.JOBS)

    def role(self) -> Iterator[GroupChange]:
        """Report that the execution role is replaced by one with the same logical id."""
        what = f"ExecutionRole is replaced: HyperPod may reject another one for an existing group; {self._safe}"
        yield self._change(what, PlanCode.REFUSED)

    def types(self) -> Iterator[GroupChange]:
        """Report changed instance types of a group with several types.

        https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-operate-cli-command-update-cluster.html:
        types can be added and removed, but "you cannot remove an instance type that has active nodes".
        """
        before, after = value_at(self.old, _TYPES), value_at(self.new, _TYPES)
        if not (isinstance(before, list) and isinstance(after, list)) or before == after:
            return
        gone = ", ".join(str(one) for one in cast("list[Any]", before) if one not in after)
        if gone:
            what = f"without {gone}: HyperPod rejects it while nodes of such a type run; remove those first"
            yield self._change(what, PlanCode.REFUSED)
        else:
            yield self._change("other instance types, for new nodes only")

    def of_nodes(self) -> Iterator[GroupChange]:
        """Report settings that nodes get when they are created; assumption: hyperpod-changes-groups-in-place"""
        changed = ["ImageId"] if self._differs("ImageId") else []
        if _storage(self.old, mounts=False) != _storage(self.new, mounts=False):
            changed.append(f"{_STORAGE} (EbsVolumeConfig)")
        if changed:
            what = f"{', '.join(changed)} changes: HyperPod may reject it, ignore running nodes, or replace "
            what += f"them, with their jobs and the data on their disks; {self._safe}"
            yield self._change(what, PlanCode.JOBS)

    def mounts(self) -> Iterator[GroupChange]:
        """Report changed file systems, which only new nodes mount.

        https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-slurm-api-config-migration.html: "Existing
        nodes retain their original storage configuration".
        """
        if _storage(self.old, mounts=True) == _storage(self.new, mounts=True):
            return
        what = f"file systems in {_STORAGE} change: running nodes keep their mounts, and only new nodes "
        what += "get the new ones"
        if self.controller:
            what += (
                ". HyperPod does not remove the controller: it gets the new ones only in a cluster with another name"
            )
        else:
            what += "; for all nodes, deploy the group with 0 nodes, which ends its jobs, and then with its count again"
        yield self._change(what)

    @property
    def _renamed(self) -> str:
        return "cluster" if self.controller else "group"

    @property
    def _safe(self) -> str:
        return f"a {self._renamed} with another name avoids that"

    def _differs(self, key: str) -> bool:
        return value_at(self.old, key) != value_at(self.new, key)

    def _change(self, what: str, code: PlanCode | None = None, *, refused: bool = False) -> GroupChange:
        number = code.value if code else None
        return GroupChange(stack=self.stack, group=self.name, what=what, refused=refused, code=number)


def _is_controller(groups: Mapping[str, Any], name: str) -> bool | None:
    """Return whether the group is the Slurm controller; `None` if no group of the template has a node type."""
    kinds = {group: value_at(one, _NODE_TYPE) for group, one in groups.items()}
    return kinds[name] == "Controller" if any(kinds.values()) else None


def groups_of(resource: Mapping[str, Any]) -> dict[str, Any]:
    """Return the instance groups of a HyperPod cluster's resource by name."""
    found = resource.get("Properties", {}).get("InstanceGroups", [])
    groups = cast("list[Any]", found) if isinstance(found, list) else []
    return {str(group.get("InstanceGroupName")): group for group in groups if isinstance(group, dict)}  # pyright: ignore


def _storage(group: Mapping[str, Any], *, mounts: bool) -> list[Any]:
    found = group.get(_STORAGE, [])
    parts = cast("list[Any]", found if isinstance(found, list) else [found])
    return [one for one in parts if any(isinstance(one, Mapping) and kind in one for kind in _MOUNTS) is mounts]


def _in_words(value: Any) -> str:
    return "none" if value is None else str(value) if isinstance(value, (str, int)) else "another"


def _count(group: Mapping[str, Any]) -> str:
    count = group.get(_COUNT)
    return f"{count} node{'' if count == 1 else 's'}"


def parallelcluster_changes(old: StackTemplate, new: StackTemplate) -> Iterator[tuple[str, UpdatePlan, bool]]:
    """Yield for each cluster in both templates its name, the plan, and whether a new cluster replaces the old one.

    The compute fleet counts as running: changes that need a stopped fleet are reported with that remedy.
    """
    before = {one.logical_id: one for one in clusters_of({"Resources": old.resources}, old.name)}
    for cluster in clusters_of({"Resources": new.resources}, new.name):
        if cluster.logical_id not in before:
            continue
        one, two = comparable(before[cluster.logical_id], cluster)
        plan = plan_update(
            one.configuration,
            two.configuration,
            version_old=one.version,
            version_new=two.version,
            fleet_is_stopped=False,
        )
        yield two.cluster_name or cluster.logical_id, plan, is_new_cluster(one, two)
