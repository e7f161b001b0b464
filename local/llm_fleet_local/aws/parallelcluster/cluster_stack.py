"""A cluster's stack, created, updated and deleted through CloudFormation's API, as ParallelCluster does."""

import time
from collections.abc import Mapping
from typing import Any, cast

from botocore.exceptions import ClientError

from llm_fleet_local.aws.parallelcluster.cluster_template import cluster_template, new_log_group
from llm_fleet_local.aws.parallelcluster.handed_over import Rejected
from llm_fleet_local.aws.resources.services import Services

VERSION_TAG = "parallelcluster:version"
NAME_TAG = "parallelcluster:cluster-name"
_POLL_SECONDS = 0.1


class ClusterStack:
    """One cluster's stack."""

    def __init__(self, services: Services, region: str, name: str) -> None:
        """Manage the stack `name`, which need not exist."""
        self._client: Any = services.client("cloudformation", region)
        self._name = name

    def describe(self) -> dict[str, Any] | None:
        """Return CloudFormation's description; `None` if the stack does not exist."""
        try:
            return cast("dict[str, Any]", self._client.describe_stacks(StackName=self._name)["Stacks"][0])
        except ClientError:
            return None

    def deployed(self) -> Mapping[str, Any]:
        """Return the metadata of its template: version, log group and configuration."""
        # botocore parses a JSON template.
        template = cast("dict[str, Any]", self._client.get_template(StackName=self._name)["TemplateBody"])
        return template["Metadata"]

    def version(self) -> str | None:
        """Return the ParallelCluster version that created it; `None` for a stack without cluster."""
        found = self.describe()
        tags = {tag["Key"]: tag["Value"] for tag in found["Tags"]} if found else {}
        return tags.get(VERSION_TAG)

    def create(self, configuration: Mapping[str, Any], version: str, *, rolls_back: bool) -> None:
        """Create it and wait. Raises `Rejected` if that fails.

        Source: code of ParallelCluster 3.16.1, pcluster/models/cluster.py, Cluster._validate_no_existing_stack
        """
        if self.describe():
            raise Rejected(f"Cluster {self._name} already exists.")
        body = cluster_template(configuration, version=version, log_group=new_log_group(self._name))
        on_failure = "ROLLBACK" if rolls_back else "DO_NOTHING"
        self._client.create_stack(
            StackName=self._name, TemplateBody=body, Tags=self._tags(configuration, version), OnFailure=on_failure
        )
        self._wait("CREATE_COMPLETE")

    def update(self, configuration: Mapping[str, Any], version: str) -> None:
        """Update it and wait. Raises `Rejected` if that fails.

        Source: code of ParallelCluster 3.16.1, pcluster/models/cluster.py, Cluster.update
        Source: emulation, a change of settings that only real clusters have does not change the stand-ins' stack
        """
        body = cluster_template(configuration, version=version, log_group=self.deployed()["LogGroup"])
        try:
            self._client.update_stack(StackName=self._name, TemplateBody=body, Tags=self._tags(configuration, version))
        except ClientError as error:
            if "No updates are to be performed" not in str(error):
                raise Rejected(str(error)) from error
        self._wait("UPDATE_COMPLETE")

    def delete(self) -> None:
        """Delete it and wait; a missing stack is no error.

        Source: document
        https://github.com/aws/aws-parallelcluster/blob/v3.16.1/cloudformation/custom_resource/cluster.yaml: `poll`
        raises for "DELETE_FAILED", and a cluster that is not found has been deleted
        """
        found = self.describe()
        if found is None:
            return
        self._client.delete_stack(StackName=found["StackId"])
        while True:
            status = self._client.describe_stacks(StackName=found["StackId"])["Stacks"][0]["StackStatus"]
            if status == "DELETE_COMPLETE":
                return
            if not status.endswith("_IN_PROGRESS"):
                raise Rejected(f"{self._name}: {self._failures(found['StackId'])}")
            time.sleep(_POLL_SECONDS)

    def _wait(self, wanted: str) -> None:
        """Wait until the operation ends.

        Source: document
        https://github.com/aws/aws-parallelcluster/blob/v3.16.1/cloudformation/custom_resource/cluster.yaml: `poll`
        ends at "CREATE_COMPLETE", "UPDATE_COMPLETE" and raises for "CREATE_FAILED", "UPDATE_FAILED"
        """
        while True:
            found = self.describe()
            status = found["StackStatus"] if found else "gone"
            if not status.endswith("_IN_PROGRESS"):
                break
            time.sleep(_POLL_SECONDS)
        if status not in (wanted, "CREATE_COMPLETE", "UPDATE_COMPLETE"):
            raise Rejected(f"{self._name}: {self._failures(self._name)}")

    def _failures(self, stack: str) -> str:
        events = self._client.describe_stack_events(StackName=stack)["StackEvents"]
        failed = [event for event in reversed(events) if event["ResourceStatus"].endswith("_FAILED")]
        return "; ".join(f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason', '')}" for event in failed)

    def _tags(self, configuration: Mapping[str, Any], version: str) -> list[dict[str, str]]:
        own = [{"Key": NAME_TAG, "Value": self._name}, {"Key": VERSION_TAG, "Value": version}]
        return [*own, *configuration.get("Tags", [])]
