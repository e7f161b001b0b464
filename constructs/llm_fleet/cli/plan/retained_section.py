"""What stays when the fleet is destroyed."""

from collections.abc import Sequence

from llm_fleet.cli.plan.section import Section
from llm_fleet.cli.plan.stack_template import StackTemplate
from llm_fleet.cli.terminal.table import Column, Table

_COLUMNS = (
    Column(key="stack", title="STACK"),
    Column(key="type", title="TYPE"),
    Column(key="where", title="CONSTRUCT", wraps=True),
)

_HOLDS_DATA = ("FSx", "S3", "RDS", "EFS", "ECR", "SecretsManager", "KMS", "Logs", "SageMaker")
"""Services whose resources hold what nobody can make anew; they come first."""


def retained_section(stacks: Sequence[StackTemplate]) -> Section:
    """Return every resource that `cdk destroy` leaves behind, or a snapshot of it, and that goes on to cost money."""
    kept = [
        {
            "stack": stack.name,
            "type": str(resource.get("Type")),
            "policy": resource.get("DeletionPolicy", "Snapshot"),
            "where": stack.where(logical_id),
            "logical_id": logical_id,
        }
        for stack in stacks
        for logical_id, resource in stack.resources.items()
        if stack.is_kept(logical_id) or stack.leaves_snapshot(logical_id)
    ]
    kept.sort(key=lambda one: one["type"].split("::")[1] not in _HOLDS_DATA)
    return Section(
        key="retained",
        title="Left behind by `cdk destroy`",
        parts=[Table(columns=_COLUMNS, rows=kept), _in_words(len(kept))] if kept else ["nothing"],
        data=kept,
    )


def _in_words(count: int) -> str:
    what = (
        "1 resource stays, and costs what it costs,"
        if count == 1
        else f"{count} resources stay, and cost what they cost,"
    )
    return f"{what} until somebody deletes them; what holds data is first"
