"""How large a model is, in numbers."""

from pydantic import Field

from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import ParameterCount


class ShapeConfig(FleetModel):
    """How large a model is (`ShapeLike`); all of it stands in the model's `config.json`, but for `parameters`."""

    parameters: ParameterCount = Field(examples=["8 B"])
    """How many weights it has, e.g. `7.5 B` or `560 M`."""
    layers: int = Field(examples=[32])
    """Decoder layers: `num_hidden_layers`."""
    attention_heads: int = Field(alias="heads", examples=[32])
    """Heads of queries in a layer: `num_attention_heads`."""
    kv_heads: int = Field(examples=[8])
    """Heads of keys and values in a layer: `num_key_value_heads`, or as many as `heads` where it has none."""
    head_dim: int = Field(examples=[128])
    """Numbers in a head: `head_dim`, or `hidden_size` divided by `heads`."""
    bytes_per_parameter: int = Field(default=2, alias="bytes")
    """Bytes of a weight. Default: 2, for bf16 and fp16."""
