"""The batch files that llm-fleet ships, as they are."""

from functools import cache
from pathlib import Path

from llm_fleet.lifecycle.script_folder import default_folder

RUN = "run.sh"
"""The settings that all stages share."""
SUFFIX = ".sbatch"
ORDER = (
    "download",
    "tokenize",
    "test-nccl",
    "test-nccom",
    "compile",
    "train",
    "train-nemo-megatron",
    "convert",
    "export",
    "tensorboard",
)
"""The stages, in the order in which they are run."""


def jobs_folder() -> Path:
    """Return the folder of the batch files: in the package of a wheel, beside it in a checkout."""
    return default_folder() / "jobs"


@cache
def template(name: str) -> str:
    """Return the text of `run.sh`, or of the batch file of the stage `name`. Raises `FileNotFoundError`."""
    file = name if name == RUN else f"{name}{SUFFIX}"
    return (jobs_folder() / file).read_text(encoding="utf-8")
