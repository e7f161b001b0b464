"""Where lifecycle scripts of the user's own lie."""

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem


def check_scripts_place(*, prefix: str | None, has_bucket: bool, scripts: object) -> list[Problem]:
    """Check that a prefix has a bucket, and that scripts are not both there already and to be uploaded.

    `scripts` is the folder to upload, `None` for none. Paths are the parameters' names.
    """
    problems: list[Problem] = []
    if prefix is not None and not has_bucket:
        problems.append(
            Problem(
                code=Code.CLUSTER_SCRIPTS_PLACE,
                message="a prefix is given without the bucket that it is in",
                remedy="give the bucket, whose name begins with `sagemaker-`, or leave the prefix out",
                path=("prefix",),
                value=prefix,
            )
        )
    if prefix is not None and scripts is not None:
        problems.append(
            Problem(
                code=Code.CLUSTER_SCRIPTS_PLACE,
                message="scripts are given both as a folder to upload and as a prefix where they lie already",
                remedy="give one of the two",
                path=("scripts",),
                value=str(scripts),
            )
        )
    return problems
