"""The training script and what lies beside it."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from llm_fleet.named_files.source_folder import read_source
from llm_fleet.rules.problem import raise_problems


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class SourceBundle:
    """A folder on this machine that goes to the job as it is, and the script in it that is run.

    The containers' toolkit (sagemaker-training, "script mode") unpacks it to `/opt/ml/code`, installs its
    `requirements.txt` where there is one, and runs the script with the hyperparameters as `--name value`. It finds more
    in variables: `SM_MODEL_DIR` (what is left there is the result), `SM_CHANNEL_<NAME>`, `SM_NUM_GPUS`, `SM_HOSTS`,
    `SM_CURRENT_HOST`. Hidden files, `__pycache__` and virtual environments are left out.
    """

    folder: Path
    """The folder, as given."""
    entry_point: str
    """The script, from the folder."""
    files: frozenset[str] | None
    """What lies in the folder."""

    def __init__(self, folder: "str | PathLike[str]", *, entry_point: str) -> None:
        """Look into `folder`, from where the app is run; raise `FleetError` (LF961) when there is nothing.

        `entry_point`: the script, from the folder, e.g. `train.py`. That it is there, and that the job's launcher can
        start it, is for `TrainingJobSpec` to check.
        """
        files, problems = read_source(Path(folder))
        object.__setattr__(self, "folder", Path(folder))
        object.__setattr__(self, "entry_point", entry_point)
        object.__setattr__(self, "files", files)
        raise_problems(problems, subject="SourceBundle")

    @property
    def path(self) -> Path:
        """The folder, absolute."""
        return self.folder.resolve()
