"""Gets a stack's template from CloudFormation."""

import json
from typing import TYPE_CHECKING, NoReturn

from llm_fleet.cli.failures import is_of_aws, refuse
from llm_fleet.rules.codes import Code

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

_NO_STACK = '{"Resources": {}}\n'


def stack_template(name: str, *, region: str | None, none_yet_ok: bool) -> str:
    """Return the template that the stack `name` was deployed with; raise `FleetError` (LF680) where there is none.

    With `none_yet_ok` a stack that does not exist has an empty template, so that CI can ask before the first
    deployment, too. Other refusals, e.g. of credentials, are told all the same.
    """
    client = _client(region)
    try:
        body: object = client.get_template(StackName=name, TemplateStage="Original")["TemplateBody"]
    except Exception as error:
        if not is_of_aws(error):
            raise
        if none_yet_ok and "does not exist" in str(error):
            return _NO_STACK
        _refuse(name, str(error), "see that the name, the region and your credentials are right")
    return body if isinstance(body, str) else json.dumps(body, indent=1) + "\n"


def _client(region: str | None) -> "CloudFormationClient":
    try:
        import boto3
    except ImportError:
        _refuse("boto3", "it is not installed", "run `pip install 'llm-fleet[mirror]'`, or `pip install boto3`")
    try:
        return boto3.client("cloudformation", region_name=region)
    except Exception as error:
        if not is_of_aws(error):
            raise
        _refuse("CloudFormation", str(error), "name the region with --region")


def _refuse(subject: str, reason: str, remedy: str) -> NoReturn:
    message = f"the template cannot be had: {reason}"
    refuse(Code.PC_DEPLOYED_UNREADABLE, message, remedy, subject=subject)
