"""Lists notebooks, Studio, endpoints and training jobs, from the APIs of SageMaker and Step Functions."""

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from llm_fleet_local.command.tables import table


class SageMakerPieces:
    """A table for each kind of SageMaker resource in one region."""

    def __init__(self, client: Callable[[str], Any], console: Console) -> None:
        """Query the services with boto3 clients from `client`; print to `console`."""
        self._client = client
        self._console = console

    def show(self) -> None:
        """Print all tables, or nothing if there are no resources."""
        for shown in (self._notebooks(), self._domains(), self._endpoints(), self._machines()):
            if shown.row_count:
                self._console.print(shown)

    def _notebooks(self) -> Table:
        shown = table("notebook instances", "notebook", "status", "type", "platform", "internet")
        sagemaker = self._client("sagemaker")
        for summary in sagemaker.list_notebook_instances()["NotebookInstances"]:
            found = sagemaker.describe_notebook_instance(NotebookInstanceName=summary["NotebookInstanceName"])
            shown.add_row(
                found["NotebookInstanceName"],
                found["NotebookInstanceStatus"],
                found["InstanceType"],
                found.get("PlatformIdentifier", ""),
                found.get("DirectInternetAccess", ""),
            )
        return shown

    def _domains(self) -> Table:
        shown = table("Studio", "domain", "status", "network", "people")
        sagemaker = self._client("sagemaker")
        for summary in sagemaker.list_domains()["Domains"]:
            found = sagemaker.describe_domain(DomainId=summary["DomainId"])
            people = sagemaker.list_user_profiles(DomainIdEquals=summary["DomainId"])["UserProfiles"]
            shown.add_row(
                found["DomainName"],
                found["Status"],
                found["AppNetworkAccessType"],
                ", ".join(person["UserProfileName"] for person in people),
            )
        return shown

    def _endpoints(self) -> Table:
        shown = table("endpoints", "endpoint", "status", "instances", "image")
        sagemaker = self._client("sagemaker")
        for summary in sagemaker.list_endpoints()["Endpoints"]:
            found = sagemaker.describe_endpoint(EndpointName=summary["EndpointName"])
            config = sagemaker.describe_endpoint_config(EndpointConfigName=found["EndpointConfigName"])
            for variant in config["ProductionVariants"]:
                model = sagemaker.describe_model(ModelName=variant["ModelName"])
                shown.add_row(
                    found["EndpointName"],
                    found["EndpointStatus"],
                    f"{variant['InitialInstanceCount']} {variant['InstanceType']}",
                    model["PrimaryContainer"]["Image"].rsplit("/", 1)[-1],
                )
        return shown

    def _machines(self) -> Table:
        shown = table("training jobs, started on request", "state machine", "status", "runs")
        states = self._client("stepfunctions")
        for summary in states.list_state_machines()["stateMachines"]:
            found = states.describe_state_machine(stateMachineArn=summary["stateMachineArn"])
            runs = states.list_executions(stateMachineArn=summary["stateMachineArn"])["executions"]
            shown.add_row(found["name"], found["status"], str(len(runs)))
        return shown
