"""What every model server in the fleet file can be told."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from llm_fleet.spec.model import FleetModel

_OF_ALL = frozenset(
    {
        *("kind", "tensor_parallel", "batch_size", "sequence_length"),
        *("image", "runtime_version", "environment", "capabilities"),
    }
)


class ServerConfig(FleetModel):
    """A model server of any kind (`ServerLike`, but for its `kind`)."""

    other_words: ClassVar[Mapping[str, str]] = {
        "tp": "write `tensor_parallel`",
        "tensor_parallel_size": "write `tensor_parallel`",
        "num_cores": "write `tensor_parallel`",
        "HF_NUM_CORES": "write `tensor_parallel`",
        "batch": "write `batch_size`",
        "sequence": "write `sequence_length`",
        "max_batch_size": "write `batch_size`",
        "MAX_BATCH_SIZE": "write `batch_size`",
        "max_num_seqs": "write `batch_size`",
        "max_total_tokens": "write `sequence_length`",
        "MAX_TOTAL_TOKENS": "write `sequence_length`",
        "max_model_len": "write `sequence_length`",
        "model": "write `model` of the service, beside `server`",
        "version": "write `image`, and `runtime` where the catalog does not know it",
        "api_key": "write `front: {auth: api-key}` of the service; the key is a secret, never text of a file",
        "port": "leave it out: every server listens at 8080 in an interface of its own",
        "env": "write `environment`",
        "variables": "write `environment`",
        "cap_add": "write `capabilities`",
    }

    tensor_parallel: int | None = None
    """Over how many NeuronCores each layer is spread. Default: all of the instance."""
    batch_size: int = 4
    """How many sequences are generated side by side; compiled into the model. Default: 4."""
    sequence_length: int = 4096
    """Tokens of prompt and answer together, at most; compiled into the model. Default: 4096."""
    image: str | None = None
    """URI of another image. Default: the catalog's, whose driver and compiler llm-fleet knows."""
    runtime_version: str | None = Field(default=None, alias="runtime")
    """Version of `aws-neuronx-runtime-lib` in `image`, in quotes, by which the host's driver is chosen."""

    environment: Mapping[str, str] = {}
    """Further environment variables of the container, by name; no secrets. Default: none."""
    capabilities: tuple[str, ...] = ()
    """Linux capabilities that the container has beyond Docker's default ones, e.g. `IPC_LOCK`. Default: none."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What else was written, by the names of the construct's arguments."""
        own = {name: getattr(self, name) for name in type(self).model_fields if name not in _OF_ALL}
        return {name: value for name, value in own.items() if value not in (None, (), {})}
