"""How large a model is that is trained, in numbers."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.config.services.model_shape import ShapeConfig


class TrainedShapeConfig(ShapeConfig):
    """How large a model is that is trained; all of it stands in its `config.json`, but for `parameters`."""

    other_words: ClassVar[Mapping[str, str]] = {
        "hidden_size": "write `hidden`",
        "intermediate_size": "write `intermediate`",
        "vocab_size": "write `vocabulary`",
        "num_hidden_layers": "write `layers`",
        "num_attention_heads": "write `heads`",
        "num_key_value_heads": "write `kv_heads`",
        "max_position_embeddings": "write `max_sequence`",
    }

    hidden: int = Field(examples=[4096])
    """Numbers of a token between layers: `hidden_size`."""
    intermediate: int = Field(examples=[14336])
    """Inner width of the feed-forward block: `intermediate_size`."""
    vocabulary: int = Field(examples=[128256])
    """How many tokens there are: `vocab_size`."""
    max_sequence: int | None = None
    """The longest sequence that it was made for: `max_position_embeddings`. Default: not checked."""
