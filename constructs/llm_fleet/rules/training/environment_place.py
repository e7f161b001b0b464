"""The cluster of a training runtime, and the rules of its folder, compile cache, processes, variables and secret."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import normpath
from typing import Any

from llm_fleet.catalog.ec2_instances import Ec2Instance, ec2_facts_of
from llm_fleet.catalog.hyperpod import Instance, facts_of
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.catalog.nodes import slurm_database_facts
from llm_fleet.catalog.training_environments import usual_folder
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.rules.terms import NodeType
from llm_fleet.rules.values import SECRET_VARIABLE, did_you_mean
from llm_fleet.spec.cluster import ClusterSpec, NodeGroup
from llm_fleet.spec.training_runtime import CompileCache, TrainingRuntime


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFolder:
    """A shared file system of the nodes."""

    kind: str
    """`lustre`, or another kind."""
    path: str
    groups: Sequence[str] | None = None
    """Names of the groups whose nodes mount it; `None` for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlace:
    """A cluster, as the rules of training need it."""

    groups: Sequence[NodeGroup]
    shared: Sequence[SharedFolder] = ()
    region: str | None = None
    """`None` or a token when it is resolved at deployment."""
    neuron_release: str | None = None
    """The release on the hosts; `None` when the cluster does not set it."""
    os: str | None = None
    """ParallelCluster's name of the operating system; `None` on HyperPod, where AWS chooses the image."""
    source: str = "none"
    """Where downloads come from: `none`, `mirror` or `vendor`."""
    files: Sequence[Mapping[str, Any]] | None = ()
    """The files in the lock file; `None` when it cannot be read, which another rule reports."""
    internet: bool = True
    """Whether nodes have internet access; `True` also when unknown."""

    @classmethod
    def of(
        cls,
        cluster: ClusterSpec,
        groups: Sequence[NodeGroup],
        shared: Sequence[SharedFolder],
        *,
        files: Sequence[Mapping[str, Any]] | None,
        region: str | None,
        os: str | None = None,
        internet: bool = True,
    ) -> "TrainingPlace":
        """Return `cluster` with its node groups `groups` and their shared file systems `shared`."""
        return cls(
            groups=groups,
            shared=shared,
            region=region,
            neuron_release=None if cluster.neuron is None else cluster.neuron.release,
            os=os,
            source="none" if cluster.downloads is None else cluster.downloads.source,
            files=files,
            internet=internet,
        )

    @property
    def compute_groups(self) -> list[NodeGroup]:
        """The groups on which jobs run."""
        return [group for group in self.groups if group.role is NodeType.COMPUTE or is_unresolved(group.role)]


def facts_of_type(name: str) -> Instance | Ec2Instance | None:
    """Return the catalog's facts of an instance type, by its `ml.` or EC2 name; `None` for an unknown one."""
    return facts_of(name) or ec2_facts_of(name) or facts_of(f"ml.{name}")


def neuron_families(group: NodeGroup) -> list[str]:
    """Return the instance families of `group` that have Neuron devices, e.g. `trn1`."""
    known = [facts_of_type(name) for name in group.instance_types]
    return list(dict.fromkeys(facts.family for facts in known if facts and facts.accelerator == "neuron"))


def processes_of_type(name: str) -> int | None:
    """Return the processes per node of type `name`: one per NeuronCore or GPU, or else 1; `None` when unknown."""
    facts = facts_of_type(name)
    if facts is None:
        return None
    if facts.accelerator == "neuron":
        known = neuron_instance(str(name).removeprefix("ml."))
        return known.cores if known is not None else None
    return facts.accelerators if facts.accelerator == "gpu" else 1


