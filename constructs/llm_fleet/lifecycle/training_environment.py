"""An environment that training jobs run in."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.rules.inference.terms import ServerKind
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.training.forms import check_environment_forms
from llm_fleet.rules.training.terms import EnvironmentKind, EnvironmentUse


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
