"""How large a model is."""

from dataclasses import dataclass
from pathlib import Path

from llm_fleet.named_files.named_file import read_shape
from llm_fleet.rules.inference.model_shape import ModelNumbers, check_shape
from llm_fleet.rules.inference.protocols import ShapeLike
from llm_fleet.rules.problem import raise_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """How large a model is, so that it can be told at synth whether it fits.

    The numbers are those of the model's `config.json`, under the names in parentheses. Raises `FleetError` (LF717) for
    numbers that no model has.
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
    bytes_per_parameter: int = 2
    """Bytes of a weight on the device. Default: 2, for bf16 and fp16, which the servers make of any checkpoint."""

    def __post_init__(self) -> None:
        """Raise `FleetError` for numbers that no model has."""
        raise_problems(check_shape(self), subject="ModelShape")

    @classmethod
    def from_config(cls, path: Path | str) -> "ModelShape":
        """Return the shape that the `config.json` at `path` tells, as transformers write it beside a model.

        Raises `FleetError` (LF718) when it cannot be read, or is of a model whose weights cannot be counted: then the
        message says which, and the numbers can be given.
        """
        numbers, problems = read_shape(Path(path))
        raise_problems(problems, subject=str(path))
        if numbers is None:
            raise AssertionError("a file that has no problems has numbers")
        return cls.of(numbers)

    @classmethod
    def of(cls, shape: ShapeLike) -> "ModelShape":
        """Return the same numbers as a `ModelShape`."""
        return cls(**{name: getattr(shape, name) for name in ModelNumbers.__slots__})
