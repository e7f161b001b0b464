"""A stack's outputs and exports, and the checks of exports in use.

Source: model botocore cloudformation ListExports
Source: model botocore cloudformation ListImports
"""

from llm_fleet_local.aws.stacks.definition import Definition
from llm_fleet_local.aws.stacks.registry import Registry
from llm_fleet_local.aws.stacks.scope import StackScope
from llm_fleet_local.aws.stacks.stack import Output, Stack
from llm_fleet_local.aws.template.functions import evaluate
from llm_fleet_local.aws.template.values import TemplateError, as_text


def evaluate_outputs(target: Definition, scope: StackScope) -> tuple[Output, ...]:
    """Return the outputs of a stack whose resources exist. Raises `TemplateError`.

    Source: model botocore cloudformation OutputValue (a string)
    """
    outputs: list[Output] = []
    for key, body in target.live.outputs.items():
        value = evaluate(body["Value"], scope)
        if isinstance(value, (list, dict)):
            raise TemplateError(f"Template format error: The Value field of output {key} must evaluate to a string")
        export = evaluate(body.get("Export"), scope)
        outputs.append(
            Output(
                key=key,
                value=as_text(value),
                description=body.get("Description"),
                export_name=as_text(export["Name"]) if export else None,
            )
        )
    return tuple(outputs)


def check_exports(stack: Stack, after: tuple[Output, ...], registry: Registry) -> None:
    """Raise `TemplateError` if an export exists in another stack, or if an export in use would change or be removed.

    Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-exports.html:
    names are unique in an account and Region; "you can't delete a stack if another stack references one of its
    outputs", and "you can't modify or remove an output value that is referenced by another stack"
    """
    offered = registry.exports(stack.region)
    new = {output.export_name: output.value for output in after if output.export_name}
    for name in new:
        if name in offered and offered[name].stack_id != stack.stack_id:
            owner = offered[name].stack_id.split("/")[1]
            raise TemplateError(f"Export with name {name} is already exported by stack {owner}.")
    for output in stack.outputs:
        name = output.export_name
        if name is None or new.get(name) == output.value:
            continue
        users = registry.importers(stack.region, name)
        if users:
            verb = "update" if name in new else "delete"
            raise TemplateError(f"Cannot {verb} export {name} as it is in use by {', '.join(users)}")
