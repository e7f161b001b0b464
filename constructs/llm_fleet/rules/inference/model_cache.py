"""How much of a model a host keeps on its disk."""

import math

from llm_fleet.catalog.model_shapes import model_memory
from llm_fleet.rules.inference.memory import GIB, weight_bytes
from llm_fleet.rules.inference.protocols import ShapeLike


def default_cache_gib(shape: ShapeLike | None) -> int:
    """Return the GiB that hold all of a model of `shape`; 0 where nobody told how large it is."""
    return 0 if shape is None else math.ceil(weight_bytes(shape) / GIB * model_memory().cache_margin)
