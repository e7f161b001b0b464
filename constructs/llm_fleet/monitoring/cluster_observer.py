"""The Lambda function that checks clusters: its role, rules and alarms."""

import json
from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.monitoring import account_metrics, cluster_log_group
from llm_fleet.iam.statements import Permission, Place, reasons_of, statement_of
from llm_fleet.lifecycle.python_function import FunctionCode, PythonFunction
from llm_fleet.monitoring.monitored_cluster import PERIOD, ClusterKind
from llm_fleet.notifications.metric_alarms import AlarmPlan, function_metric
from llm_fleet.sagemaker.watch_events import CLUSTER_EVENTS


def observer_permissions(
    place: Place, clusters: Mapping[str, ClusterKind], *, key_arn: str | None
) -> tuple[Permission, ...]:
    """Return the function's permissions for `clusters` by name; `key_arn` encrypts their log groups."""
    kinds = set(clusters.values())
    return (
        Permission(
            sid="PublishMetrics",
            actions=("cloudwatch:PutMetricData",),
            resources=("*",),
            conditions={"StringEquals": {"cloudwatch:namespace": account_metrics().namespace}},
            reason="it publishes metrics; the action supports no resource, so the namespace is the condition",
        ),
        *(_hyperpod(place, clusters, key_arn) if ClusterKind.HYPERPOD in kinds else ()),
        *(_parallelcluster() if ClusterKind.PARALLELCLUSTER in kinds else ()),
    )


def _hyperpod(place: Place, clusters: Mapping[str, ClusterKind], key_arn: str | None) -> tuple[Permission, ...]:
    names = sorted(name for name, kind in clusters.items() if kind == ClusterKind.HYPERPOD)
    groups = tuple(place.arn("logs", f"log-group:{cluster_log_group()}/{name}/*") for name in names)
    encrypt = ("logs:AssociateKmsKey",) if key_arn else ()
    return (
        Permission(
            sid="AskClusters",
            actions=("sagemaker:DescribeCluster", "sagemaker:ListClusterNodes"),
            resources=(place.arn("sagemaker", "cluster/*"),),
            reason="a cluster's ARN ends with a generated id, and the cluster may not exist yet",
        ),
        Permission(
            sid="FindLogGroups",
            actions=("logs:DescribeLogGroups",),
            resources=(place.arn("logs", "log-group:*"),),
            reason="log groups are found by their name prefix, for which IAM has no narrower resource",
        ),
        Permission(
            sid="KeepLogGroups",
            actions=("logs:CreateLogGroup", "logs:PutRetentionPolicy", *encrypt),
            resources=groups,
            reason="it sets a log group's retention before the first node writes; the name ends with an id",
        ),
    )


def _parallelcluster() -> tuple[Permission, ...]:
    return (
        Permission(
            sid="LookAtHeadNodes",
            actions=("ec2:DescribeInstances", "ec2:DescribeInstanceStatus"),
            resources=("*",),
            reason="a head node is found by its tags; EC2's Describe actions support no resource",
        ),
    )


_HALF_HOUR = 6
"""Number of periods of five minutes, which is the number of runs."""


def observer_plans(function_name: str) -> tuple[AlarmPlan, ...]:
    """Return the alarms on the function itself."""

    return (
        AlarmPlan(
            id="ObserverFails",
            measure=function_metric(function_name, "Errors", label="Errors", period_seconds=PERIOD),
            threshold=1,
            periods=_HALF_HOUR,
            ringing=3,
            meaning="The function that counts nodes failed in three of its last six runs: alarms on nodes may have no "
            "data. Its log has the cluster and the reason; for a missing permission, it has the IAM action.",
        ),
        AlarmPlan(
            id="ObserverAsleep",
            measure=function_metric(function_name, "Invocations", label="Invocations", period_seconds=PERIOD),
            threshold=1,
            below=True,
            periods=_HALF_HOUR,
            missing="missing",
            reports_silence=True,
            meaning="The function that counts nodes has not run for 30 minutes: alarms on nodes have no data. Check "
            "that its rule is enabled, and that the account's Lambda functions are not throttled.",
        ),
    )


