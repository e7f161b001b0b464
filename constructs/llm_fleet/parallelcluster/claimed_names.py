"""Names that clusters of one app have taken."""

from typing import cast

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.rules.tokens import is_unresolved

_PREFIX = "LlmFleetParallelCluster"


def claim_name(scope: Construct, name: str) -> None:
    """Take `name` for the cluster at `scope`; raise `FleetError` (LF610) when another one of the app has it.

    A name is taken once in an account and region. What is deployed second fails, and on its way back CloudFormation
    has the provider delete the cluster of that name, which is the first. A name that only the deployment knows passes.
    """
    if is_unresolved(name):
        return
    marker = f"{_PREFIX} {name} {_where(scope)}"
    root = cast(Construct, scope.node.root)
    first = root.node.try_find_child(marker)
    if first is not None:
        raise_problems([_taken(name, str(first.node.try_get_context(_PREFIX)))], subject=scope.node.path)
    claim = Construct(root, marker)
    claim.node.set_context(_PREFIX, scope.node.path)


def _where(scope: Construct) -> str:
    """Return account and region; where they are not known, the stack, which is in one of each."""
    stack = cdk.Stack.of(scope)
    known = not is_unresolved((stack.account, stack.region))
    return f"{stack.account} {stack.region}" if known else stack.node.addr


def _taken(name: str, path: str) -> Problem:
    return Problem(
        code=Code.PC_CLUSTER_NAME,
        message=f"the cluster at {path} is in the same account and region, and is {name}, too",
        remedy="give one of them another cluster_name",
        path=("cluster_name",),
        value=name,
    )
