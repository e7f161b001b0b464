"""Life cycles of state machines and schedules."""

import json
from typing import Any

from tests.local.aws.resources.support import ACCOUNT, REGION, Deployer, trust

ROLE = f"arn:aws:iam::{ACCOUNT}:role/a-machine"
LOG = f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:machine:*"
DEFINITION = json.dumps({"StartAt": "Done", "States": {"Done": {"Type": "Succeed"}}})
OTHER = json.dumps({"StartAt": "Over", "States": {"Over": {"Type": "Succeed"}}})


def machine(client: Any, arn: str) -> dict[str, Any]:
    """Return all of Step Functions' data about a state machine."""
    tags = client.list_tags_for_resource(resourceArn=arn)["tags"]
    return client.describe_state_machine(stateMachineArn=arn) | {"tags": {tag["key"]: tag["value"] for tag in tags}}


SCHEDULER = f"arn:aws:iam::{ACCOUNT}:role/a-schedule"


def make_schedule_role(deployer: Deployer) -> None:
    """Create the role of a schedule."""
    deployer.create("AWS::IAM::Role", RoleName="a-schedule", AssumeRolePolicyDocument=trust("scheduler.amazonaws.com"))


def make_role(deployer: Deployer) -> None:
    """Create the role of a state machine: the service rejects a role that it cannot assume."""
    deployer.create("AWS::IAM::Role", RoleName="a-machine", AssumeRolePolicyDocument=trust("states.amazonaws.com"))


MACHINE: dict[str, Any] = {
    "StateMachineName": "llama",
    "StateMachineType": "STANDARD",
    "RoleArn": ROLE,
    "DefinitionString": DEFINITION,
    "TracingConfiguration": {"Enabled": True},
    "LoggingConfiguration": {
        "Level": "ALL",
        "IncludeExecutionData": False,
        "Destinations": [{"CloudWatchLogsLogGroup": {"LogGroupArn": LOG}}],
    },
    "Tags": [{"Key": "mine", "Value": "yes"}],
}
MACHINE_REPORTED: dict[str, Any] = {
    "name": "llama",
    "definition": DEFINITION,
    "tracingConfiguration": {"enabled": True},
    "loggingConfiguration": {
        "level": "ALL",
        "includeExecutionData": False,
        "destinations": [{"cloudWatchLogsLogGroup": {"logGroupArn": LOG}}],
    },
}
