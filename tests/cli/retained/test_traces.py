"""Resources that are found by the tags of CloudFormation, when the events of their stack are gone."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from botocore.exceptions import ClientError, NoCredentialsError

from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.plan.stack_templates import DESCRIBED
from llm_fleet.cli.retained.traces import Trace, Traces, tagged
from llm_fleet.fleet_file.fleet import Fleet

_STACKS = [f"train-{number}" for number in range(21)]
_TAGS = {
    "arn:aws:fsx:us-west-2:111122223333:file-system/fs-1": "train-1",
    "arn:aws:ec2:us-west-2:111122223333:vpc/vpc-1": "train-2",
    "arn:aws:s3:::data": "train-3",
    "arn:aws:logs:us-west-2:111122223333:log-group:train-flows": "train-4",
    "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-a1b2c3": "train-5",
    "arn:aws:ec2:us-west-2:111122223333:natgateway/nat-1": "train-2",
    "arn:aws:rds:us-west-2:111122223333:cluster-snapshot:last": "train-20",
    "arn:aws:ssm:us-west-2:111122223333:parameter/train/key": "train-6",
    "arn:aws:ssm:us-west-2:111122223333:parameter/plain": "train-6",
}


class _Tagging:
    """GetResources with the filter that the tool sends; more than 20 values are an error, as in the service."""

    def get_paginator(self, name: str) -> "_Tagging":
        assert name == "get_resources"
        return self

    def paginate(self, TagFilters: list[dict[str, Any]]) -> list[dict[str, Any]]:
        (only,) = TagFilters
        assert only["Key"] == "aws:cloudformation:stack-name"
        assert len(only["Values"]) <= 20
        found = [
            {
                "ResourceARN": arn,
                "Tags": [
                    {"Key": "aws:cloudformation:stack-name", "Value": stack},
                    {"Key": "aws:cloudformation:logical-id", "Value": f"Logical{stack[-1]}"},
                ],
            }
            for arn, stack in _TAGS.items()
            if stack in only["Values"]
        ]
        return [{"ResourceTagMappingList": found[:1]}, {"ResourceTagMappingList": found[1:]}]


def test_known_types_are_found_by_their_arn():
    def client(service: str) -> _Tagging:
        assert service == "resourcegroupstaggingapi"
        return _Tagging()

    clients = cast(AwsClients, SimpleNamespace(client=client))
    found = {one.id: one for one in tagged(clients, _STACKS)}
    assert {id: one.resource_type for id, one in found.items()} == {
        "fs-1": "AWS::FSx::FileSystem",
        "vpc-1": "AWS::EC2::VPC",
        "data": "AWS::S3::Bucket",
        "train-flows": "AWS::Logs::LogGroup",
        "arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-a1b2c3": "AWS::SecretsManager::Secret",
        "last": "AWS::RDS::DBClusterSnapshot",
        "/train/key": "AWS::SSM::Parameter",
        "/plain": "AWS::SSM::Parameter",
        "plain": "AWS::SSM::Parameter",
    }
    assert found["fs-1"] == Trace(
        resource_type="AWS::FSx::FileSystem", id="fs-1", logical_id="Logical1", stack="train-1", since=None
    )


_DEAD = {"StackName": "train-storage", "StackId": "dead", "StackStatus": "DELETE_COMPLETE"}
_DEAD["TemplateDescription"] = DESCRIBED
_LIVE = {"StackName": "other", "StackId": "live", "StackStatus": "CREATE_COMPLETE"}


class _CloudFormation:
    """Stacks and their events; each resource belongs to the stack `owner`."""

    def __init__(self, owner: str, events: list[dict[str, Any]], refused: str = "") -> None:
        self._owner, self._refused = owner, refused
        self._pages: dict[str, Any] = {
            "list_stacks": [{"StackSummaries": [_DEAD, _LIVE]}],
            "describe_stack_events": [{"StackEvents": events}],
        }

    def get_paginator(self, name: str) -> Any:
        def paginate(**_: Any) -> Any:
            if name == self._refused:
                raise ClientError({"Error": {"Code": "Throttling", "Message": "Rate exceeded"}}, name)
            return self._pages[name]

        return SimpleNamespace(paginate=paginate)

    def describe_stack_resources(self, PhysicalResourceId: str) -> dict[str, Any]:
        return {"StackResources": [{"StackId": self._owner, "PhysicalResourceId": PhysicalResourceId}]}


def _traces(cloudformation: _CloudFormation) -> Traces:
    def client(service: str) -> _Tagging:
        assert service == "resourcegroupstaggingapi"
        return _Tagging()

    clients = SimpleNamespace(cloudformation=cloudformation, client=client)
    fleet = SimpleNamespace(name="train", clusters=["1"], services=[], notebooks=[], endpoints=[], training_jobs=[])
    return Traces(cast(AwsClients, clients), cast(Fleet, fleet))


def test_a_resource_of_a_stack_is_not_retained_although_the_list_of_stacks_is_throttled():
    assert [one.id for one in _traces(_CloudFormation("dead", [])).found] == ["fs-1"]
    assert _traces(_CloudFormation("live", [])).found == ()
    assert _traces(_CloudFormation("not in the list of stacks", [])).found == ()
    throttled = _traces(_CloudFormation("live", [], refused="list_stacks"))
    assert throttled.found == ()
    assert [problem.code.value for problem in throttled.problems] == ["LF1005"]


def test_events_have_optional_keys():
    skipped = {"ResourceStatus": "DELETE_SKIPPED", "Timestamp": datetime(2026, 11, 1, tzinfo=UTC)}
    bucket = {**skipped, "PhysicalResourceId": "data-2", "ResourceType": "AWS::S3::Bucket", "LogicalResourceId": "Data"}
    events = [skipped, {**bucket, "PhysicalResourceId": ""}, {**skipped, "PhysicalResourceId": "only-id"}, bucket]
    traces = _traces(_CloudFormation("dead", events))
    assert traces.problems == []
    assert [(one.id, one.resource_type, one.logical_id) for one in traces.found if one.since] == [
        ("only-id", "type not reported", ""),
        ("data-2", "AWS::S3::Bucket", "Data"),
    ]


def test_the_stacks_of_exports_are_those_of_the_fleet():
    fleet = SimpleNamespace(name="f", clusters=[], services=["chat"], notebooks=[], endpoints=[], training_jobs=[])
    searched: list[str] = []

    class Tagging(_Tagging):
        def paginate(self, TagFilters: list[dict[str, Any]]) -> list[dict[str, Any]]:
            searched.extend(TagFilters[0]["Values"])
            return []

    clients = SimpleNamespace(cloudformation=_CloudFormation("dead", []), client=lambda _: Tagging())  # pyright: ignore
    Traces(cast(AwsClients, clients), cast(Fleet, fleet))
    assert {"f-chat", "f-chat-export"} <= set(searched)


def test_a_problem_of_every_call_is_reported_once():
    class Refused:
        def get_paginator(self, name: str) -> None:
            raise NoCredentialsError

    clients = SimpleNamespace(cloudformation=Refused(), client=lambda _: Refused())  # pyright: ignore
    fleet = SimpleNamespace(name="f", clusters=[], services=[], notebooks=[], endpoints=[], training_jobs=[])
    traces = Traces(cast(AwsClients, clients), cast(Fleet, fleet))
    assert [problem.code.value for problem in traces.problems] == ["LF1001"]