def check_compile_cache(cache: CompileCache | None, place: TrainingPlace) -> Iterator[Problem]:
    """Return a problem when `cache` could keep nothing, or when no node compiles anything."""
    if cache is None:
        return
    groups = place.compute_groups
    unknown = any(facts_of_type(name) is None for group in groups for name in group.instance_types)
    if not any(map(neuron_families, groups)) and not unknown:
        yield Problem(
            code=Code.TRAINING_CACHE,
            message="`compile_cache` has no effect: no compute group has Neuron devices",
            remedy="remove the compile cache",
            path=("compile_cache",),
        )
        return
    for name, unit in (("max_age_days", "day"), ("max_gib", "GiB")):
        value: object = getattr(cache, name)
        if value is None or is_unresolved(value) or (type(value) is int and value >= 1):
            continue
        yield Problem(
            code=Code.TRAINING_CACHE,
            message="a cache with this limit would keep nothing",
            remedy=f"write at least 1 {unit}",
            path=("compile_cache", name),
            value=value,
        )


_BARE = re.compile(r"[^A-Za-z0-9._/+-]")
"""Characters that are not allowed in the folder: it is written to scripts, systemd units and configuration files."""


def shared_by_all(place: TrainingPlace) -> list[SharedFolder]:
    """Return the file systems that the nodes of all compute groups mount, Lustre first."""
    names = {group.name for group in place.compute_groups}
    found = [each for each in place.shared if each.groups is None or names <= {*each.groups}]
    return sorted(found, key=lambda each: each.kind != "lustre")


def folder_of(runtime: TrainingRuntime, place: TrainingPlace) -> str | None:
    """Return the folder as set, or the default one; `None` without a file system that all compute groups mount."""
    if runtime.folder is not None:
        return runtime.folder if is_unresolved(runtime.folder) else normpath(runtime.folder)
    shared = shared_by_all(place)
    return f"{shared[0].path.rstrip('/')}/{usual_folder()}" if shared else None


def check_folder(runtime: TrainingRuntime, place: TrainingPlace) -> list[Problem]:
    """Return a problem unless the nodes of all compute groups share the folder."""
    shared = shared_by_all(place)
    folder = runtime.folder
    if folder is None:
        return [] if shared or not place.compute_groups else [_not_shared(place)]
    if is_unresolved(folder):
        return []
    if not folder.startswith("/") or normpath(folder) == "/" or ".." in folder.split("/") or _BARE.search(folder):
        return [_no_folder(folder, shared)]
    if any(_below(folder, each.path) for each in shared):
        return []
    if not shared:
        return [_not_shared(place)]
    return [
        runtime.wrong(
            "folder",
            Code.TRAINING_FOLDER,
            "this folder is not on a file system that the nodes of all compute groups mount",
            f"write a folder below {shared[0].path}, or remove it to use {_usual(shared[0])}",
            allowed=f"a folder below {' or '.join(each.path for each in shared)}",
        )
    ]


def _below(folder: str, path: str) -> bool:
    """The mount point itself is not allowed."""
    return is_unresolved(path) or normpath(folder).startswith(f"{path.rstrip('/')}/")


def _usual(shared: SharedFolder) -> str:
    return f"{shared.path.rstrip('/')}/{usual_folder()}"


def _no_folder(folder: str, shared: list[SharedFolder]) -> Problem:
    return Problem(
        code=Code.TRAINING_FOLDER,
        message="this is not an absolute folder path without spaces and `..`",
        remedy=f"write e.g. {_usual(shared[0]) if shared else '/fsx/llm-fleet'}",
        path=("folder",),
        value=folder,
    )


def _not_shared(place: TrainingPlace) -> Problem:
    some = [each.path for each in place.shared]
    names = [group.name for group in place.compute_groups]
    missing = [name for name in names if not any(each.groups is None or name in each.groups for each in place.shared)]
    why = f": {', '.join(missing)} mount{'s' if len(missing) == 1 else ''} no file system" if some and missing else ""
    return Problem(
        code=Code.TRAINING_SHARED,
        message=f"the training runtime needs a file system that all compute nodes mount{why}",
        remedy="mount the Lustre file system in every compute group"
        if some
        else "give the cluster a Lustre file system, `storage: {fsx: …}` in a fleet file",
        path=("folder",),
    )


