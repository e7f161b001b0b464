"""Whether what is said for nodes reaches any of them."""

from collections.abc import Mapping, Sequence

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart, Problem


def check_nodes_told(
    given: Mapping[tuple[PathPart, ...], bool],
    *,
    any_script: bool,
    scripts_lie_in_s3: bool,
    own_folder: bool,
    steps: Sequence[tuple[PathPart, ...]],
) -> list[Problem]:
    """Return what is given and no node would be told of.

    `given`: by its path, whether the user has given it; `steps` are the paths that change llm-fleet's own steps.
    `any_script`: whether any node runs a script at all. `scripts_lie_in_s3`: nothing is uploaded, no manifest either.
    `own_folder`: the user's scripts are uploaded in place of llm-fleet's.
    """
    if not any_script:
        why, remedy = "no node runs a script, which would read it", "let nodes run the lifecycle scripts, or remove it"
    elif scripts_lie_in_s3:
        why = "the scripts lie in S3 already, so nothing is written beside them for nodes to read"
        remedy = "remove it, or let the scripts be uploaded"
    else:
        why, remedy = "", ""
    problems = [_problem(path, why, remedy) for path, is_given in given.items() if is_given and why]
    if why or not own_folder:
        return problems
    return [
        _problem(
            path,
            "the scripts are your own, and llm-fleet knows the steps of its own ones only",
            "remove it, or leave the folder out and have llm-fleet's scripts run with own steps among theirs",
        )
        for path in steps
        if given.get(path)
    ]


def _problem(path: tuple[PathPart, ...], why: str, remedy: str) -> Problem:
    return Problem(code=Code.NODES_NOT_TOLD, message=f"no node is told of this: {why}", remedy=remedy, path=path)
