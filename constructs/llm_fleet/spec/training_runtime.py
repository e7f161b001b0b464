"""Training runtime of a cluster's nodes: environments, environment variables, a compile cache."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from llm_fleet.catalog.training_environments import usual_cache_days
from llm_fleet.spec.model import OWN_KEY
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.references import SECRET, Secret
from llm_fleet.spec.spec import Spec
from llm_fleet.spec.values import Days, Gibibytes, Named, Several


class EnvironmentKind(StrEnum):
    """Kind of a training environment."""

    NEURON = "neuron"
    """Pinned packages of a Neuron release, in a virtual environment."""
    WHEELS = "wheels"
    """Packages of the user's choice, in a virtual environment."""
    CONTAINER = "container"
    """A container image, run with Enroot and Pyxis."""
    SMP = "smp"
    """The image of the SageMaker model parallel library, run with Enroot and Pyxis."""
    CONDA = "conda"
    """Conda archives, in their own prefix."""
    SERVER = "server"
    """The image of an inference server, run with Enroot and Pyxis, in which models are exported for it."""

    @property
    def on_node(self) -> str:
        """The kind that is written to nodes: `venv`, `container` or `conda`."""
        known = {"neuron": "venv", "wheels": "venv", "smp": "container", "server": "container"}
        return known.get(self.value, self.value)


class EnvironmentUse(StrEnum):
    """Use of a training environment: each group has at most one for each use."""

    JOBS = "jobs"
    """All stages of a run except its export."""
    EXPORT = "export"
    """The export of a run, which requires optimum-neuron, with the compiler of the server's image."""


_ALONE = (EnvironmentKind.NEURON.value, EnvironmentKind.SMP.value)
"""Kinds that need no other setting."""


class TrainingEnvironment(Spec):
    """An environment for jobs on shared storage, built once by one node and used by all.

    One of `NeuronEnvironment`, `WheelsEnvironment`, `ContainerEnvironment`, `SmpEnvironment`, `CondaEnvironment` and
    `ServerEnvironment`. Its name on the nodes contains a hash of all inputs, so a change builds a new one next to the
    old one, and no job uses an incomplete environment. The cluster checks all its environments together.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "group": "write `groups: [NAME]`",
        "partition": "write `groups: [NAME]`",
        "python_version": "write `python`",
        "requirements": "write `packages: [NAME==VERSION]`; `llm-fleet mirror lock --requirements` pins them",
        "pip": "write `packages: [NAME==VERSION]`; `llm-fleet mirror lock --requirements` pins them",
        "venv": "write `kind: wheels`",
        "uri": "write `image`",
        "lock": "write `downloads: {lock: …}` of the cluster: one lock file lists all files that nodes download",
    }

    if TYPE_CHECKING:
        kind: EnvironmentKind = EnvironmentKind.NEURON
        """Kind of the environment: each class has its own value."""
    name: Annotated[str | None, Field(alias=OWN_KEY)] = None
    """Readable part of its name on the nodes. Default: derived from its content."""
    groups: Several[str] | None = None
    """Names of the groups or queues that use it. Default: all compute groups that it is compatible with."""
    use: EnvironmentUse | None = None
    """`jobs`, or `export` for the environment in which `export` of a job runs; a group has at most one of each.
    Default: `jobs`; `export` for `kind: server`."""

    @property
    def used_for(self) -> EnvironmentUse:
        """`use`, with its default."""
        usual = EnvironmentUse.EXPORT if self.kind is EnvironmentKind.SERVER else EnvironmentUse.JOBS
        return self.use or usual

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Read the name of a kind that needs no other setting as an environment."""
        return {"kind": written} if isinstance(written, str) and written in _ALONE else written

    @classmethod
    def shorthand_schemas(cls) -> list[dict[str, Any]]:
        """Offer the name of such a kind instead of the mapping."""
        return [{"enum": list(_ALONE)}]


class NeuronEnvironment(TrainingEnvironment):
    """The pinned packages of a Neuron release, in a virtual environment. All must be in the lock file of
    `downloads`."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[EnvironmentKind.NEURON], Field(examples=["neuron"])
    ] = EnvironmentKind.NEURON
    """Kind of the environment."""
    stack: str | None = None
    """`nxd`, `nxdt`, `torchneuron` or `nemo-megatron`. Default: `nxd` on trn1, `torchneuron` on trn2."""
    release: str | None = None
    """The Neuron release, in quotes. Default: `"2.28.1"` for `nxd`, `"2.33.0"` for `torchneuron`."""
    python: str | None = None
    """Version of Python, in quotes. Default: `"3.10"` until 2.29, `"3.12"` from 2.30 on."""
    packages: Several[str] = ()
    """Additional packages, each `name` or `name==version`. Default: none."""


class WheelsEnvironment(TrainingEnvironment):
    """Packages of your choice, in a virtual environment. All must be in the lock file of `downloads`."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[EnvironmentKind.WHEELS], Field(examples=["wheels"])
    ] = EnvironmentKind.WHEELS
    """Kind of the environment."""
    packages: Annotated[Several[str], Field(examples=["[torch==2.13.0, transformers]"])]
    """Packages, each `name` or `name==version`; dependencies are installed as well."""
    python: Annotated[str, Field(examples=["3.11", '"3.11"'])]
    """Version of Python, in quotes, e.g. `"3.11"`; it must be installed on the nodes."""


