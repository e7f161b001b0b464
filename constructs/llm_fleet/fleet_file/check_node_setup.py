"""What the nodes of a cluster of any kind are told, judged by the rules that judge the constructs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from llm_fleet.fleet_file.downloads import DownloadsConfig
from llm_fleet.fleet_file.node_setup import NodeSetupModel
from llm_fleet.fleet_file.own_steps import OwnStepsConfig
from llm_fleet.fleet_file.steps import StepsModel
from llm_fleet.named_files.named_file import lock_problems, locked_files, own_scripts
from llm_fleet.rules.buckets import check_bucket_name, check_key_prefix
from llm_fleet.rules.codes import Code
from llm_fleet.rules.node_setup import NodeOfGroup, NodeSettings, check_node_settings
from llm_fleet.rules.own_steps import check_neuron_pinned, check_own_scripts
from llm_fleet.rules.problem import PathPart, Problem

SKIP: tuple[PathPart, ...] = ("scripts", "skip_steps")
OWN: tuple[PathPart, ...] = ("scripts", "own")
_S3 = "s3://"


def check_node_setup(
    config: NodeSetupModel,
    steps: StepsModel,
    *,
    group_names: Sequence[str],
    instance_types: Sequence[str],
    mount_paths: Sequence[str],
    nodes: Sequence[NodeOfGroup],
) -> Iterator[Problem]:
    """Return what is wrong with what nodes are told, by attribute names below the cluster.

    The rest is of the cluster that they belong to, as in `NodeSettings`.
    """
    settings = NodeSettings(
        users=tuple(config.users.values()),
        s3_mounts=config.s3_mounts,
        neuron_release=config.neuron.release if config.neuron else None,
        skip_steps=steps.skip_steps,
        own_steps=steps.own_steps,
        group_names=group_names,
        instance_types=instance_types,
        mount_paths=mount_paths,
        nodes=nodes,
    )
    yield from (_in_file(problem, config, steps) for problem in check_node_settings(settings))
    if config.downloads is not None:
        yield from (problem.under("downloads") for problem in _check_mirror(config.downloads))


def check_node_setup_files(config: NodeSetupModel, steps: StepsModel) -> Iterator[Problem]:
    """Return what is wrong with the files that tell nodes something: own scripts and the lock file."""
    if steps.own is not None:
        found = (problem.under("own_steps") for problem in _check_scripts(steps.own))
        yield from (_in_file(problem, config, steps) for problem in found)
    unreadable = lock_problems(config.downloads.lock_path) if config.downloads is not None else []
    for problem in unreadable:
        # Lines within the lock file are none of the fleet file.
        inner = replace(problem, message=f"{problem.where}: {problem.message}" if problem.path else problem.message)
        yield replace(inner, path=("downloads", "lock"))
    if config.neuron is not None and config.neuron.install and not unreadable:
        files = locked_files(config.downloads.lock_path) if config.downloads is not None else None
        yield from (problem.under("neuron", "host") for problem in check_neuron_pinned(config.neuron.release, files))


def _in_file(problem: Problem, config: NodeSetupModel, steps: StepsModel) -> Problem:
    """Return a problem where the file has it: users and own steps stand under their names, steps under `scripts`."""
    first, *rest = problem.path
    if first == "users":
        return replace(problem, path=("users", *_named(list(config.users), rest)))
    if first == "own_steps":
        names = list(steps.own.steps) if steps.own is not None else []
        return replace(problem, path=(*OWN, *(["steps", *_named(names, rest)] if rest else ["folder"])))
    return replace(problem, path=(*SKIP, *rest)) if first == "skip_steps" else problem


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
