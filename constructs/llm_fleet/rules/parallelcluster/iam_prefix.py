"""What the names of the roles begin with that ParallelCluster makes, and the path that they stand on."""

import re

from llm_fleet.catalog.parallelcluster import parallelcluster_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.tokens import is_unresolved

_FORM = re.compile(r"(?P<path>(/[a-zA-Z0-9_.,+@=-]+)+/)?(?P<name>[a-zA-Z0-9_.,+@=-]+)?")
_PATH = "/parallelcluster/"
"""Where the provider may make roles (`DefaultParallelClusterIamAdminPolicy` of parallelcluster-policies.yaml)."""


def check_iam_prefix(prefix: str | None, *path: PathPart) -> list[Problem]:
    """Return why IAM, or else the provider, could not make roles with that prefix."""
    return check_prefix_form(prefix, *path) or check_prefix_path(prefix, *path)


def check_prefix_form(prefix: str | None, *path: PathPart) -> list[Problem]:
    """Check the form and the length (IamResourcePrefixValidator)."""
    if prefix is None or is_unresolved(prefix):
        return []
    limits, match = parallelcluster_limits(), _FORM.fullmatch(prefix)
    too_long = match is not None and (
        len(match["name"] or "") > limits.iam_prefix or len(match["path"] or "") > limits.iam_path
    )
    if match is not None and prefix and not too_long:
        return []
    return [
        Problem(
            code=Code.PC_RESOURCE_PREFIX,
            message="the prefix is too long" if too_long else "this is no path or beginning of a name of IAM's",
            remedy="write e.g. '/parallelcluster/research/' or 'research-'",
            path=path,
            value=prefix,
            allowed=f"a path of up to {limits.iam_path} characters, and a beginning of up to {limits.iam_prefix}",
        )
    ]


def check_prefix_path(prefix: str | None, *path: PathPart) -> list[Problem]:
    """Check that the provider may make roles there."""
    if prefix is None or is_unresolved(prefix) or "/" not in prefix or prefix.startswith(_PATH):
        return []
    return [
        Problem(
            code=Code.PC_IAM_PREFIX,
            message="ParallelCluster's provider makes roles on the path /parallelcluster/ only",
            path=path,
            value=prefix,
            allowed="a name without a slash, or a path below /parallelcluster/",
            remedy=f"write {_PATH}{prefix.strip('/')}/",
        )
    ]
