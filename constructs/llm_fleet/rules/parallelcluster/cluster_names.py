"""Names of a cluster, its parts, host names and roles, its tags, and the hash in its name.

An update of a key that ParallelCluster cannot change fails, and can leave the stack stuck. With a hash of those keys in
the name, such a change makes a new cluster, and the old one is deleted once the new one exists.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from llm_fleet.catalog.parallelcluster import parallelcluster_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.configuration import check_keyed
from llm_fleet.rules.parallelcluster.schema_sections import section
from llm_fleet.rules.parallelcluster.update_changes import (
    Key,
    Section,
    is_intrinsic,
    items_at,
    normal,
    section_at,
    top_level_keys,
)
from llm_fleet.rules.parallelcluster.update_fleet_policies import HOME_DIRS
from llm_fleet.rules.parallelcluster.update_policies import fixed_attributes
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved, rule
from llm_fleet.rules.slurm_database import keeps_records
from llm_fleet.rules.values import repeated
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from llm_fleet.spec.parallelcluster_queue import Queue

HASH_SUFFIX_LENGTH = 9
"""Characters that `name_with_hash` adds: a hyphen and eight hexadecimal digits."""
NEVER_CHANGED = frozenset({"UNSUPPORTED", "READ_ONLY_RESOURCE_BUCKET", "UNKNOWN"})
"""Policies under which ParallelCluster rejects every update."""
# The locations of the scripts contain the name, and a name cannot depend on itself.
_HOLDS_THE_NAME = ("HeadNode/CustomActions",)


def name_with_hash(name: str, configuration: Section, version: str) -> str:
    """Return `<name>-<8 hex digits>` for the cluster `name` of this configuration and version of ParallelCluster.

    `configuration`: that of ParallelCluster, with CDK tokens resolved to CloudFormation's intrinsic functions. Raises
    `ValueError` when a token is left: the digits would change with every synth.
    """
    return f"{name}-{identity_hash(configuration, version)}"


def identity_hash(configuration: Section, version: str, *, scripts: Any = None) -> str:
    """Return the eight digits; see `name_with_hash`.

    `scripts`: locations of the head node's scripts, without the name that is in their keys; plain values, and
    functions of CloudFormation. No update can move or add them. Default: the head node runs none.
    """
    parts = {"Version": version, "Scripts": scripts, **immutable_parts(configuration)}
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def immutable_parts(configuration: Section) -> dict[str, Any]:
    """Return, by path, every value whose change requires a new cluster.

    Those are the keys that ParallelCluster's update policies never change, the presence of sections of such keys, and
    the mount of `/home`. Items of lists, e.g. queues, are not among them: an item of another name is added and the old
    one removed. Nor are the head node's scripts, whose locations contain the name.
    """
    parts: dict[str, Any] = {}
    # Queues are removed first: they are most of a configuration, and none of their keys counts.
    scheduling = {**section_at(configuration, "Scheduling"), "SlurmQueues": None}
    reported = normal({**configuration, "Scheduling": scheduling} if "Scheduling" in configuration else configuration)
    _collect(top_level_keys(), reported, "", parts)
    for home in items_at(reported, "SharedStorage"):
        if home.get("MountDir") in HOME_DIRS:
            _collect(top_level_keys()["SharedStorage"].children, home, "SharedStorage[/home]/", parts)
    unknown = [path for path, value in parts.items() if is_unresolved(json.dumps(value))]
    if unknown:
        raise ValueError(f"the configuration still contains CDK tokens, at {', '.join(unknown)}: resolve it first")
    return parts


def _collect(keys: Mapping[str, Key], section: Section, prefix: str, parts: dict[str, Any]) -> None:
    for key in keys.values():
        path = f"{prefix}{key.name}"
        value = section.get(key.name)
        if value is not None and path not in _HOLDS_THE_NAME:
            _collect_key(key, value, path, parts)


def _collect_key(key: Key, value: Any, path: str, parts: dict[str, Any]) -> None:
    fixed = key.policy in NEVER_CHANGED
    if key.policy == "EXTRA_CHEF_ATTRIBUTES":
        if attributes := fixed_attributes(value):
            parts[path] = attributes
    elif fixed and key.has_items:
        for item in items_at({key.name: value}, key.name):
            place = f"{path}[{item.get(key.item_key or 'Name')}]"
            parts[place] = "there"
            _collect(key.children, item, f"{place}/", parts)
    elif is_intrinsic(value) and key.is_section:
        parts[path] = value  # Its content is resolved at deployment.
    elif not key.is_section:
        if fixed:
            parts[path] = value
    elif value and not key.is_list:
        if fixed:
            parts[path] = "there"
        _collect(key.children, value, f"{path}/", parts)


@rule
def check_cluster_name(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check the name, which is followed by the hash, and is shorter with accounting (ClusterNameValidator)."""
    name = cluster.cluster_name
    if is_unresolved(name):
        return
    limits = parallelcluster_limits()
    accounting = keeps_records(cluster.accounting)
    longest = (limits.cluster_name_accounting if accounting else limits.cluster_name.maximum) or 0
    longest -= HASH_SUFFIX_LENGTH
    faults: list[str] = []
    if not limits.cluster_name.matches(name):
        faults.append("does not consist of letters, digits and hyphens, beginning with a letter")
    if len(name) > longest:
        faults.append(f"is {len(name)} characters long, {len(name) - longest} too many")
    if not faults:
        return
    repaired = re.sub(r"[^a-zA-Z0-9-]+", "-", name).lstrip("0123456789-")[:longest].rstrip("-")
    why = "; the names of Slurm's tables in the database begin with it" if accounting else ""
    yield cluster.wrong(
        "cluster_name",
        Code.PC_CLUSTER_NAME,
        f"the cluster name {' and '.join(faults)}",
        f"write `{repaired}`" if repaired else "give the cluster a name that begins with a letter",
        allowed=f"1 to {longest} letters, digits and hyphens, beginning with a letter; "
        f"{HASH_SUFFIX_LENGTH} more are used by the hash that identifies a new cluster{why}",
    )


