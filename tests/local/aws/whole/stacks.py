"""Small templates deployed through the query API, as by any client."""

import json
import time
from collections.abc import Mapping
from typing import Any

from llm_fleet_local.aws.client import LocalAws


def resource(kind: str, /, depends_on: str | None = None, **properties: Any) -> dict[str, Any]:
    return {"Type": kind, "Properties": properties, **({"DependsOn": depends_on} if depends_on else {})}


def ref(name: str) -> dict[str, Any]:
    return {"Ref": name}


def get_att(name: str, attribute: str) -> dict[str, Any]:
    return {"Fn::GetAtt": [name, attribute]}


class Stacks:
    """Creates and updates stacks and waits for them; every method that waits returns the status."""

    def __init__(self, aws: LocalAws) -> None:
        self.aws = aws
        self.client = aws.client
        self._cloudformation = aws.client("cloudformation")

    def create(self, name: str, resources: Mapping[str, Any]) -> str:
        return self._started(self._cloudformation.create_stack, name, resources)

    def update(self, name: str, resources: Mapping[str, Any]) -> str:
        return self._started(self._cloudformation.update_stack, name, resources)

    def failures(self, name: str) -> str:
        """Return why the stack's resources failed, from all its events."""
        reported = [event for event in self.aws.events(name) if event["ResourceStatus"].endswith("_FAILED")]
        return "; ".join(f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason')}" for event in reported)

    def physical_id(self, name: str, logical_id: str) -> str:
        found = self._cloudformation.describe_stack_resource(StackName=name, LogicalResourceId=logical_id)
        return found["StackResourceDetail"]["PhysicalResourceId"]

    def replacements(self, name: str, resources: Mapping[str, Any]) -> dict[str, str]:
        """Return the replacement value of each modified resource from a change set, which is not executed."""
        made = self._cloudformation.create_change_set(
            StackName=name, ChangeSetName="look", TemplateBody=json.dumps({"Resources": resources})
        )
        reported = self._cloudformation.describe_change_set(ChangeSetName=made["Id"])
        self._cloudformation.delete_change_set(ChangeSetName=made["Id"])
        changes = [change["ResourceChange"] for change in reported["Changes"]]
        return {one["LogicalResourceId"]: one["Replacement"] for one in changes if one["Action"] == "Modify"}

    def _started(self, operation: Any, name: str, resources: Mapping[str, Any]) -> str:
        body = json.dumps({"Resources": resources})
        stack = operation(StackName=name, TemplateBody=body, Capabilities=["CAPABILITY_NAMED_IAM"])["StackId"]
        while True:
            status = self._cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]
            if not status.endswith("_IN_PROGRESS"):
                return status
            time.sleep(0.05)
