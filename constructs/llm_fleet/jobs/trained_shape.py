"""How large a model is that is trained."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedShape:
    """How large a model is, so that it can be told whether it fits. `TrainingRun` judges it.

    The numbers are those of the model's `config.json`, under the names in parentheses.
    """

    parameters: int
    """How many weights it has."""
    layers: int
    """Decoder layers (`num_hidden_layers`)."""
    attention_heads: int
    """Heads of queries in a layer (`num_attention_heads`)."""
    kv_heads: int
    """Heads of keys and values in a layer (`num_key_value_heads`); as many as `attention_heads` where it has none."""
    head_dim: int
    """Numbers in a head (`head_dim`, else `hidden_size` / `num_attention_heads`)."""
    hidden: int
    """Numbers of a token between layers (`hidden_size`)."""
    intermediate: int
    """Inner width of the gated feed-forward block (`intermediate_size`)."""
    vocabulary: int
    """How many tokens there are (`vocab_size`)."""
    max_sequence: int | None = None
    """The longest sequence that it was made for (`max_position_embeddings`). Default: not checked."""
    bytes_per_parameter: int = 2
    """Bytes of a weight as it is served. Default: 2, for bf16."""
