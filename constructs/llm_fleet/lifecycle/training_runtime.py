"""What training needs on nodes: its software, where that lies, and how nodes read of it."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from aws_cdk import aws_secretsmanager as secretsmanager

from llm_fleet.catalog.training_environments import usual_cache_days
from llm_fleet.lifecycle.downloads import Downloads
from llm_fleet.named_files.named_file import lock_problems, locked_files
from llm_fleet.rules.manifest import ManifestLike
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.terms import NodeType
from llm_fleet.rules.training.environment import (
    EnvironmentKind,
    EnvironmentUse,
    check_environment_forms,
    check_runtime_forms,
)
from llm_fleet.rules.training.environment_place import (
    SharedFolder,
    TrainingGroup,
    TrainingPlace,
    folder_of,
    neuron_families,
)
from llm_fleet.rules.training.groups import plan_fabrics
from llm_fleet.rules.training.image import ecr_repository, enroot_image, image_of
from llm_fleet.rules.training.packages import PlannedEnvironment, find, plan
from llm_fleet.spec.model_server import ServerKind


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileCache:
    """How long the graphs that Neuron's compiler has made are kept on shared storage, for all jobs.

    The compiler itself never removes any. A graph that is removed too early is compiled again, for up to an hour.
    """

    max_age_days: int = 30
    """Days that a graph may lie unused before it is removed."""
    max_gib: int | None = None
    """What all may take together, in GiB: above it, those that lay unused longest go. Default: no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingEnvironment:
    """What jobs run in: on shared storage, built once by one node and used by all. Make one with `neuron`, `wheels`,
    `container`, `smp`, `conda` or `server`.

    Its name on the nodes has a hash of all that determines its content, so that a change makes a new one beside the
    old, and no job ever sees half of either. The cluster checks all of it together; here only types are looked at.

    Every maker takes `name`, the readable part of that name, and `groups`, the names of the compute groups that it is
    for. Defaults: a name made of what is in it; all compute groups that it fits. Those that take `use` may be for the
    export of runs, which needs optimum-neuron; a group has one environment for its jobs and one for their export.
    """

    kind: EnvironmentKind
    use: EnvironmentUse | None = None
    label: str | None = None
    groups: Sequence[str] | None = None
    stack: str | None = None
    release: str | None = None
    python: str | None = None
    packages: Sequence[str] = ()
    image: str | None = None
    program: str | None = None
    server_kind: ServerKind | None = None

    def __post_init__(self) -> None:
        """Raise `FleetError` for values of the wrong type."""
        raise_problems(check_environment_forms(self), subject="TrainingEnvironment")

    @classmethod
    def neuron(
        cls,
        *,
        stack: str | None = None,
        release: str | None = None,
        python: str | None = None,
        packages: Sequence[str] = (),
        name: str | None = None,
        groups: Sequence[str] | None = None,
        use: EnvironmentUse | None = None,
    ) -> "TrainingEnvironment":
        """The pinned packages of one Neuron release, in a virtual environment.

        `stack`: `nxd` (PyTorch/XLA with NxD Core), `nxdt` (NxD Training), `torchneuron` (native PyTorch) or
        `nemo-megatron`. `release`: e.g. `2.28.1`. `python`: e.g. `3.10`. Defaults: what the catalog takes for the
        instance family. `packages`: further ones, as of `wheels`. All of them must be in the lock file of `downloads`.
        """
        return cls(
            kind=EnvironmentKind.NEURON,
            stack=stack,
            release=release,
            python=python,
            packages=packages,
            label=name,
            groups=groups,
            use=use,
        )

    @classmethod
    def wheels(
        cls,
        *,
        name: str,
        packages: Sequence[str],
        python: str,
        groups: Sequence[str] | None = None,
        use: EnvironmentUse | None = None,
    ) -> "TrainingEnvironment":
        """Packages of your choice, each `name` or `name==version`, with all they need, in a virtual environment.

        `python`: the version that it is made with, e.g. `3.11`; nodes must have `python3.11`. Every package must be in
        the lock file of `downloads`.
        """
        return cls(kind=EnvironmentKind.WHEELS, label=name, packages=packages, python=python, groups=groups, use=use)

    @classmethod
    def container(
        cls,
        *,
        image: str,
        name: str | None = None,
        groups: Sequence[str] | None = None,
        use: EnvironmentUse | None = None,
    ) -> "TrainingEnvironment":
        """A container image: imported once by Enroot and run by Pyxis.

        `image`: `<registry>/<repository>:<tag>`, or as Enroot writes it, `docker://<registry>#<repository>:<tag>`. The
        tag must be one that is never moved.
        """
        return cls(kind=EnvironmentKind.CONTAINER, image=image, label=name, groups=groups, use=use)

    @classmethod
    def smp(
        cls, *, version: str | None = None, name: str | None = None, groups: Sequence[str] | None = None
    ) -> "TrainingEnvironment":
        """The image of the SageMaker model parallel library v2 in the cluster's region.

        `version`: of the library, e.g. `2.5.1`. Default: the newest that the catalog knows.
        """
        return cls(kind=EnvironmentKind.SMP, release=version, label=name, groups=groups)

    @classmethod
    def conda(
        cls,
        *,
        name: str,
        packages: Sequence[str],
        program: str,
        groups: Sequence[str] | None = None,
        use: EnvironmentUse | None = None,
    ) -> "TrainingEnvironment":
        """Archives of conda in a prefix of their own, with all they need, each `name` or `name==version`.

        `program`: what makes it, by name or path on the nodes, e.g. `/opt/conda/bin/conda`. Every archive must be in
        the lock file of `downloads`, from a conda channel: `kind` is `archive` there.
        """
        return cls(kind=EnvironmentKind.CONDA, label=name, packages=packages, program=program, groups=groups, use=use)

    @classmethod
    def server(
        cls, *, kind: ServerKind, name: str | None = None, groups: Sequence[str] | None = None
    ) -> "TrainingEnvironment":
        """The image that an inference service of this `kind` runs in the cluster's region, for the export of runs.

        It has optimum-neuron, and the one compiler whose models the server takes. `TGI` or `HUGGING_FACE_VLLM`: the
        others compile what they find. For a service with an image of its own: `container`, with `use`.
        """
        return cls(kind=EnvironmentKind.SERVER, server_kind=kind, label=name, groups=groups)


