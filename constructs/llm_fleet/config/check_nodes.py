"""What the nodes of a cluster are told, judged by the rules that judge the constructs."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.cluster import HyperPodConfig
from llm_fleet.config.cluster_view import ClusterView
from llm_fleet.config.downloads import DownloadsConfig
from llm_fleet.config.group import GroupConfig
from llm_fleet.config.own_steps import OwnStepsConfig
from llm_fleet.named_files.lock_file import lock_problems, locked_files
from llm_fleet.named_files.own_scripts import own_scripts
from llm_fleet.rules.buckets import check_bucket_name
from llm_fleet.rules.codes import Code
from llm_fleet.rules.key_prefix import check_key_prefix
from llm_fleet.rules.node_settings import NodeOfGroup, NodeSettings, check_node_settings
from llm_fleet.rules.nodes_told import check_nodes_told
from llm_fleet.rules.own_steps import check_own_scripts
from llm_fleet.rules.pinned_packages import check_neuron_pinned
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.terms import LifecycleHook

_S3 = "s3://"
_SKIP: tuple[PathPart, ...] = ("scripts", "skip_steps")
_OWN: tuple[PathPart, ...] = ("scripts", "own")


def check_nodes(view: ClusterView) -> Iterator[Problem]:
    """Return what is wrong with what nodes are told, by attribute names below the cluster."""
    config = view.config
    scripts = config.scripts
    settings = NodeSettings(
        users=tuple(config.users.values()),
        s3_mounts=config.s3_mounts,
        neuron_release=config.neuron.release if config.neuron else None,
        skip_steps=scripts.skip_steps,
        own_steps=scripts.own_steps,
        group_names=list(config.groups),
        instance_types=[name for group in config.groups.values() for name in _types(group)],
        mount_paths=[mount.mount_path for mount in view.mounts],
        nodes=[node for group in config.groups.values() for node in _nodes(group)],
    )
    yield from (_in_file(problem, config) for problem in check_node_settings(settings))
    if config.downloads is not None:
        yield from (problem.under("downloads") for problem in _check_mirror(config.downloads))
    yield from _untold(config)


def check_node_files(config: HyperPodConfig) -> Iterator[Problem]:
    """Return what is wrong with the files that tell nodes something: own scripts and the lock file."""
    if config.scripts.own is not None:
        yield from (_in_file(problem.under("own_steps"), config) for problem in _check_scripts(config.scripts.own))
    unreadable = lock_problems(config.downloads.lock_path) if config.downloads is not None else []
    for problem in unreadable:
        # Lines within the lock file are none of the fleet file.
        inner = replace(problem, message=f"{problem.where}: {problem.message}" if problem.path else problem.message)
        yield replace(inner, path=("downloads", "lock"))
    if config.neuron is not None and config.neuron.install and not unreadable:
        files = locked_files(config.downloads.lock_path) if config.downloads is not None else None
        yield from (problem.under("neuron", "host") for problem in check_neuron_pinned(config.neuron.release, files))


def _types(group: GroupConfig) -> tuple[str, ...]:
    return group.instance_types or (group.instance_type or "",)


def _nodes(group: GroupConfig) -> Iterator[NodeOfGroup]:
    if group.on_create is not None:
        yield group.name, group.node_type, LifecycleHook.ON_CREATE.value
    elif group.on_init_complete is not None:
        yield group.name, group.node_type, LifecycleHook.ON_INIT_COMPLETE.value


def _in_file(problem: Problem, config: HyperPodConfig) -> Problem:
    """Return a problem where the file has it: users and own steps stand under their names, steps under `scripts`."""
    first, *rest = problem.path
    if first == "users":
        return replace(problem, path=("users", *_named(list(config.users), rest)))
    if first == "own_steps":
        names = list(config.scripts.own.steps) if config.scripts.own is not None else []
        return replace(problem, path=(*_OWN, *(["steps", *_named(names, rest)] if rest else ["folder"])))
    return replace(problem, path=(*_SKIP, *rest)) if first == "skip_steps" else problem


def _named(names: list[str], rest: list[PathPart]) -> list[PathPart]:
    """Return the path with its index as a name."""
    return [names[int(rest[0])], *rest[1:]] if rest else rest


def _check_mirror(downloads: DownloadsConfig) -> Iterator[Problem]:
    mirror = downloads.mirror
    if mirror is None:
        return
    if not mirror.startswith(_S3) or check_bucket_name(downloads.mirror_bucket):
        yield Problem(
            code=Code.DOWNLOADS_MIRROR,
            message="this is no place in S3",
            remedy="write `s3://`, the name of a bucket, and a prefix if the mirror is not the whole of it",
            path=("mirror",),
            value=mirror,
        )
        return
    for problem in check_key_prefix(downloads.mirror_prefix, Code.DOWNLOADS_MIRROR):
        yield replace(problem, path=("mirror",), value=mirror)


def _check_scripts(own: OwnStepsConfig) -> list[Problem]:
    steps = tuple(own.steps.values())
    try:
        scripts = own_scripts(own.folder_path, {step.script for step in steps})
    except NotADirectoryError:
        remedy = "give the path of a folder, beginning where the fleet file lies"
        problem = Problem(code=Code.STEP_SCRIPT, message="there is no such folder", remedy=remedy, value=own.folder)
        return [problem]
    return check_own_scripts(steps, scripts)


def _untold(config: HyperPodConfig) -> list[Problem]:
    scripts = config.scripts
    return check_nodes_told(
        {
            ("users",): bool(config.users),
            ("s3_mounts",): bool(config.s3_mounts),
            ("neuron",): config.neuron is not None,
            ("downloads",): config.downloads is not None,
            _SKIP: bool(scripts.skip_steps),
            _OWN: scripts.own is not None,
        },
        any_script=any(group.on_create or group.on_init_complete for group in config.groups.values()),
        scripts_lie_in_s3=scripts.prefix is not None,
        own_folder=scripts.folder is not None,
        steps=[_SKIP, _OWN],
    )
