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


def retained_section(stacks: Sequence[StackTemplate]) -> Section:
    """Return every resource that `cdk destroy` leaves behind, and that goes on to cost money."""
    kept = [
        {
            "stack": stack.name,
            "type": str(resource.get("Type")),
            "policy": resource["DeletionPolicy"],
            "where": stack.where(logical_id),
            "logical_id": logical_id,
        }
        for stack in stacks
        for logical_id, resource in stack.resources.items()
        if stack.is_kept(logical_id)
    ]
    return Section(
        key="retained",
        title="Left behind by `cdk destroy`",
        parts=[Table(columns=_COLUMNS, rows=kept), "they stay, and cost what they cost, until somebody deletes them"]
        if kept
        else ["nothing"],
        data=kept,
    )
