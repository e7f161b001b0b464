"""Checks a provider's input with ParallelCluster's code, and the IAM permissions of its function and nodes."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from llm_fleet_local.aws.parallelcluster.around import account_context
from llm_fleet_local.aws.parallelcluster.handed_over import HandedOver, Rejected
from llm_fleet_local.aws.resources.services import Services
from llm_fleet_local.parallelcluster import named
from llm_fleet_local.parallelcluster.answers import Change, Finding
from llm_fleet_local.parallelcluster.client import Oracle, OracleFailed, OracleUnavailable

_LEVELS = ("INFO", "WARNING", "ERROR")
_ATTACHABLE = re.compile(
    r"arn:[^:]+:iam::(\d{12}:policy/parallelcluster.*|aws:policy/("
    r"CloudWatchAgentServerPolicy|AmazonSSMManagedInstanceCore|AWSBatchFullAccess|AmazonS3ReadOnlyAccess|"
    r"EC2InstanceProfileForImageBuilder|service-role/(AWSBatchServiceRole|AmazonEC2ContainerServiceforEC2Role|"
    r"AmazonECSTaskExecutionRolePolicy|AmazonEC2SpotFleetTaggingRole|AWSLambdaBasicExecutionRole)))"
)


class Decision:
    """ParallelCluster's checks. One process serves all stacks; the first cluster starts it."""

    def __init__(self, services: Services) -> None:
        """Query the services at one endpoint for existing resources."""
        self._services = services
        self._oracle = Oracle()

    def validate(self, handed: HandedOver, region: str) -> list[Finding]:
        """Return the findings below the failure level of a configuration. Raises `Rejected` for findings at this level.

        Source: code of ParallelCluster 3.16.1, pcluster/models/cluster.py, Cluster._validate_and_parse_config
        """
        around = account_context(self._services, region, handed.configuration)
        findings = self._ask(lambda: self._oracle.validate(handed.configuration, handed.name, around=around))
        findings = [one for one in findings if not _suppressed(one, handed.suppressed)]
        fatal = _LEVELS.index(handed.failure_level)
        if any(_LEVELS.index(one.level) >= fatal for one in findings):
            raise Rejected(_invalid(findings))
        _reject_policies(handed.configuration)
        _reject_missing_scripts(handed.configuration, around.missing)
        return findings

    def changes(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
        """Return the changes of a running cluster. Raises `Rejected` if one of them is not possible.

        Source: code of ParallelCluster 3.16.1, pcluster/models/cluster.py, Cluster._validate_patch
        """
        stopped = [str(pool["Name"]) for pool in named.login_pools(old) if str(pool.get("Count")) == "0"]
        without_login = not named.login_pools(old) or len(stopped) == len(named.login_pools(old))
        changes = self._ask(
            lambda: self._oracle.update(old, new, login_nodes_stopped=True if without_login else stopped)
        )
        rejected = [one for one in changes if one.verdict != "SUCCEEDED"]
        if rejected:
            raise Rejected(_not_updatable(rejected))
        return changes

    def _ask(self, question: Any) -> Any:
        # Source: emulation, ParallelCluster's own code is called, and can be missing or fail
        try:
            return question()
        except OracleUnavailable as missing:
            raise Rejected(f"STAND-IN: ParallelCluster's own code cannot run. {missing}") from missing
        except OracleFailed as failed:
            raise Rejected(f"ParallelCluster's own code fails with: {failed.error}") from failed


def messages(findings: Sequence[Finding]) -> str:
    """Return findings as in `validationMessages`: JSON, truncated if it is long."""
    text = json.dumps(_errors(findings))
    return f"TRUNCATED:{text[:2048]}" if len(text) > 2048 else text


def _suppressed(finding: Finding, suppressed: Sequence[str]) -> bool:
    return finding.validator != "ClusterSchema" and ("ALL" in suppressed or f"type:{finding.validator}" in suppressed)


def _invalid(findings: Sequence[Finding]) -> str:
    in_order = sorted(findings, key=lambda one: _LEVELS.index(one.level))
    error = {"message": "Invalid cluster configuration.", "configuration_validation_errors": _errors(in_order)}
    return json.dumps(error)


def _errors(findings: Sequence[Finding]) -> list[dict[str, str]]:
    return [{"level": one.level, "type": one.validator, "message": one.message} for one in findings]


def _not_updatable(changes: Sequence[Change]) -> str:
    errors = [
        {
            "parameter": one.path.replace("/", "."),
            "current_value": one.old,
            "requested_value": one.new,
            "message": f"{one.reason} {one.action_needed}".strip(),
        }
        for one in changes
    ]
    return json.dumps({"message": "Update failure", "update_validation_errors": errors}, default=str)


def _reject_policies(configuration: Mapping[str, Any]) -> None:
    """Reject policies that the condition iam:PolicyARN of the function's role does not allow it to attach.

    Source: document
    https://github.com/aws/aws-parallelcluster/blob/v3.16.1/cloudformation/policies/parallelcluster-policies.yaml
    (2026-11)
    """
    for arn in named.values(configuration, "Policy", under="AdditionalIamPolicies"):
        if not _ATTACHABLE.fullmatch(arn):
            raise Rejected(
                f"the provider is not authorized to perform: iam:AttachRolePolicy with {arn}: it may attach only "
                "policies of the account whose path and name begin with `parallelcluster`, and a few of AWS"
            )


def _reject_missing_scripts(configuration: Mapping[str, Any], missing: Collection[str]) -> None:
    """Reject missing scripts: ParallelCluster only warns about them, and its nodes fail an hour later.

    Source: assumption parallelcluster-nodes-as-in-its-code
    """
    absent = [uri for uri in named.values(configuration, "Script", under="CustomActions") if uri in missing]
    if absent:
        raise Rejected(f"nodes cannot download their scripts, which do not exist: {', '.join(absent)}")
