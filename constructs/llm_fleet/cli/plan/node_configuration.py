"""Changes of the scripts and the configuration that nodes read when they start, and which nodes get them when."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from llm_fleet.catalog.hyperpod import software_update
from llm_fleet.cli.plan.cluster_changes import groups_of
from llm_fleet.cli.plan.stack_templates import StackTemplate, value_at
from llm_fleet.cli.plan.template_changes import ChangeKind, ResourceChange, names_in
from llm_fleet.rules.terms import QueueUpdateStrategy

_BUNDLE, _MANIFEST = "Custom::LlmFleetBundle", "Manifest"
_HYPERPOD, _PARALLELCLUSTER = "AWS::SageMaker::Cluster", "Custom::PclusterCluster"
_TEMPLATE, _USER_DATA, _HOSTS = (
    "AWS::EC2::LaunchTemplate",
    "LaunchTemplateData.UserData",
    "AWS::AutoScaling::AutoScalingGroup",
)
_DERIVED = "content_hash"
"""Changes with every other part."""
_VERSION, _SCRIPTS = "package_version", "scripts_sha256"
_NAMES = {"mounts": "file systems", _VERSION: "version of llm-fleet", _SCRIPTS: "scripts"}
"""Parts of the manifest whose keys are not those of the fleet file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedUid:
    """A user whose uid changes."""

    name: str
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfiguration:
    """The changed scripts or configuration of the nodes of a cluster or service."""

    stack: str
    where: str
    """The construct path."""
    what: str
    """Text of the change."""
    parts: tuple[str, ...]
    """The changed parts, e.g. `users`; empty if they are unknown before the deployment."""
    versions: tuple[str, str] | None = None
    """The deployed and the new version of llm-fleet, if they are known and different."""
    nodes: tuple[str, ...] = ()
    """Which nodes get it when, and what that does to jobs."""
    commands: tuple[str, ...] = ()
    """What brings running nodes up to date; empty if the deployment does, or if nothing has to be done."""
    changed_uids: tuple[ChangedUid, ...] = ()


def node_configurations(
    deployed: Mapping[str, StackTemplate], planned: Sequence[StackTemplate], changes: Sequence[ResourceChange]
) -> Iterator[NodeConfiguration]:
    """Yield each changed configuration, from the templates `deployed`, by name, to those `planned`."""
    new = {stack.name: stack for stack in planned}
    kinds = {(change.stack, change.logical_id): change.kind for change in changes}
    for change in changes:
        old_stack, new_stack = deployed[change.stack], new[change.stack]
        if change.type == _BUNDLE and _MANIFEST in change.properties:
            yield _of_bundle(change, old_stack, new_stack, kinds)
        elif change.type == _TEMPLATE and _USER_DATA in change.properties:
            yield from _of_hosts(change, new_stack)


def _of_bundle(
    change: ResourceChange,
    old: StackTemplate,
    new: StackTemplate,
    kinds: Mapping[tuple[str, str], ChangeKind],
) -> NodeConfiguration:
    before, after = (_manifest(stack.resources[change.logical_id]) for stack in (old, new))
    parts = _changed(before, after)
    nodes, commands = ("new nodes: get it when they start", "running nodes: get it when they are replaced"), ()
    for logical_id, resource in new.resources.items():
        if change.logical_id not in names_in(resource.get("Properties", {})):
            continue
        if resource.get("Type") == _HYPERPOD:
            is_replaced = kinds.get((change.stack, logical_id)) is ChangeKind.REPLACED
            running: Mapping[str, Any] = old.resources.get(logical_id, {}) if not is_replaced else {}
            nodes, commands = _of_hyperpod(change.logical_id, running, resource, new.region)
        elif resource.get("Type") == _PARALLELCLUSTER:
            nodes = _of_parallelcluster(resource)
    only_version = parts == [_VERSION]
    return NodeConfiguration(
        stack=change.stack,
        where=change.where,
        what=_what(parts, before, after),
        parts=tuple(_NAMES.get(key, key) for key in parts),
        versions=(str(before.get(_VERSION)), str(after.get(_VERSION))) if _VERSION in parts else None,
        nodes=nodes,
        commands=() if only_version else commands,
        changed_uids=tuple(_changed_uids(before, after)),
    )


