"""The arguments of `optimum-cli export neuron`. Standard library of Python 3.9 and newer only.

The same file is used by the CDK side, for the task that exports in ECS, and by the jobs of a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def export_words(facts: Mapping[str, Any], requested: Mapping[str, Any], *, cast_type: str, family: str) -> list[str]:
    """Return the arguments between the checkpoint and the output folder.

    - `facts`: of the server's image, as the catalog's `model_exports` has them: `cores`, `cast` and `instance_type` are
      the names of arguments, the last two `None` where that release has none.
    - `requested`: what the server requires of the model: `batch_size`, `sequence_length`, `tensor_parallel`.
    - `cast_type`: the type to which weights are cast. `family`: of the instances that serve, e.g. `inf2`.
    """
    words = ["--task", "text-generation", "--batch_size", str(requested["batch_size"])]
    words += ["--sequence_length", str(requested["sequence_length"])]
    words += [facts["cores"], str(requested["tensor_parallel"])]
    words += [facts["cast"], cast_type] if facts["cast"] else []
    return [*words, facts["instance_type"], family] if facts["instance_type"] else words
