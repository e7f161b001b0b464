"""What must hold of the policy of a node's role."""

from llm_fleet.catalog.data_file import load
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem


def policy_size(characters: int) -> list[Problem]:
    """Return what is wrong with a policy of that many `characters`, white space not counted."""
    limit = load("node_permissions")["managed_policy_characters"]
    if characters <= limit:
        return []
    return [
        Problem(
            code=Code.NODE_POLICY_SIZE,
            message="these features make a longer policy than IAM takes",
            value=characters,
            allowed=f"at most {limit} characters",
            path=("features",),
            remedy="name fewer buckets, repositories and alarms: gather data below prefixes of one bucket",
        )
    ]
