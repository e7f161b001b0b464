"""The cluster that a training runtime is for, and what nodes there carry for it: folder, cache, values for jobs."""

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
    """A file system that nodes share."""

    kind: str
    """`lustre`, or another one."""
    path: str
    groups: Sequence[str] | None = None
    """Names of the groups whose nodes mount it; `None` for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlace:
    """A cluster, as far as training asks."""

    groups: Sequence[NodeGroup]
    shared: Sequence[SharedFolder] = ()
    region: str | None = None
    """`None` or a token: nobody knows it yet."""
    neuron_release: str | None = None
    """What hosts carry, where it is told."""
    os: str | None = None
    """ParallelCluster's word for the operating system; `None` on HyperPod, whose image is AWS's choice."""
    source: str = "none"
    """Where downloads come from: `none`, `mirror` or `vendor`."""
    files: Sequence[Mapping[str, Any]] | None = ()
    """The files of the lock; `None` where they cannot be read, which is told elsewhere."""
    internet: bool = True
    """Whether nodes reach it; `True` also where nobody knows."""

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
        """Return `cluster`, which has `groups` of nodes that share the file systems `shared`."""
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
        """Those that jobs run on."""
        return [group for group in self.groups if group.role is NodeType.COMPUTE or is_unresolved(group.role)]


def facts_of_type(name: str) -> Instance | Ec2Instance | None:
    """Return what is known of an instance type, by its `ml.` name or EC2's; `None` for an unknown one."""
    return facts_of(name) or ec2_facts_of(name) or facts_of(f"ml.{name}")


def neuron_families(group: NodeGroup) -> list[str]:
    """Return the instance families of `group` that have Neuron devices, e.g. `trn1`."""
    known = [facts_of_type(name) for name in group.instance_types]
    return list(dict.fromkeys(facts.family for facts in known if facts and facts.accelerator == "neuron"))


def processes_of_type(name: str) -> int | None:
    """Return how many processes a node of type `name` has: one a NeuronCore or GPU, else 1; `None` for unknown."""
    facts = facts_of_type(name)
    if facts is None:
        return None
    if facts.accelerator == "neuron":
        known = neuron_instance(str(name).removeprefix("ml."))
        return known.cores if known is not None else None
    return facts.accelerators if facts.accelerator == "gpu" else 1


def check_compile_cache(cache: CompileCache | None, place: TrainingPlace) -> Iterator[Problem]:
    """Return why `cache` keeps nothing, or nothing is compiled into it."""
    if cache is None:
        return
    groups = place.compute_groups
    unknown = any(facts_of_type(name) is None for group in groups for name in group.instance_types)
    if not any(map(neuron_families, groups)) and not unknown:
        yield Problem(
            code=Code.TRAINING_CACHE,
            message="no compute group has Neuron devices, and nothing else compiles ahead",
            remedy="leave the compile cache out",
            path=("compile_cache",),
        )
        return
    for name, unit in (("max_age_days", "day"), ("max_gib", "GiB")):
        value: object = getattr(cache, name)
        if value is None or is_unresolved(value) or (type(value) is int and value >= 1):
            continue
        yield Problem(
            code=Code.TRAINING_CACHE,
            message="a cache like that would keep nothing",
            remedy=f"write 1 {unit} or more",
            path=("compile_cache", name),
            value=value,
        )


_BARE = re.compile(r"[^A-Za-z0-9._/+-]")
"""What no folder of ours has: it is written into scripts, units and configurations."""


def shared_by_all(place: TrainingPlace) -> list[SharedFolder]:
    """Return the file systems that the nodes of all compute groups mount, Lustre first."""
    names = {group.name for group in place.compute_groups}
    found = [each for each in place.shared if each.groups is None or names <= {*each.groups}]
    return sorted(found, key=lambda each: each.kind != "lustre")


def folder_of(runtime: TrainingRuntime, place: TrainingPlace) -> str | None:
    """Return the folder as told, else the usual one; `None` where no file system is shared by all."""
    if runtime.folder is not None:
        return runtime.folder if is_unresolved(runtime.folder) else normpath(runtime.folder)
    shared = shared_by_all(place)
    return f"{shared[0].path.rstrip('/')}/{usual_folder()}" if shared else None


