"""Deploys and destroys the stacks of a cloud assembly through CloudFormation's API."""

import json
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from llm_fleet_local.aws.assembly.manifest import AssemblyStack, stacks_of
from llm_fleet_local.aws.assembly.report import DeploymentReport, StackReport
from llm_fleet_local.aws.assembly.upload import upload

ClientOf = Callable[[str, str], Any]
"""Service name and region to a boto3 client."""

_FIRST_POLL_SECONDS = 0.05
_LAST_POLL_SECONDS = 0.3
"""Seconds between status queries. A query takes the server as long as a resource, so polling becomes less frequent."""
_CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]


class AssemblyDeployer:
    """Deploys and destroys an assembly in one account, as `cdk deploy --all` and `cdk destroy --all` do."""

    def __init__(self, client: ClientOf, *, endpoint: str, account: str, region: str) -> None:
        """Use boto3 clients."""
        self._client = client
        self._endpoint = endpoint
        self._account = account
        self._region = region

    def deploy(
        self, assembly: Path, *, only: Collection[str] | None = None, role_arn: str | None = None
    ) -> DeploymentReport:
        """Upload assets, and create or update each stack; stop at the first failure.

        `only`: names of stacks, as `cdk deploy --exclusively NAME…` takes them. Default: all.
        `role_arn`: the service role of the stacks. Default: none, or the one of the last deployment.
        """
        reports: list[StackReport] = []
        for stack in stacks_of(assembly, account=self._account, region=self._region):
            if only is not None and stack.name not in only:
                continue
            for asset in stack.assets:
                upload(asset, self._client("s3", asset.region))
            reports.append(self._deploy(stack, role_arn))
            if not reports[-1].succeeded:
                break
        return DeploymentReport(stacks=tuple(reports))

    def destroy(self, assembly: Path, *, unprotect: bool = False) -> DeploymentReport:
        """Delete each stack in reverse order of deployment; stop at the first failure.

        `unprotect`: turn off termination protection first. By default, deleting a protected stack fails, as with
        `cdk destroy`.
        """
        reports: list[StackReport] = []
        for stack in reversed(stacks_of(assembly, account=self._account, region=self._region)):
            if unprotect and self._describe(stack):
                self._client("cloudformation", stack.region).update_termination_protection(
                    StackName=stack.name, EnableTerminationProtection=False
                )
            reports.append(self._destroy(stack))
            if not reports[-1].succeeded:
                break
        return DeploymentReport(stacks=tuple(reports))

    def _deploy(self, stack: AssemblyStack, role_arn: str | None) -> StackReport:
        cloudformation = self._client("cloudformation", stack.region)
        before = self._describe(stack)
        if before and before["StackStatus"] in ("ROLLBACK_COMPLETE", "REVIEW_IN_PROGRESS", "CREATE_FAILED"):
            cloudformation.delete_stack(StackName=stack.name)
            self._wait(stack, before["StackId"])
            before = None
        if before and self._can_be_skipped(stack, before):
            return _report(stack, before, changed=False)
        request = self._request(stack, before) | ({"RoleARN": role_arn} if role_arn else {})
        try:
            if before:
                stack_id = cloudformation.update_stack(**request)["StackId"]
            else:
                stack_id = cloudformation.create_stack(
                    **request, EnableTerminationProtection=stack.termination_protection
                )["StackId"]
        except ClientError as error:
            text = str(error.response.get("Error", {}).get("Message", error))
            if before and text.startswith("No updates"):
                self._protect(stack, before)
                return _report(stack, before, changed=False)
            return StackReport(
                name=stack.name, region=stack.region, status="REFUSED", changed=False, failures=tuple(text.splitlines())
            )
        report = self._finished(stack, stack_id)
        if before and report.succeeded:
            self._protect(stack, before)
        return report

    def _can_be_skipped(self, stack: AssemblyStack, before: Any) -> bool:
        """Return whether the CDK CLI would skip the stack, because nothing differs.

        Source: code of the CDK CLI 2.1148.1, canSkipDeploy
        """
        if before["StackStatus"].endswith("FAILED") or self._protection_differs(stack, before):
            return False
        if {tag["Key"]: tag["Value"] for tag in before.get("Tags", [])} != dict(stack.tags):
            return False
        requested = self._client("cloudformation", stack.region).get_template(StackName=stack.name)["TemplateBody"]
        deployed = json.loads(requested) if isinstance(requested, str) else requested
        return deployed == json.loads(stack.template.read_text(encoding="utf-8"))

    def _protect(self, stack: AssemblyStack, before: Any) -> None:
        """Set termination protection as in the assembly.

        Source: code of the CDK CLI 2.1148.1, updateTerminationProtection: after an update, and where there is none
        """
        if self._protection_differs(stack, before):
            self._client("cloudformation", stack.region).update_termination_protection(
                StackName=stack.name, EnableTerminationProtection=stack.termination_protection
            )

    @staticmethod
    def _protection_differs(stack: AssemblyStack, before: Any) -> bool:
        return bool(before.get("EnableTerminationProtection")) != stack.termination_protection

    def _destroy(self, stack: AssemblyStack) -> StackReport:
        before = self._describe(stack)
        if before is None:
            return StackReport(name=stack.name, region=stack.region, status="DELETE_COMPLETE", changed=False)
        try:
            self._client("cloudformation", stack.region).delete_stack(StackName=stack.name)
        except ClientError as error:
            return _report(stack, before, changed=False, failures=(str(error),))
        return self._finished(stack, before["StackId"])

    def _request(self, stack: AssemblyStack, before: Any) -> dict[str, Any]:
        parameters = [{"ParameterKey": key, "ParameterValue": value} for key, value in stack.parameters.items()]
        template = {"TemplateBody": stack.template.read_text(encoding="utf-8")}
        if stack.template_url:
            template = {"TemplateURL": f"{self._endpoint}/{stack.template_url.removeprefix('s3://')}"}
        return {
            "StackName": stack.name,
            **template,
            "Parameters": parameters,
            "Tags": [{"Key": key, "Value": value} for key, value in stack.tags.items()],
            "Capabilities": _CAPABILITIES,
        }

    def _finished(self, stack: AssemblyStack, stack_id: str) -> StackReport:
        after = self._wait(stack, stack_id)
        report = _report(stack, after, changed=True)
        return (
            report
            if report.succeeded
            else _report(stack, after, changed=True, failures=self._failures(stack_id, stack))
        )

    def _describe(self, stack: AssemblyStack) -> Any:
        try:
            return self._client("cloudformation", stack.region).describe_stacks(StackName=stack.name)["Stacks"][0]
        except ClientError as error:
            if "does not exist" in str(error):
                return None
            raise

    def _wait(self, stack: AssemblyStack, stack_id: str) -> Any:
        cloudformation = self._client("cloudformation", stack.region)
        pause = _FIRST_POLL_SECONDS
        while True:
            found = cloudformation.describe_stacks(StackName=stack_id)["Stacks"][0]
            if not found["StackStatus"].endswith("_IN_PROGRESS"):
                return found
            time.sleep(pause)
            pause = min(pause * 1.2, _LAST_POLL_SECONDS)

    def _failures(self, stack_id: str, stack: AssemblyStack) -> tuple[str, ...]:
        pages = self._client("cloudformation", stack.region).get_paginator("describe_stack_events")
        events = [event for page in pages.paginate(StackName=stack_id) for event in page["StackEvents"]]
        operation = events[0]["OperationId"]
        return tuple(
            f"{event['LogicalResourceId']} ({event['ResourceType']}): {event.get('ResourceStatusReason', '')}"
            for event in reversed(events)
            if event["ResourceStatus"].endswith("_FAILED") and event["OperationId"] == operation
        )


def _report(stack: AssemblyStack, found: Any, *, changed: bool, failures: tuple[str, ...] = ()) -> StackReport:
    return StackReport(
        name=stack.name,
        region=stack.region,
        status=found["StackStatus"],
        changed=changed,
        outputs={item["OutputKey"]: item["OutputValue"] for item in found.get("Outputs", [])},
        failures=failures,
    )