def _what(parts: Sequence[str], before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    settings = [_NAMES.get(key, key) for key in parts if key not in (_VERSION, _SCRIPTS)]
    versions = f"from {before.get(_VERSION)} to {after.get(_VERSION)}"
    if settings or not parts:
        named = f" ({', '.join([*settings, *(['scripts'] if _SCRIPTS in parts else [])])})" if settings else ""
        release = f", and the version of llm-fleet, {versions}" if _VERSION in parts else ""
        return f"the configuration of nodes changes{named}{release}"
    if _VERSION not in parts:
        return "the scripts of nodes change; their settings and the version of llm-fleet are the same"
    scripts = (
        "their scripts change" if _SCRIPTS in parts else "their scripts are the same: running nodes need no update"
    )
    return f"only the version of llm-fleet changes, {versions}: the settings of nodes are the same, and {scripts}"


def _of_hyperpod(
    bundle: str, old: Mapping[str, Any], new: Mapping[str, Any], region: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which nodes of a cluster get the new scripts, and the commands that run them on running nodes.

    Source: document https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-lifecycle-best-practices-slurm-slurm-update-cluster-lifecycle.html
    (2026-11-28)
    """
    groups = {name: group for name, group in groups_of(new).items() if bundle in names_in(group)}
    running = [name for name, group in groups_of(old).items() if name in groups and group.get("InstanceCount")]
    if not running:
        return _texts("hyperpod-none-running"), ()
    where = f"--region {region or 'REGION'} --cluster-name {value_at(new, 'Properties.ClusterName') or 'NAME'}"
    hooks: Mapping[str, str] = groups[running[0]]["LifeCycleConfig"]
    script = hooks.get("OnInitComplete") or hooks.get("OnCreate")
    commands = (
        "to run the new scripts on running nodes without ending jobs, print their location, and run them as root on "
        "each node:",
        f"  aws sagemaker describe-cluster {where} --output text --query "
        "'InstanceGroups[].[InstanceGroupName,LifeCycleConfig.SourceS3Uri]'",
        "  rm -rf /opt/llm-fleet/new && aws s3 cp --recursive --only-show-errors LOCATION /opt/llm-fleet/new "
        f"&& bash /opt/llm-fleet/new/{script}",
        "or install the nodes again, which ends their jobs and deletes their disks (`llm-fleet upgrade` shows the "
        "details first):",
        f"  aws sagemaker update-cluster-software {where}",
    )
    return _texts("hyperpod", groups=", ".join(running)), commands


def _of_parallelcluster(resource: Mapping[str, Any]) -> tuple[str, ...]:
    """Return when head node, login nodes and queues get the new scripts.

    Source: document https://docs.aws.amazon.com/parallelcluster/latest/ug/custom-bootstrap-actions-v3.html (2026-11)
    """
    strategy = value_at(resource, "Properties.ClusterConfiguration.Scheduling.SlurmSettings.QueueUpdateStrategy")
    return _texts(str(strategy or QueueUpdateStrategy.COMPUTE_FLEET_STOP.value))


def _of_hosts(change: ResourceChange, new: StackTemplate) -> Iterator[NodeConfiguration]:
    """Yield the hosts of a service that start from a changed launch template.

    Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-updatepolicy.html
    (2026-11)
    """
    for logical_id, resource in new.resources.items():
        update = value_at(resource, "UpdatePolicy.AutoScalingRollingUpdate")
        if resource.get("Type") == _HOSTS and update and change.logical_id in names_in(resource["Properties"]):
            yield NodeConfiguration(
                stack=change.stack,
                where=new.where(logical_id),
                what="the scripts or settings of hosts change",
                parts=(),
                nodes=_texts("service", batch=update.get("MaxBatchSize", 1)),
            )


def _texts(key: str, **values: object) -> tuple[str, ...]:
    return tuple(
        f"{one.what.format(**values)}: {one.where.format(**values)}"
        + ("" if one.assumption is None else f" [assumption: {one.assumption}]")
        for one in software_update().new_scripts[key]
    )


def _manifest(resource: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the manifest, each token as text; empty if it cannot be parsed."""
    written = resource.get("Properties", {}).get(_MANIFEST)
    if isinstance(written, Mapping):
        parts = cast("Mapping[str, Any]", written).get("Fn::Join", ["", []])[1]
        written = "".join(part if isinstance(part, str) else _as_text(part) for part in parts)
    try:
        found: object = json.loads(written) if isinstance(written, str) else {}
    except ValueError:
        return {}
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _as_text(token: object) -> str:
    """Return a token in a form that can be a part of a JSON string."""
    return json.dumps(json.dumps(token, sort_keys=True))[1:-1]


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    if not before or not after:
        return []
    return sorted(key for key in {*before, *after} - {_DERIVED} if before.get(key) != after.get(key))


def _changed_uids(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[ChangedUid]:
    old = {user["name"]: user["uid"] for user in before.get("users", ())}
    for user in after.get("users", ()):
        uid = old.get(user["name"], user["uid"])
        if uid != user["uid"]:
            yield ChangedUid(name=user["name"], before=uid, after=user["uid"])
