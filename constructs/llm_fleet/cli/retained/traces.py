"""Finds resources that stacks of a fleet left behind, by CloudFormation's events and by tags.

CloudFormation keeps the events of a deleted stack for 90 days, with an event DELETE_SKIPPED for each retained resource,
also for one that an update replaced and retained.
Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStackEvents.html
Later, the tags `aws:cloudformation:*` remain, which CloudFormation adds to most resources and which no user can remove.
Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-resource-tags.html
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from llm_fleet.cli.clients import AwsClients, AwsGone, AwsRefusal, aws_errors_reported
from llm_fleet.cli.plan.stack_templates import DESCRIBED, fleet_of_stack
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.rules.problem import Problem

_PARTS = ("network", "storage", "database", "monitoring", "metrics", "studio", "watch")
_GONE = "DELETE_COMPLETE"
_SKIPPED = "DELETE_SKIPPED"
_NOT_REPORTED = "type not reported"
_STACK_NAME, _LOGICAL_ID = "aws:cloudformation:stack-name", "aws:cloudformation:logical-id"
_VALUES = 20
"""Values of one filter. Source: model botocore resourcegroupstaggingapi TagValueList"""

_INCLUDED = frozenset(
    {
        "AWS::EC2::VPCCidrBlock",
        "AWS::EC2::SecurityGroupIngress",
        "AWS::EC2::SecurityGroupEgress",
        "AWS::EC2::SubnetRouteTableAssociation",
        "AWS::FSx::DataRepositoryAssociation",
        "AWS::FSx::Volume",
        "AWS::S3::BucketPolicy",
    }
)
"""Parts of another resource, which are deleted with it."""

_PARAMETER = "AWS::SSM::Parameter"
_ARNS = {
    r"ec2:[^:]*:[^:]*:vpc/(.+)": "AWS::EC2::VPC",
    r"ec2:[^:]*:[^:]*:subnet/(.+)": "AWS::EC2::Subnet",
    r"ec2:[^:]*:[^:]*:security-group/(.+)": "AWS::EC2::SecurityGroup",
    r"fsx:[^:]*:[^:]*:file-system/(.+)": "AWS::FSx::FileSystem",
    r"s3:::([^/]+)": "AWS::S3::Bucket",
    r"kms:[^:]*:[^:]*:key/(.+)": "AWS::KMS::Key",
    r"logs:[^:]*:[^:]*:log-group:([^:]+)": "AWS::Logs::LogGroup",
    r"ssm:[^:]*:[^:]*:parameter/(.+)": _PARAMETER,
    r"rds:[^:]*:[^:]*:cluster:(.+)": "AWS::RDS::DBCluster",
    r"rds:[^:]*:[^:]*:db:(.+)": "AWS::RDS::DBInstance",
    r"rds:[^:]*:[^:]*:cluster-snapshot:(.+)": "AWS::RDS::DBClusterSnapshot",
    r"rds:[^:]*:[^:]*:snapshot:(.+)": "AWS::RDS::DBSnapshot",
    r"dynamodb:[^:]*:[^:]*:table/(.+)": "AWS::DynamoDB::Table",
    r"(secretsmanager:[^:]*:[^:]*:secret:.+)": "AWS::SecretsManager::Secret",
}
"""Types of CloudFormation by the part of the ARN after the partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A resource that a stack left behind, as CloudFormation or its tags report it; it may not exist any more."""

    resource_type: str
    id: str
    """Its physical id in CloudFormation."""
    logical_id: str
    """Empty if it is unknown."""
    stack: str
    """Name of the stack that created it."""
    since: datetime | None
    """When its stack left it behind; `None` if it was found by its tags."""


class Traces:
    """Traces of a fleet's stacks, and the stacks that exist."""

    def __init__(self, clients: AwsClients, fleet: Fleet) -> None:
        """Query CloudFormation and the tags. A refused call is in `problems`, and the others are made.

        With problems, `found` may have resources of stacks that exist: list them, but do not change them.
        """
        self._clients = clients
        self._deleted: set[str] = set()
        self.stacks: tuple[str, ...] = ()
        """Names of the fleet's stacks that exist."""
        self.problems: list[Problem] = []
        first: dict[tuple[str, str], Trace] = {}
        for trace in (*self._by_events(fleet), *self._by_tags(fleet)):
            first.setdefault((trace.resource_type, trace.id), trace)
        self.found: tuple[Trace, ...] = tuple(trace for trace in first.values() if not self._has_stack(trace))

    def _by_events(self, fleet: Fleet) -> list[Trace]:
        try:
            with aws_errors_reported("list the stacks"):
                pages = self._clients.cloudformation.get_paginator("list_stacks").paginate()
                stacks: list[Any] = [stack for page in pages for stack in page["StackSummaries"]]
            self._deleted = {stack["StackId"] for stack in stacks if stack["StackStatus"] == _GONE}
            ours = [stack for stack in stacks if stack.get("TemplateDescription", "").endswith(DESCRIBED)]
            names = {stack["StackName"] for stack in ours}
            mine = [stack for stack in ours if fleet_of_stack(stack["StackName"], names) == fleet.name]
            self.stacks = tuple(sorted({one["StackName"] for one in mine if one["StackStatus"] != _GONE}))
            return [trace for stack in mine for trace in self._skipped(stack)]
        except AwsRefusal as refused:
            self._keep(refused)
            return []

    def _skipped(self, stack: dict[str, Any]) -> Iterator[Trace]:
        with aws_errors_reported(f"events of the stack {stack['StackName']}"):
            # By its id: a deleted stack cannot be described by its name.
            pages = self._clients.cloudformation.get_paginator("describe_stack_events").paginate(
                StackName=stack["StackId"]
            )
            events: list[Any] = [event for page in pages for event in page["StackEvents"]]
        for event in events:
            # A resource whose creation failed has no id. Source: model botocore cloudformation StackEvent
            id, resource_type = event.get("PhysicalResourceId"), event.get("ResourceType", _NOT_REPORTED)
            if event.get("ResourceStatus") == _SKIPPED and id and resource_type not in _INCLUDED:
                yield Trace(
                    resource_type=resource_type,
                    id=id,
                    logical_id=event.get("LogicalResourceId", ""),
                    stack=stack["StackName"],
                    since=event["Timestamp"],
                )

    def _by_tags(self, fleet: Fleet) -> list[Trace]:
        try:
            with aws_errors_reported("resources by their tags"):
                return list(tagged(self._clients, sorted({*_names(fleet), *self.stacks})))
        except AwsRefusal as refused:
            self._keep(refused)
            return []

    def _keep(self, refused: AwsRefusal) -> None:
        """Keep its problems once: e.g. without credentials, each call fails with the same one."""
        self.problems += [each for each in refused.problems if each not in self.problems]

    def _has_stack(self, trace: Trace) -> bool:
        """Return whether an existing stack has the resource, e.g. because a user imported it."""
        try:
            with aws_errors_reported(f"the stack of {trace.id}"):
                owners = self._clients.cloudformation.describe_stack_resources(PhysicalResourceId=trace.id)
        except AwsGone:
            return False
        except AwsRefusal as refused:
            # Without an answer it must not be deleted or adopted.
            self._keep(refused)
            return True
        # The response has deleted stacks, too, for 90 days. A stack that ListStacks did not report may exist.
        # Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStackResources.html
        return any(one.get("StackId") not in self._deleted for one in owners["StackResources"])


