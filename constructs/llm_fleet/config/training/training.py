"""What a cluster's nodes carry for training jobs."""

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import Field, model_validator

from llm_fleet.config.training.compile_cache import CompileCacheConfig
from llm_fleet.config.training.environments import AnyEnvironment
from llm_fleet.spec.model import FleetModel, name_entries
from llm_fleet.spec.values import SecretArn


class TrainingConfig(FleetModel):
    """What training jobs find on the nodes: environments, the fabric's variables, a compile cache, batch files."""

    written_as: ClassVar[Mapping[str, str]] = {"hub_token_secret_arn": "hub_token_secret"}
    other_words: ClassVar[Mapping[str, str]] = {
        "environment": "write `environments: {NAME: {kind: …}}`",
        "env": "write `variables` for variables of jobs, `environments` for what they run in",
        "cache": "write `compile_cache`",
        "hf_token": "write `hub_token_secret`: the ARN of a secret, never the token itself",
        "token": "write `hub_token_secret`: the ARN of a secret, never the token itself",
        "path": "write `folder`",
    }

    environments: Mapping[str, AnyEnvironment] = {}
    """What jobs run in, by name; one a group at most, and one for exports. Default: none, jobs bring their own."""
    folder: str | None = None
    """Where it all lies. Default: `llm-fleet` on the Lustre file system, else on that of the home directories."""
    compile_cache: CompileCacheConfig | None = None
    """How long compiled graphs are kept. Default: `30 days` unused, where a group has Neuron devices."""
    variables: Mapping[str, str] = {}
    """Variables of jobs, in quotes, in place of the fabric's or beside them. Default: the fabric's alone."""
    processes: Mapping[str, int] = {}
    """Processes of a job on each node, by group or queue. Default: one a NeuronCore or GPU, else one a node."""
    hub_token_secret_arn: SecretArn | None = Field(default=None, alias="hub_token_secret")
    """ARN of the Secrets Manager secret with a token of the Hugging Face Hub, which jobs may read. Default: none."""

    @model_validator(mode="after")
    def _tell_environments(self) -> Self:
        name_entries(self.environments)
        return self