class ContainerEnvironment(TrainingEnvironment):
    """A container image, imported once by Enroot and run by Pyxis."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[EnvironmentKind.CONTAINER], Field(examples=["container"])
    ] = EnvironmentKind.CONTAINER
    """Kind of the environment."""
    image: Annotated[str, Field(examples=["111122223333.dkr.ecr.us-west-2.amazonaws.com/training:2026-11-20"])]
    """The image, `<registry>/<repository>:<tag>`; the tag must never be moved to another image."""


class SmpEnvironment(TrainingEnvironment):
    """The image of the SageMaker model parallel library v2 in the fleet's region, run with Enroot and Pyxis."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[EnvironmentKind.SMP], Field(examples=["smp"])
    ] = EnvironmentKind.SMP
    """Kind of the environment."""
    release: Annotated[str | None, Field(alias="version")] = None
    """Version of the library, in quotes, e.g. `"2.5.1"`. Default: the newest in the catalog."""


class CondaEnvironment(TrainingEnvironment):
    """Conda archives in their own prefix. All must be in the lock file of `downloads`, as `kind: archive`."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[EnvironmentKind.CONDA], Field(examples=["conda"])
    ] = EnvironmentKind.CONDA
    """Kind of the environment."""
    packages: Annotated[Several[str], Field(examples=["[python==3.11.9, pytorch==2.5.1]"])]
    """Archives, each `name` or `name==version`; dependencies are installed as well."""
    program: Annotated[str, Field(examples=["/opt/conda/bin/conda"])]
    """Program that creates the prefix, by name or path on the nodes."""


class ServerEnvironment(TrainingEnvironment):
    """The image of a service of this file, in the fleet's region, in which jobs export models for the service.

    It contains optimum-neuron, and the only compiler whose models the server can load. For a service with an image of
    your own, use a `ContainerEnvironment` with `use: export`.
    """

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[EnvironmentKind.SERVER], Field(examples=["server"])
    ] = EnvironmentKind.SERVER
    """Kind of the environment."""
    server_kind: Annotated[ServerKind, Field(alias="server", examples=["tgi"])]
    """The server: `tgi` or `hugging-face-vllm`; `aws-vllm` and `aws-vllm-neuron` compile models themselves."""


AnyEnvironment = Annotated[
    NeuronEnvironment
    | WheelsEnvironment
    | ContainerEnvironment
    | SmpEnvironment
    | CondaEnvironment
    | ServerEnvironment,
    Field(discriminator="kind"),
]
"""A training environment; its `kind` decides the class."""
PackagedEnvironment = NeuronEnvironment | WheelsEnvironment | CondaEnvironment
"""An environment that is installed from the lock file of `downloads`."""


class CompileCache(Spec):
    """Retention of graphs of the Neuron compiler on shared storage, for all jobs.

    The compiler itself never removes graphs. A graph that is removed too early is compiled again, for up to an hour.
    """

    max_age_days: Annotated[Days, Field(alias="max_age")] = usual_cache_days()
    """Time without use after which a graph is removed. Default: `30 days`."""
    max_gib: Annotated[Gibibytes | None, Field(alias="max_size")] = None
    """Maximum size of all graphs; above it, those with the longest time without use are removed. Default: no limit."""


class TrainingRuntime(Spec):
    """Training runtime on the nodes: environments, variables of the network fabric, a compile cache, batch files.

    It is on storage that all compute nodes share, and is created by the first node that starts.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "environment": "write `environments: {NAME: {kind: …}}`",
        "env": "write `variables` for environment variables of jobs, `environments` for training environments",
        "cache": "write `compile_cache`",
        "hf_token": "write `hub_token_secret`: the ARN of a secret, never the token itself",
        "token": "write `hub_token_secret`: the ARN of a secret, never the token itself",
        "path": "write `folder`",
        "hub_token_secret_arn": "write `hub_token_secret`",
    }

    environments: Named[AnyEnvironment] = ()
    """Training environments, by name; each group has at most one for jobs and one for exports. Default: none; jobs
    bring their own."""
    folder: str | None = None
    """Folder of the training runtime. Default: `llm-fleet` on the Lustre file system, otherwise on the file system of
    the home directories."""
    compile_cache: CompileCache | None = None
    """Retention of compiled graphs. Default: `30 days` without use, if a group has Neuron devices."""
    variables: Mapping[str, str] = {}
    """Environment variables of jobs, in quotes; they override or extend those of the network fabric. Default: only
    those of the fabric."""
    processes: Mapping[str, int] = {}
    """Processes of a job on each node, by group or queue. Default: one for each NeuronCore or GPU, otherwise one for
    each node."""
    hub_token_secret: Secret | None = None
    """ARN of the Secrets Manager secret with a Hugging Face Hub token, which jobs can read. Default: none."""

    @property
    def hub_token_secret_arn(self) -> str | None:
        """The ARN of `hub_token_secret`; may be a token."""
        return None if self.hub_token_secret is None else SECRET.name_of(self.hub_token_secret)

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Read the name of a kind of environment that needs no other setting as a runtime with one environment."""
        alone = isinstance(written, str) and written in _ALONE
        return {"environments": {written: {"kind": written}}} if alone else written

    @classmethod
    def shorthand_schemas(cls) -> list[dict[str, Any]]:
        """Offer the name of such a kind instead of the mapping."""
        return [{"enum": list(_ALONE)}]


def packages_of(environment: TrainingEnvironment) -> Sequence[str]:
    """Return the packages of `environment`; none for an image."""
    return environment.packages if isinstance(environment, PackagedEnvironment) else ()
