"""What training jobs find on a cluster's nodes: environments, variables, a compile cache."""

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
    """What a training environment is made of."""

    NEURON = "neuron"
    """Pinned packages of one Neuron release, in a virtual environment."""
    WHEELS = "wheels"
    """Packages of the user's choice, in a virtual environment."""
    CONTAINER = "container"
    """A container image, run by Enroot and Pyxis."""
    SMP = "smp"
    """The image of the SageMaker model parallel library, likewise."""
    CONDA = "conda"
    """Archives of conda, in a prefix."""
    SERVER = "server"
    """The image of an inference server, run by Enroot and Pyxis: what its models are exported in."""

    @property
    def on_node(self) -> str:
        """The kind that nodes know: `venv`, `container` or `conda`."""
        known = {"neuron": "venv", "wheels": "venv", "smp": "container", "server": "container"}
        return known.get(self.value, self.value)


class EnvironmentUse(StrEnum):
    """What a training environment is for: a group has one of each at most."""

    JOBS = "jobs"
    """All stages of a run, but for its export."""
    EXPORT = "export"
    """The export of a run, which takes optimum-neuron, with the compiler of the server's image."""


_ALONE = (EnvironmentKind.NEURON.value, EnvironmentKind.SMP.value)
"""Kinds whose word is enough."""


class TrainingEnvironment(Spec):
    """An environment that jobs run in: on shared storage, built once by one node and used by all.

    One of `NeuronEnvironment`, `WheelsEnvironment`, `ContainerEnvironment`, `SmpEnvironment`, `CondaEnvironment` and
    `ServerEnvironment`. Its name on the nodes has a hash of all that determines its content, so that a change makes a
    new one beside the old, and no job ever sees half of either. The cluster checks all of it together.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "group": "write `groups: [NAME]`",
        "partition": "write `groups: [NAME]`",
        "python_version": "write `python`",
        "requirements": "write `packages: [NAME==VERSION]`; `llm-fleet mirror lock --requirements` pins them",
        "pip": "write `packages: [NAME==VERSION]`; `llm-fleet mirror lock --requirements` pins them",
        "venv": "write `kind: wheels`",
        "uri": "write `image`",
        "lock": "write `downloads: {lock: …}` of the cluster: one lock file is for all that nodes fetch",
    }

    if TYPE_CHECKING:
        kind: EnvironmentKind = EnvironmentKind.NEURON
        """What it is made of: each class has its own word."""
    name: Annotated[str | None, Field(alias=OWN_KEY)] = None
    """The readable part of its name on the nodes. Default: what is in it."""
    groups: Several[str] | None = None
    """Names of the groups or queues that it is for. Default: all compute groups that it fits."""
    use: EnvironmentUse | None = None
    """`jobs`, or `export` for what `export` of a job runs in; a group has one of each. Default: `jobs`, but of
    `kind: server` `export`."""

    @property
    def used_for(self) -> EnvironmentUse:
        """`use`, with its default."""
        usual = EnvironmentUse.EXPORT if self.kind is EnvironmentKind.SERVER else EnvironmentUse.JOBS
        return self.use or usual

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Let the word of a kind that needs nothing else stand for an environment."""
        return {"kind": written} if isinstance(written, str) and written in _ALONE else written

    @classmethod
    def shorthand_schemas(cls) -> list[dict[str, Any]]:
        """Let the word of such a kind stand for the mapping."""
        return [{"enum": list(_ALONE)}]


class NeuronEnvironment(TrainingEnvironment):
    """The pinned packages of one Neuron release, in a virtual environment. All must be in the lock of `downloads`."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[EnvironmentKind.NEURON], Field(examples=["neuron"])
    ] = EnvironmentKind.NEURON
    """What it is made of."""
    stack: str | None = None
    """`nxd`, `nxdt`, `torchneuron` or `nemo-megatron`. Default: `nxd` on trn1, `torchneuron` on trn2."""
    release: str | None = None
    """The Neuron release, in quotes. Default: `"2.28.1"` for `nxd`, `"2.33.0"` for `torchneuron`."""
    python: str | None = None
    """The version of Python, in quotes. Default: `"3.10"` until 2.29, `"3.12"` from 2.30 on."""
    packages: Several[str] = ()
    """Further packages, each `name` or `name==version`. Default: none."""


class WheelsEnvironment(TrainingEnvironment):
    """Packages of your choice, in a virtual environment. All must be in the lock of `downloads`."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[EnvironmentKind.WHEELS], Field(examples=["wheels"])
    ] = EnvironmentKind.WHEELS
    """What it is made of."""
    packages: Annotated[Several[str], Field(examples=["[torch==2.13.0, transformers]"])]
    """Packages, each `name` or `name==version`; what they need comes with them."""
    python: Annotated[str, Field(examples=["3.11", '"3.11"'])]
    """The version of Python, in quotes, e.g. `"3.11"`; nodes must have it."""


