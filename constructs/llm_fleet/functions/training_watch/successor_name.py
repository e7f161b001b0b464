"""The name of a restart: worked out, never made up, so that making it twice is refused by the service."""

import hashlib
import re

LONGEST = 63
"""Of a training job's name: CreateTrainingJob's TrainingJobName."""
_DIGEST = 8
_ENDING = re.compile(r"-r\d+$")


def successor_name(root: str, restart: int) -> str:
    """Return the name of restart number `restart`, from 1, of the line that began with the job `root`.

    A root that leaves no room is shortened, with a digest of it: two long roots of one beginning stay apart.
    """
    ending = f"-r{restart}"
    if len(root) + len(ending) <= LONGEST:
        return root + ending
    digest = hashlib.sha256(root.encode()).hexdigest()[:_DIGEST]
    return f"{root[: LONGEST - len(ending) - _DIGEST - 1].rstrip('-')}-{digest}{ending}"


def base_of(uri: str, root: str, attempt: int) -> str:
    """Return where the first job of a line kept its checkpoints, by where restart number `attempt` keeps its own.

    A restart from before a divergence has a folder of its own there, by its name, and those after it share it.
    """
    above, _, folder = uri.rpartition("/")
    own = {successor_name(root, restart) for restart in range(1, attempt + 1)}
    return above if folder in own else uri


def is_folder_of_a_restart(folder: str) -> bool:
    """Whether a folder below a checkpoint prefix is what a restart was given, and no checkpoint of the job's own."""
    return _ENDING.search(folder) is not None
