"""IAM checks calls for queues, topics, tables and alarms with their ARN, and CloudWatch's with its prefix in policies.

moto checks each of these calls as a call on `*`, so a statement that names a resource would allow nothing. It reads the
service from the signature, where CloudWatch is `monitoring`; policies use `cloudwatch`. If a call has several
resources, the first is checked.

Source: model cfn-lint AdditionalSpecs/Policies.json
"""

from collections.abc import Callable
from typing import Any

from moto.cloudwatch.responses import CloudWatchResponse
from moto.dynamodb.responses import DynamoHandler
from moto.iam.access_control import IAMRequestBase
from moto.sns.responses import SNSResponse
from moto.sqs.responses import SQSResponse

_SIGNED, _NAMED = "monitoring:", "cloudwatch:"


def install() -> None:
    """Set the resource of each call, and the prefix of CloudWatch's actions."""
    checked: dict[Any, Callable[[Any], str]] = {
        CloudWatchResponse: _alarm,
        DynamoHandler: _table,
        SNSResponse: lambda response: str(response._get_param("TopicArn") or "*"),
        SQSResponse: _queue,
    }
    for responses, resource in checked.items():
        responses._determine_resource = resource
    if getattr(IAMRequestBase.check_action_permitted, "is_ours", False):
        return
    check = IAMRequestBase.check_action_permitted

    def check_by_name(self: Any, resource: str) -> None:
        self._action = self._action.replace(_SIGNED, _NAMED)
        check(self, resource)

    check_by_name.is_ours = True  # pyright: ignore[reportFunctionMemberAccess]
    IAMRequestBase.check_action_permitted = check_by_name


def _alarm(response: Any) -> str:
    names: Any = response._get_param("AlarmNames") or [response._get_param("AlarmName")]
    if response._get_action() == "DescribeAlarms":
        return _arn(response, "cloudwatch", "alarm:*")
    return _arn(response, "cloudwatch", f"alarm:{names[0]}") if names[0] else "*"


def _table(response: Any) -> str:
    wanted: Any = response.body
    requested: list[str] = list(wanted.get("RequestItems", {}))
    name = wanted.get("TableName") or next(iter(requested), None)
    if name is None:
        return "*"
    table = str(name) if str(name).startswith("arn:") else _arn(response, "dynamodb", f"table/{name}")
    return f"{table}/index/{wanted['IndexName']}" if "IndexName" in wanted else table


def _queue(response: Any) -> str:
    url = response._get_param("QueueUrl")
    return _arn(response, "sqs", str(url).rsplit("/", 1)[-1]) if url else "*"


def _arn(response: Any, service: str, resource: str) -> str:
    return f"arn:aws:{service}:{response.region}:{response.current_account}:{resource}"