class ContainerEnvironment(TrainingEnvironment):
    """A container image, imported once by Enroot and run by Pyxis."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[EnvironmentKind.CONTAINER], Field(examples=["container"])
    ] = EnvironmentKind.CONTAINER
    """What it is made of."""
    image: Annotated[str, Field(examples=["111122223333.dkr.ecr.us-west-2.amazonaws.com/training:2026-11-20"])]
    """The image, `<registry>/<repository>:<tag>`, by a tag that is never moved."""


class SmpEnvironment(TrainingEnvironment):
    """The image of the SageMaker model parallel library v2 in the fleet's region, run by Enroot and Pyxis."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[EnvironmentKind.SMP], Field(examples=["smp"])
    ] = EnvironmentKind.SMP
    """What it is made of."""
    release: Annotated[str | None, Field(alias="version")] = None
    """Version of the library, in quotes, e.g. `"2.5.1"`. Default: the newest that the catalog knows."""


class CondaEnvironment(TrainingEnvironment):
    """Archives of conda in a prefix of their own. All must be in the lock of `downloads`, as `kind: archive`."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[EnvironmentKind.CONDA], Field(examples=["conda"])
    ] = EnvironmentKind.CONDA
    """What it is made of."""
    packages: Annotated[Several[str], Field(examples=["[python==3.11.9, pytorch==2.5.1]"])]
    """Archives, each `name` or `name==version`; what they need comes with them."""
    program: Annotated[str, Field(examples=["/opt/conda/bin/conda"])]
    """What makes the prefix, by name or path on the nodes."""


class ServerEnvironment(TrainingEnvironment):
    """The image that a service of this file runs in the fleet's region: what jobs export models for it in.

    It has optimum-neuron, and the one compiler whose models the server takes. For a service with an image of its own:
    a `ContainerEnvironment` whose `use` is `export`.
    """

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[EnvironmentKind.SERVER], Field(examples=["server"])
    ] = EnvironmentKind.SERVER
    """What it is made of."""
    server_kind: Annotated[ServerKind, Field(alias="server", examples=["tgi"])]
    """The server: `tgi` or `hugging-face-vllm`; others compile by themselves, and nothing is exported for them."""


AnyEnvironment = Annotated[
    NeuronEnvironment
    | WheelsEnvironment
    | ContainerEnvironment
    | SmpEnvironment
    | CondaEnvironment
    | ServerEnvironment,
    Field(discriminator="kind"),
]
"""A training environment, told by its `kind`."""
PackagedEnvironment = NeuronEnvironment | WheelsEnvironment | CondaEnvironment
"""One that is installed from the lock of `downloads`."""


class CompileCache(Spec):
    """How long the graphs that Neuron's compiler has made are kept on shared storage, for all jobs.

    The compiler itself never removes any. A graph that is removed too early is compiled again, for up to an hour.
    """

    max_age_days: Annotated[Days, Field(alias="max_age")] = usual_cache_days()
    """How long a graph may lie unused before it is removed. Default: `30 days`."""
    max_gib: Annotated[Gibibytes | None, Field(alias="max_size")] = None
    """What all may take together; above it, those that lay unused longest go. Default: no limit."""


class TrainingRuntime(Spec):
    """What training jobs find on the nodes: environments, the fabric's variables, a compile cache, batch files.

    It lies on storage that all compute nodes share, and is laid out by the first node that comes up.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "environment": "write `environments: {NAME: {kind: …}}`",
        "env": "write `variables` for variables of jobs, `environments` for what they run in",
        "cache": "write `compile_cache`",
        "hf_token": "write `hub_token_secret`: the ARN of a secret, never the token itself",
        "token": "write `hub_token_secret`: the ARN of a secret, never the token itself",
        "path": "write `folder`",
        "hub_token_secret_arn": "write `hub_token_secret`",
    }

    environments: Named[AnyEnvironment] = ()
    """What jobs run in, by name; one a group at most, and one for exports. Default: none, jobs bring their own."""
    folder: str | None = None
    """Where it all lies. Default: `llm-fleet` on the Lustre file system, else on that of the home directories."""
    compile_cache: CompileCache | None = None
    """How long compiled graphs are kept. Default: `30 days` unused, where a group has Neuron devices."""
    variables: Mapping[str, str] = {}
    """Variables of jobs, in quotes, in place of the fabric's or beside them. Default: the fabric's alone."""
    processes: Mapping[str, int] = {}
    """Processes of a job on each node, by group or queue. Default: one a NeuronCore or GPU, else one a node."""
    hub_token_secret: Secret | None = None
    """ARN of the Secrets Manager secret with a token of the Hugging Face Hub, which jobs may read. Default: none."""

    @property
    def hub_token_secret_arn(self) -> str | None:
        """The ARN of `hub_token_secret`; may be a token."""
        return None if self.hub_token_secret is None else SECRET.name_of(self.hub_token_secret)

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Let the word of a kind of environment that needs nothing else stand for a runtime with one."""
        alone = isinstance(written, str) and written in _ALONE
        return {"environments": {written: {"kind": written}}} if alone else written

    @classmethod
    def shorthand_schemas(cls) -> list[dict[str, Any]]:
        """Let the word of such a kind stand for the mapping."""
        return [{"enum": list(_ALONE)}]


def packages_of(environment: TrainingEnvironment) -> Sequence[str]:
    """Return the packages that `environment` names; none of one that is an image."""
    return environment.packages if isinstance(environment, PackagedEnvironment) else ()
