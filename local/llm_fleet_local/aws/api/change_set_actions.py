"""The API's operations on change sets.

Source: model botocore cloudformation CreateChangeSetInput
"""

from collections.abc import Mapping
from typing import Any

from llm_fleet_local.aws.api.change_set_views import change_set_summary, change_set_view
from llm_fleet_local.aws.api.paging import page, with_token
from llm_fleet_local.aws.api.requests import proposal
from llm_fleet_local.aws.stacks import change_set_work as work
from llm_fleet_local.aws.stacks.engine import CloudFormation
from llm_fleet_local.aws.stacks.errors import invalid, no_stack

Params = Mapping[str, Any]
_NOT_HERE = ("ResourcesToImport", "DeploymentMode")


def create_change_set(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """CreateChangeSet. Imports of existing resources and drift are not emulated.

    `ImportExistingResources` (the CLI sets it to bootstrap) is accepted: an existing resource then fails on creation,
    as without the flag.

    Source: emulation, nothing is imported here and nothing drifts
    Source: model botocore cloudformation OnStackFailure ("only valid when the ChangeSetType parameter
    is set to CREATE")
    """
    requested = [name for name in _NOT_HERE if params.get(name)]
    if requested:
        raise invalid(f"{', '.join(requested)}: not supported by the AWS emulator")
    before = engine.registry.find(region, params["StackName"])
    kind = params.get("ChangeSetType", "UPDATE")
    if params.get("OnStackFailure") == "DELETE" and kind != "CREATE":
        raise invalid(f"OnStackFailure DELETE is valid for a change set of the type CREATE, not {kind}.")
    if kind == "UPDATE" and before is None:
        raise no_stack(params["StackName"])
    stack, change_set = work.create_change_set(
        engine,
        region,
        params["StackName"],
        params["ChangeSetName"],
        proposal(engine, region, params, before),
        kind=kind,
        description=params.get("Description"),
        on_stack_failure=params.get("OnStackFailure"),
        include_nested=params.get("IncludeNestedStacks", False),
        deployment_config=params.get("DeploymentConfig"),
    )
    return {"Id": change_set.change_set_id, "StackId": stack.stack_id}


def describe_change_set(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """DescribeChangeSet."""
    stack, change_set = work.find_change_set(engine, region, params["ChangeSetName"], params.get("StackName"))
    changes, token = page(change_set.changes, params.get("NextToken"), key=lambda change: change.logical_id)
    values = params.get("IncludePropertyValues", False)
    return with_token(change_set_view(stack, change_set, changes, values=values), token)


def list_change_sets(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """ListChangeSets."""
    stack = engine.get(region, params["StackName"])
    return {"Summaries": [change_set_summary(stack, change_set) for change_set in list(stack.change_sets.values())]}


def delete_change_set(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """DeleteChangeSet."""
    work.delete_change_set(engine, region, params["ChangeSetName"], params.get("StackName"))
    return {}


def execute_change_set(engine: CloudFormation, region: str, params: Params) -> dict[str, Any]:
    """ExecuteChangeSet.

    Source: model botocore cloudformation ExecuteChangeSetInput (DisableRollback "can't be specified when the
    OnStackFailure parameter to the CreateChangeSet API operation was specified")
    """
    _, change_set = work.find_change_set(engine, region, params["ChangeSetName"], params.get("StackName"))
    if "DisableRollback" in params and change_set.on_stack_failure:
        raise invalid("DisableRollback may not be specified for a change set with OnStackFailure.")
    work.execute_change_set(
        engine,
        region,
        params["ChangeSetName"],
        params.get("StackName"),
        disable_rollback=params.get("DisableRollback", False),
        token=params.get("ClientRequestToken"),
    )
    return {}