@rule
def check_part_name(name: str, *, what: str) -> Iterator[Problem]:
    """Check the name of a queue, compute resource or login pool: it becomes part of host names (NameValidator)."""
    if is_unresolved(name):
        return
    limits = parallelcluster_limits()
    limit = limits.part_name
    faults: list[str] = []
    if not limit.matches(name):
        faults.append("does not consist of lower-case letters, digits and hyphens, beginning with a letter")
    if len(name) > (limit.maximum or 0):
        faults.append(f"is {len(name)} characters long, {len(name) - (limit.maximum or 0)} too many")
    if name in limits.reserved_names:
        faults.append("is reserved: Slurm reads it as the default of all others")
    if not faults:
        return
    repaired = fix_part_name(name)
    yield Problem(
        code=Code.PC_NAME,
        message=f"the {what} name {' and '.join(faults)}",
        remedy=f"write `{repaired}`" if repaired else f"give the {what} a name that begins with a letter",
        path=("name",),
        value=name,
        allowed=f"up to {limit.maximum} lower-case letters, digits and hyphens, beginning with a letter; "
        f"not {', '.join(map(repr, limits.reserved_names))}",
    )


def fix_part_name(name: str) -> str:
    """Return the valid name closest to `name`; empty when there is none."""
    limits = parallelcluster_limits()
    repaired = re.sub(r"[^a-z0-9-]+", "-", name.lower()).lstrip("0123456789-")[: limits.part_name.maximum].rstrip("-")
    return f"{repaired}-queue" if repaired in limits.reserved_names else repaired


