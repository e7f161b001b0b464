"""What a capacity provider is called where CloudFormation's own choice will not do."""

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.catalog.service import task_limits

_BEGINNING = "cp-"
_LENGTH = 255


def capacity_provider_name(scope: Construct) -> str | None:
    """Return a name for the capacity provider of `scope`, or `None`: CloudFormation makes one of the stack's name.

    That would fail in a stack like `ecs-services`. A name of ours is only given there: CloudFormation cannot replace
    what has one.
    """
    stack = cdk.Stack.of(scope).stack_name
    if cdk.Token.is_unresolved(stack) or not stack.lower().startswith(task_limits().provider_prefixes):
        return None
    rest = cdk.Names.unique_resource_name(
        scope, max_length=_LENGTH - len(_BEGINNING), separator="-", allowed_special_characters="-_"
    )
    return f"{_BEGINNING}{rest}"