def check_folder(runtime: TrainingRuntime, place: TrainingPlace) -> list[Problem]:
    """Return why the nodes of compute groups do not share the folder."""
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
            "this folder is on no file system that the nodes of all compute groups mount",
            f"write a folder below {shared[0].path}, or leave it out for {_usual(shared[0])}",
            allowed=f"a folder below {' or '.join(each.path for each in shared)}",
        )
    ]


def _below(folder: str, path: str) -> bool:
    """The mount itself is not it: it belongs to all."""
    return is_unresolved(path) or normpath(folder).startswith(f"{path.rstrip('/')}/")


def _usual(shared: SharedFolder) -> str:
    return f"{shared.path.rstrip('/')}/{usual_folder()}"


def _no_folder(folder: str, shared: list[SharedFolder]) -> Problem:
    return Problem(
        code=Code.TRAINING_FOLDER,
        message="this is no absolute path of a folder, without spaces and `..`",
        remedy=f"write e.g. {_usual(shared[0]) if shared else '/fsx/llm-fleet'}",
        path=("folder",),
        value=folder,
    )


def _not_shared(place: TrainingPlace) -> Problem:
    some = [each.path for each in place.shared]
    names = [group.name for group in place.compute_groups]
    missing = [name for name in names if not any(each.groups is None or name in each.groups for each in place.shared)]
    why = f": {', '.join(missing)} mount{'s' if len(missing) == 1 else ''} none" if some and missing else ""
    return Problem(
        code=Code.TRAINING_SHARED,
        message=f"environments and caches lie on storage that all compute nodes share, and there is none{why}",
        remedy="let every compute group mount the Lustre file system"
        if some
        else "give the cluster a Lustre file system, `storage: {fsx: …}` in a fleet file",
        path=("folder",),
    )


_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
_OURS = ("LLM_FLEET_",)
_MOST = 1024


def check_variables(variables: Mapping[str, str]) -> Iterator[Problem]:
    """Return which of `variables` no job can have, or none should."""
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
        return "this is no name of a variable", "write upper-case letters, digits and underscores, no digit first"
    if name.startswith(_OURS):
        return "variables of this beginning are llm-fleet's own", "take another name; what they tell has a key here"
    if SECRET_VARIABLE.search(name):
        return "a secret as a variable can be read by everybody on the nodes", _secret_remedy(name)
    if not isinstance(value, str):
        return "the value of a variable is text", f"write it in quotes: {name}: '{value}'"
    if not is_unresolved(value) and ("\n" in value or "\0" in value):
        return "the value of a variable is one line", "write it in one line, without NUL"
    return None


def _secret_remedy(name: str) -> str:
    if name.startswith(("HF_", "HUGGING")):
        return "keep it in Secrets Manager, and name the secret as `hub_token_secret`"
    return "keep it in Secrets Manager, and let jobs read it from there"


def check_processes(runtime: TrainingRuntime, place: TrainingPlace) -> Iterator[Problem]:
    """Return which numbers of processes are none, or are known by nobody."""
    names = [group.name for group in place.compute_groups]
    for name, count in runtime.processes.items():
        if name not in names:
            yield _processes(
                "jobs run on no group that is called so", did_you_mean(name, names, otherwise="name one"), name, name
            )
        elif not is_unresolved(count) and (type(count) is not int or not 1 <= count <= _MOST):
            yield _processes("no node has so many processes of a job", f"write 1 to {_MOST}", name, count)
    for group in place.compute_groups:
        counts = {processes_of_type(name) for name in group.instance_types} - {None}
        if group.name not in runtime.processes and len(counts) > 1:
            reported = " or ".join(map(str, sorted(each for each in counts if each is not None)))
            yield _processes(
                f"the instance types of {group.name} have {reported} NeuronCores or GPUs; a job needs one number",
                f"say it: processes: {{{group.name}: {min(each for each in counts if each is not None)}}}",
                group.name,
                None,
            )


def check_secret(arn: str | None, region: str | None) -> Iterator[Problem]:
    """Return why nodes in `region` cannot read the secret `arn`."""
    if arn is None or is_unresolved(arn):
        return
    if not re.fullmatch(slurm_database_facts().secret_arn, arn):
        remedy = "write it whole, as `aws secretsmanager describe-secret` shows it; never the token itself"
        # What stands there may be the token: it is not shown.
        yield _secret("this is no ARN of a secret", remedy, None)
        return
    place = arn.split(":")[3]
    if region is not None and not is_unresolved(region) and place != region:
        yield _secret(f"the secret is in {place}, the cluster in {region}", f"replicate it to {region}", arn)


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