def check_names_unique(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check that no two queues, login pools or shared storages have the same name (DuplicateNameValidator)."""
    return [
        *_twice((queue.name for queue in cluster.queues), "queues", what="queues"),
        *_twice((pool.name for pool in cluster.login_pools), "login_pools", what="login pools"),
        *_twice((storage.name for storage in cluster.shared_storage), "shared_storage", what="shared storages"),
    ]


def check_resource_names_unique(queue: Queue) -> list[Problem]:
    """Check that no two compute resources of a queue have the same name (DuplicateNameValidator)."""
    return _twice(
        (resource.name for resource in queue.compute_resources), "compute_resources", what="compute resources"
    )


def _twice(names: Iterable[str], *path: PathPart, what: str) -> list[Problem]:
    return [
        Problem(
            code=Code.PC_NAME_TWICE,
            message=f"{count} {what} have the name {name!r}",
            remedy=f"give each a unique name, e.g. `{fix_part_name(name)[:23] + '-2'}` to the second",
            path=(*path, name, "name"),
            value=name,
        )
        for name, count in repeated(names).items()
    ]


_DOMAIN = ".pcluster"
_LONGEST = 63
"""Characters of host and domain: with more, the bootstrap of libfabric and of the Neuron runtime cannot connect, and
nodes fail to start (LFN42)."""


@rule
def check_host_names(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check that `<queue>-st-<compute resource>-<number>.<cluster>-<hash>.pcluster` fits into a host name.

    Stricter: ParallelCluster limits each name, not their sum. With your own `Dns` (in the overrides of Slurm) the names
    differ and are not checked.
    """
    if section(cluster.slurm.overrides, "Dns") or is_unresolved(cluster.cluster_name) or check_cluster_name(cluster):
        return
    domain = len(cluster.cluster_name) + HASH_SUFFIX_LENGTH + len(_DOMAIN) + len(".")
    for queue in cluster.queues:
        for resource in queue.compute_resources:
            if is_unresolved((queue.name, resource.name, resource.max_count)) or _is_refused(queue.name, resource.name):
                continue
            too_many = len(f"{queue.name}-st-{resource.name}-{resource.max_count}") + domain - _LONGEST
            if too_many > 0:
                yield resource.wrong(
                    "name",
                    Code.PC_HOST_NAME,
                    f"nodes are called '{queue.name}-st-{resource.name}-1.<cluster>-<hash>{_DOMAIN}', {too_many} "
                    "characters more than a host name allows",
                    f"shorten the names of the cluster, the queue or the compute resource by {too_many} characters",
                    allowed=f"up to {_LONGEST} characters in all, with {HASH_SUFFIX_LENGTH} of the hash and "
                    f"{len(_DOMAIN)} of the domain",
                ).under("queues", queue.name, "compute_resources", resource.name)


def _is_refused(*names: str) -> bool:
    """Whether a name is too long alone, which another rule reports."""
    return any(len(name) > (parallelcluster_limits().part_name.maximum or 0) for name in names)


_FORM = re.compile(r"(?P<path>(/[a-zA-Z0-9_.,+@=-]+)+/)?(?P<name>[a-zA-Z0-9_.,+@=-]+)?")
_PATH = "/parallelcluster/"
"""Where the provider can create roles (`DefaultParallelClusterIamAdminPolicy` of parallelcluster-policies.yaml)."""


def check_iam_prefix(prefix: str | None, *path: PathPart) -> list[Problem]:
    """Return why IAM or the provider could not create roles with that prefix."""
    return check_prefix_form(prefix, *path) or check_prefix_path(prefix, *path)


@rule
def check_prefix_form(prefix: str | None, *path: PathPart) -> Iterator[Problem]:
    """Check the form and the length (IamResourcePrefixValidator)."""
    if prefix is None or is_unresolved(prefix):
        return
    limits, match = parallelcluster_limits(), _FORM.fullmatch(prefix)
    too_long = match is not None and (
        len(match["name"] or "") > limits.iam_prefix or len(match["path"] or "") > limits.iam_path
    )
    if match is None or not prefix or too_long:
        yield Problem(
            code=Code.PC_RESOURCE_PREFIX,
            message="the prefix is too long" if too_long else "this is not a valid IAM path or name prefix",
            remedy="write e.g. `/parallelcluster/research/` or `research-`",
            path=path,
            value=prefix,
            allowed=f"a path of up to {limits.iam_path} characters, and a name prefix of up to {limits.iam_prefix}",
        )


@rule
def check_prefix_path(prefix: str | None, *path: PathPart) -> Iterator[Problem]:
    """Check that the provider can create roles there."""
    if prefix is not None and not is_unresolved(prefix) and "/" in prefix and not prefix.startswith(_PATH):
        yield Problem(
            code=Code.PC_IAM_PREFIX,
            message="ParallelCluster's provider can create roles only below the path /parallelcluster/",
            path=path,
            value=prefix,
            allowed="a name without a slash, or a path below /parallelcluster/",
            remedy=f"write {_PATH}{prefix.strip('/')}/",
        )


_OF_THE_PROVIDER = 1
"""`parallelcluster:custom_resource`, which AWS's CloudFormation provider adds to the cluster's."""


@rule
def check_tags(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check keys and values of all tags, and their number on a node (ComputeResourceTagsValidator).

    Stricter by one: the tag that AWS's provider adds is counted.
    """
    yield from _check_texts_of_tags(cluster.tags, "tags")
    if not any(queue.compute_resources for queue in cluster.queues):
        yield from _check_number_of_tags(set(cluster.tags), "tags")
        return
    for queue in cluster.queues:
        yield from _check_texts_of_tags(queue.tags, "queues", queue.name, "tags")
        for resource in queue.compute_resources:
            here = ("queues", queue.name, "compute_resources", resource.name, "tags")
            yield from _check_texts_of_tags(resource.tags, *here)
            yield from _check_number_of_tags({*cluster.tags, *queue.tags, *resource.tags}, *here)


def _check_texts_of_tags(tags: Mapping[str, str], *path: PathPart) -> Iterator[Problem]:
    prefix = parallelcluster_limits().reserved_tag_prefix
    for key, value in tags.items():
        yield from check_keyed("Tags[]/Key", key, Code.PC_TAGS, *path, key, what="the tag's key")
        yield from check_keyed("Tags[]/Value", value, Code.PC_TAGS, *path, key, what="the tag's value")
        taken = next((start for start in (prefix, "aws:") if key.casefold().startswith(start)), None)
        if taken is not None and not is_unresolved(key):
            yield Problem(
                code=Code.PC_TAGS,
                message=f"tags that begin with {taken!r} are reserved for "
                f"{'AWS' if taken == 'aws:' else 'ParallelCluster'}",
                remedy=f"write `{key[len(taken) :]}`",
                path=(*path, key),
                value=key,
            )


def _check_number_of_tags(keys: set[str], *path: PathPart) -> Iterator[Problem]:
    most = parallelcluster_limits().tags - _OF_THE_PROVIDER
    if len(keys) > most:
        yield Problem(
            code=Code.PC_TAGS,
            message=f"the cluster, the queue and the compute resource have {len(keys)} tags together, "
            f"{len(keys) - most} too many",
            remedy="remove the tags that no cost report or policy uses",
            path=path,
            value=len(keys),
            allowed=f"up to {most}; ParallelCluster and its provider add their own",
        )
