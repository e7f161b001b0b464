"""What of known models concerns their training: how long a sequence can be, and who may download them."""

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.model_shapes import bare_name


def max_sequence(name: str) -> int | None:
    """Return the longest sequence that the model called `name` was made for; `None` where we do not know."""
    return load("training_models")["max_sequence"].get(bare_name(name))


def trained_model_types() -> tuple[str, ...]:
    """Return the `model_type`s that the training program has."""
    return tuple(load("training_models")["model_types"])


def is_gated(repository: str) -> bool:
    """Return whether a repository of the Hub, `owner/name`, is known to need a token. What is unknown passes."""
    folded = repository.casefold()
    return any(folded.startswith(prefix) for prefix in load("training_models")["gated"])