def tagged(clients: AwsClients, stacks: Sequence[str]) -> Iterator[Trace]:
    """Yield the resources of the known types with the tag of one of `stacks`, by name."""
    pages = (
        page
        for start in range(0, len(stacks), _VALUES)
        for page in clients.client("resourcegroupstaggingapi")
        .get_paginator("get_resources")
        .paginate(TagFilters=[{"Key": _STACK_NAME, "Values": list(stacks[start : start + _VALUES])}])
    )
    for resource in (resource for page in pages for resource in page["ResourceTagMappingList"]):
        tags = {tag["Key"]: tag["Value"] for tag in resource["Tags"]}
        for resource_type, id in _typed(resource["ResourceARN"]):
            yield Trace(
                resource_type=resource_type,
                id=id,
                logical_id=tags.get(_LOGICAL_ID, ""),
                stack=tags[_STACK_NAME],
                since=None,
            )


def _typed(arn: str) -> Iterator[tuple[str, str]]:
    rest = arn.split(":", 2)[2]
    for pattern, resource_type in _ARNS.items():
        if match := re.fullmatch(pattern, rest):
            if resource_type == _PARAMETER:
                # The ARN of `/a/b` ends with `parameter/a/b`, and names with `/` begin with it; `/a` and `a` have one
                # ARN, so the service decides.
                # Source: document https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html
                yield resource_type, f"/{match[1]}"
                if "/" in match[1]:
                    continue
            # CloudFormation's id of a secret is its ARN.
            yield resource_type, arn if match[1] == rest else match[1]


def _names(fleet: Fleet) -> Iterable[str]:
    """Return the names of the stacks that the fleet file can have."""
    keys = [
        *_PARTS,
        *fleet.clusters,
        *fleet.services,
        *(f"{name}-export" for name in fleet.services),
        *fleet.notebooks,
        *fleet.endpoints,
        *fleet.training_jobs,
    ]
    return [f"{fleet.name}-{key}" for key in keys]
