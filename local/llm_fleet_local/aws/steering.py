"""Changes states that do not change by themselves in the AWS emulator: training jobs, clusters, waits."""

import json
from typing import Any

from llm_fleet_local.aws.execution_roles import check_execution_roles
from llm_fleet_local.aws.resources.moto_fixes.capacity_reservations import give_capacity_reservation
from llm_fleet_local.aws.resources.moto_fixes.cluster_nodes import steer_nodes
from llm_fleet_local.aws.resources.moto_fixes.endpoint_services import take_endpoint_services
from llm_fleet_local.aws.resources.moto_fixes.sagemaker_cluster_events import report_cluster_event
from llm_fleet_local.aws.resources.moto_fixes.sagemaker_cluster_operations import report_cluster_operation
from llm_fleet_local.aws.resources.moto_fixes.sagemaker_endpoints import let_interfaces_linger
from llm_fleet_local.aws.resources.moto_fixes.sagemaker_training_jobs import move_training_job, refuse_training_jobs
from llm_fleet_local.aws.resources.moto_fixes.service_quotas import give_quotas
from llm_fleet_local.aws.resources.moto_fixes.state_machine_runs import shorten_waits
from llm_fleet_local.aws.resources.moto_fixes.training_plans import give_training_plan
from llm_fleet_local.aws.resources.services import let_sagemaker_fail_for_what_is_gone


class Steering:
    """Handles requests of tests for one account."""

    def __init__(self, account: str) -> None:
        """Change the resources of `account`."""
        self._account = account

    def steer(self, requested: str) -> dict[str, Any]:
        """Handle one request, and return its result.

        JSON: `waits` in seconds, `refusals`, `execution_roles`, or `nodes`, `given`, `job`, `operation` or `event` with
        a `region`.
        """
        request: dict[str, Any] = json.loads(requested)
        if "waits" in request:
            shorten_waits(float(request["waits"]))
            return {}
        if "refusals" in request:
            refuse_training_jobs(request["refusals"])
            return {}
        if "endpoints" in request:
            let_interfaces_linger(request["endpoints"]["interfaces_linger"])
            let_sagemaker_fail_for_what_is_gone(request["endpoints"]["gone_is_an_error"])
            return {}
        if "execution_roles" in request:
            check_execution_roles(request["execution_roles"])
            return {}
        if "nodes" in request:
            return steer_nodes(self._account, request["region"], request["nodes"])
        if "given" in request:
            return self._give(request["region"], request["given"])
        if "operation" in request:
            return report_cluster_operation(self._account, request["region"], request["operation"])
        if "event" in request:
            return report_cluster_event(self._account, request["region"], request["event"])
        return move_training_job(self._account, request["region"], request["job"])

    def _give(self, region: str, given: dict[str, Any]) -> dict[str, Any]:
        give_quotas(self._account, region, given["quotas"])
        take_endpoint_services(self._account, region, given["without_endpoints"])
        for plan in given["training_plans"]:
            give_training_plan(self._account, region, plan)
        for reservation in given["capacity_reservations"]:
            give_capacity_reservation(self._account, region, reservation)
        return {}