class Told(ManifestLike, Protocol):
    """A manifest, with what only training asks of it."""

    @property
    def region(self) -> str:
        """Region of the cluster; may be a token."""
        ...

    @property
    def downloads(self) -> Downloads:
        """What nodes may fetch."""
        ...

    @property
    def shared_folders(self) -> Sequence[SharedFolder]:
        """Further file systems that all nodes share."""
        ...


def training_place(manifest: Told) -> TrainingPlace:
    """Return the place that `manifest` tells of; whether nodes reach the internet, and their system, it does not."""
    return TrainingPlace(
        groups=[_group(group.name, group.role, group.instance_types, manifest) for group in manifest.groups],
        shared=[
            *(SharedFolder(kind=mount.kind, path=mount.mount_path) for mount in manifest.mounts),
            *manifest.shared_folders,
        ],
        region=manifest.region,
        neuron_release=manifest.neuron.release if manifest.neuron is not None else None,
        source=manifest.downloads.source,
        files=files_of(manifest.downloads.lock),
    )


def files_of(lock: Path | None) -> list[dict[str, Any]] | None:
    """Return the files of `lock`; none without one, and `None` of one with a mistake, which is told elsewhere."""
    if lock is None:
        return []
    return None if lock_problems(lock) else locked_files(lock)