_STATE = CLUSTER_EVENTS[0]
_CODE = FunctionCode.of_package(
    "cluster_observer",
    timeout=account_metrics().timeout_seconds,
    description="Counts missing and failed nodes of clusters, and sets the retention of their logs",
    policy_description="Permissions of the function that checks clusters",
    role_description="Role of the function that checks clusters",
    unencrypted_log="its log has names of clusters and log groups, encrypted by CloudWatch",
)


class ClusterObserver(Construct):
    """Publishes metrics of clusters every five minutes, and sets the retention of HyperPod's log groups.

    It refers to clusters by name and can be deployed before them: EventBridge invokes it when a cluster is created, and
    it creates the log group before the first node writes. The next scheduled run handles missed events.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        clusters: Mapping[str, ClusterKind],
        retention_days: int,
        log_encryption_key: kms.IKey | None = None,
    ) -> None:
        """Create the function and its rules. `clusters`: kinds by name, at least one.

        `retention_days`: of HyperPod's log groups. `log_encryption_key`: for these and its own; its policy must let
        CloudWatch Logs use it. Default: CloudWatch's own encryption.
        """
        super().__init__(scope, id)
        self._clusters = clusters
        key_arn = log_encryption_key.key_arn if log_encryption_key else None
        facts = account_metrics()
        self.function = PythonFunction(
            self,
            "Function",
            code=_CODE,
            environment={
                "CLUSTERS": cdk.Stack.of(self).to_json_string(_kinds(clusters)),
                "NAMESPACE": facts.namespace,
                "DIMENSION": facts.dimension,
                "METRICS": json.dumps(dict(facts.metrics)),
                "LOG_GROUP": cluster_log_group(),
                "RETENTION_DAYS": str(retention_days),
                **({"KEY_ARN": key_arn} if key_arn else {}),
            },
            log_encryption_key=log_encryption_key,
        )
        """The function with its role and log group."""
        self._allow(key_arn)
        self._make_rule("Clock", "Checks the state of clusters", schedule=f"rate({facts.minutes} minutes)")
        if ClusterKind.HYPERPOD in clusters.values():
            self._hear()
        acknowledge(
            self,
            f"it runs every {facts.minutes} minutes, and the next run completes what a failed one missed",
            "NIST.800.53.R5-LambdaConcurrency",
            "NIST.800.53.R5-LambdaDLQ",
        )

    def _hear(self) -> None:
        # assumption: hyperpod-event-before-first-log
        names = [name for name, kind in self._clusters.items() if kind == ClusterKind.HYPERPOD]
        self._make_rule(
            "States",
            "Reports that a cluster is being created, before its first node writes",
            pattern={"source": ["aws.sagemaker"], "detail-type": [_STATE], "detail": {"ClusterName": names}},
        )

    def _allow(self, key_arn: str | None) -> None:
        place = Place.of(self)
        permissions = observer_permissions(place, self._clusters, key_arn=key_arn)
        statements: list[iam.PolicyStatement] = [statement_of(permission) for permission in permissions]
        self.function.allow_statements(statements, wildcards=reasons_of(permissions))

    def _make_rule(
        self, id: str, description: str, *, schedule: str | None = None, pattern: object | None = None
    ) -> None:
        function = self.function.function
        rule = events.CfnRule(
            self,
            id,
            description=description,
            schedule_expression=schedule,
            event_pattern=pattern,
            targets=[events.CfnRule.TargetProperty(arn=function.attr_arn, id="Observer")],
        )
        lambda_.CfnPermission(
            self,
            f"{id}Permission",
            action="lambda:InvokeFunction",
            function_name=function.ref,
            principal="events.amazonaws.com",
            source_arn=rule.attr_arn,
        )


def _kinds(clusters: Mapping[str, ClusterKind]) -> dict[str, str]:
    return {name: kind.value for name, kind in clusters.items()}
