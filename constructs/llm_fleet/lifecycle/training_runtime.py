"""What a cluster's nodes carry for training jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aws_cdk import aws_secretsmanager as secretsmanager

from llm_fleet.lifecycle.compile_cache import CompileCache
from llm_fleet.lifecycle.training_environment import TrainingEnvironment
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.training.forms import check_runtime_forms


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