def _group(name: str, role: NodeType, instance_types: Sequence[str], manifest: Told) -> TrainingGroup:
    mounting = [mount.mount_path for mount in manifest.mounts if mount.groups is None or name in mount.groups]
    return TrainingGroup(
        name=name,
        role=role,
        instance_types=instance_types,
        mounts=frozenset([*mounting, *(folder.path for folder in manifest.shared_folders)]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRuntime:
    """What training jobs find on a cluster's nodes: environments, the fabric's variables, a compile cache, batch files.

    It lies on storage that all compute nodes share, and is laid out by the first node that comes up.
    """

    environments: Sequence[TrainingEnvironment] = ()
    """What jobs run in; one a compute group at most, and one for exports. Default: none, jobs bring their own."""
    folder: str | None = None
    """Where it lies on the nodes. Default: `llm-fleet` on the Lustre file system that all compute groups mount, else
    on the file system of the home directories."""
    compile_cache: CompileCache | None = None
    """How long compiled graphs are kept. Default: 30 days unused, where a group has Neuron devices."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables of jobs, in place of the fabric's or beside them. Default: the fabric's alone."""
    processes: Mapping[str, int] = field(default_factory=dict[str, int])
    """Processes of a job on each node, by the name of its group. Default: one a NeuronCore or GPU, else one a node."""
    hub_token_secret: secretsmanager.ISecret | None = None
    """Secret whose text is a token of the Hugging Face Hub, for gated models: nodes may read it, jobs do. Default:
    none."""

    def __post_init__(self) -> None:
        """Raise `FleetError` for values of the wrong type."""
        raise_problems(check_runtime_forms(self), subject="TrainingRuntime")

    @property
    def hub_token_secret_arn(self) -> str | None:
        """The ARN of `hub_token_secret`; may be a token."""
        return None if self.hub_token_secret is None else self.hub_token_secret.secret_arn


def image_repositories(runtime: TrainingRuntime | None, *, region: str | None, partition: str) -> tuple[str, ...]:
    """Return the ARNs of the private ECR repositories that the images of `runtime` are in, each once."""
    place = TrainingPlace(groups=(), region=region)
    images = [image_of(plan(each, place), place) for each in (runtime.environments if runtime else ())]
    found = [ecr_repository(image, partition) for image in images if image is not None]
    return tuple(dict.fromkeys(arn for arn in found if arn is not None))


_HASH_LENGTH = 12
_TOKEN = re.compile(r"\$\{Token\[[^\]]*\]\}")


def render_training(runtime: TrainingRuntime | None, place: TrainingPlace) -> dict[str, Any] | None:
    """Return `runtime`, of which the rules have found nothing wrong, as nodes of `place` are told it."""
    folder = None if runtime is None else folder_of(runtime, place)
    if runtime is None or folder is None:
        return None
    environments = [plan(environment, place) for environment in runtime.environments]
    return {
        "folder": folder,
        "environments": [_environment(each, place) for each in environments],
        "fabrics": [
            {
                "name": fabric.name,
                "groups": list(fabric.groups),
                "processes": fabric.processes,
                "variables": [{"name": name, "value": value} for name, value in fabric.variables.items()],
            }
            for fabric in plan_fabrics(runtime, place, environments)
        ],
        "compile_cache": _compile_cache(runtime, place, folder),
        "hub_token_secret_arn": runtime.hub_token_secret_arn,
    }


def _environment(planned: PlannedEnvironment, place: TrainingPlace) -> dict[str, Any]:
    given = planned.given
    found = find(planned.wanted, place.files or (), kind=planned.archive_kind)
    image = image_of(planned, place)
    rendered = {
        "kind": planned.kind.on_node,
        "program": f"python{planned.python}" if planned.kind.on_node == "venv" else given.program,
        "packages": [{"name": name, "version": version} for name, version in found.packages],
        "image": None if image is None else enroot_image(image),
    }
    checksums = sorted({f"{file['name']} {file['version']} {file['sha256']}" for file in found.files})
    # What only the deployment knows of an image is its registry, and not what is in it.
    content = {**rendered, "image": None if image is None else _TOKEN.sub("…", image), "checksums": checksums}
    return {
        "name": f"{_stem(planned, image)}-{_hash(content)}",
        "use": planned.use.value,
        "groups": list(planned.groups),
        **rendered,
    }


def _hash(content: dict[str, Any]) -> str:
    """Return what tells two environments apart: all that determines their content, and not whom they are for."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_HASH_LENGTH]


def _stem(planned: PlannedEnvironment, image: str | None) -> str:
    """Return the readable part of the name: as told, else what is in it."""
    if planned.given.label is not None:
        return planned.given.label
    if planned.kind is EnvironmentKind.NEURON:
        return f"{planned.stack}-{planned.release}"
    if planned.kind is EnvironmentKind.SMP:
        return f"smp-{planned.release}"
    if planned.given.server_kind is not None:
        return planned.given.server_kind
    last = (image or planned.kind.value).rsplit("/", 1)[-1]
    return re.sub(r"[^a-z0-9._-]+", "-", last.lower()).strip("-._") or planned.kind.value


def _compile_cache(runtime: TrainingRuntime, place: TrainingPlace, folder: str) -> dict[str, Any] | None:
    """Return it where a group has Neuron devices: nothing else compiles ahead."""
    if not any(neuron_families(group) for group in place.compute_groups):
        return None
    given = runtime.compile_cache
    return {
        "folder": f"{folder}/compile-cache",
        "max_age_days": usual_cache_days() if given is None else given.max_age_days,
        "max_gib": None if given is None else given.max_gib,
    }