_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
_OURS = ("LLM_FLEET_",)
_MOST = 1024


def check_variables(variables: Mapping[str, str]) -> Iterator[Problem]:
    """Return a problem for each of `variables` that is invalid, reserved or a secret."""
    for name, value in variables.items():
        found = _variable(name, value)
        if found is not None:
            message, remedy = found
            yield Problem(
                code=Code.TRAINING_VARIABLE,
                message=message,
                remedy=remedy,
                path=("variables", name),
                value=None if SECRET_VARIABLE.search(name) else value,
            )


def _variable(name: str, value: object) -> tuple[str, str] | None:
    if not _NAME.fullmatch(name):
        return (
            "this is not a valid name of an environment variable",
            "write upper-case letters, digits and underscores, no digit first",
        )
    if name.startswith(_OURS):
        return "names that begin with LLM_FLEET_ are reserved", "write another name, or use the key of this setting"
    if SECRET_VARIABLE.search(name):
        return "a secret must not be an environment variable: all users of the nodes could read it", _secret_remedy(
            name
        )
    if not isinstance(value, str):
        return "the value of a variable must be text", f"write it in quotes: {name}: '{value}'"
    if not is_unresolved(value) and ("\n" in value or "\0" in value):
        return "the value of a variable must be a single line", "write it in one line, without NUL characters"
    return None


def _secret_remedy(name: str) -> str:
    if name.startswith(("HF_", "HUGGING")):
        return "store it in Secrets Manager, and set `hub_token_secret` to the secret's ARN"
    return "store it in Secrets Manager, and read it from there in the job"


def check_processes(runtime: TrainingRuntime, place: TrainingPlace) -> Iterator[Problem]:
    """Return a problem for each invalid number of processes, and for groups whose number must be set."""
    names = [group.name for group in place.compute_groups]
    for name, count in runtime.processes.items():
        if name not in names:
            yield _processes(
                "the cluster has no compute group with this name",
                did_you_mean(name, names, otherwise="write a compute group"),
                name,
                name,
            )
        elif not is_unresolved(count) and (type(count) is not int or not 1 <= count <= _MOST):
            yield _processes(
                f"`processes` must be a whole number from 1 to {_MOST}", f"write 1 to {_MOST}", name, count
            )
    for group in place.compute_groups:
        counts = {processes_of_type(name) for name in group.instance_types} - {None}
        if group.name not in runtime.processes and len(counts) > 1:
            numbers = " or ".join(map(str, sorted(each for each in counts if each is not None)))
            yield _processes(
                f"the number of processes per node is required: the instance types of {group.name} have {numbers} "
                "NeuronCores or GPUs",
                f"write processes: {{{group.name}: {min(each for each in counts if each is not None)}}}",
                group.name,
                None,
            )


def check_secret(arn: str | None, region: str | None) -> Iterator[Problem]:
    """Return why nodes in `region` cannot read the secret `arn`."""
    if arn is None or is_unresolved(arn):
        return
    if not re.fullmatch(slurm_database_facts().secret_arn, arn):
        remedy = "write the complete ARN, as `aws secretsmanager describe-secret` shows it; never the token itself"
        # The value may be the token itself, so it is not shown.
        yield _secret("this is not the ARN of a secret", remedy, None)
        return
    place = arn.split(":")[3]
    if region is not None and not is_unresolved(region) and place != region:
        yield _secret(
            f"the secret is in {place}, and the cluster in {region}", f"replicate the secret to {region}", arn
        )


def _processes(message: str, remedy: str, group: str, value: object) -> Problem:
    return Problem(code=Code.TRAINING_PROCESSES, message=message, remedy=remedy, path=("processes", group), value=value)


def _secret(message: str, remedy: str, value: str | None) -> Problem:
    return Problem(
        code=Code.TRAINING_SECRET,
        message=message,
        remedy=remedy,
        path=("hub_token_secret",),
        value=value,
        allowed="arn:<partition>:secretsmanager:<region>:<account>:secret:<name>",
    )
