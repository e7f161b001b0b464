"""The watch's Lambda function, its queue of events, its record of decisions, and its settings."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.training_job import training_watch_facts
from llm_fleet.lifecycle.python_function import FunctionCode, PythonFunction
from llm_fleet.spec.spec import in_request
from llm_fleet.spec.watch import CheckpointLayout, JobWatch, RestartPolicy, WatchConditions, WatchSpec

_EVENTS = "events.amazonaws.com"
OPEN_INDEX = "open"
"""Index of items with pending actions."""
_JOB = "job"
EVERY_CLUSTER = "*"
"""All clusters whose events the rule matches."""
_ALARMS = {"loss_spike": "loss-spike", "stall": "stall", "not_a_number": "nan", "throughput_drop": "throughput"}
"""The function's keys of the conditions."""


class WatchFunction(PythonFunction):
    """A Lambda function that takes events from the watch's queue, one at a time.

    One at a time, because copying a checkpoint must not delay other events. At most two concurrent invocations: the
    record prevents conflicts, and the rest of the account's concurrency remains available.
    """

    def __init__(
        self, scope: Construct, id: str, *, environment: Mapping[str, str], log_encryption_key: kms.IKey | None
    ) -> None:
        """Create the function; `map_queue` connects it to its queue."""
        facts = training_watch_facts().queue
        super().__init__(
            scope,
            id,
            code=FunctionCode.of_package(
                "training_watch",
                timeout=facts.timeout_seconds,
                description="Restarts failed training jobs, stops jobs without progress, publishes cluster events",
                policy_description="Permissions of the function that watches training jobs",
                role_description="Role of the function that watches training jobs and clusters",
                unencrypted_log="its log has names of jobs and decisions, encrypted by CloudWatch",
            ),
            environment=environment,
            memory_mib=facts.memory_mib,
            log_encryption_key=log_encryption_key,
        )
        acknowledge(
            self,
            "events wait in a queue, whose mapping limits concurrency; reserved concurrency needs a quota that a new "
            "account does not have",
            "NIST.800.53.R5-LambdaConcurrency",
        )
        acknowledge(
            self,
            "only its queue invokes it, and failed messages go to the dead-letter queue",
            "NIST.800.53.R5-LambdaDLQ",
        )

    def map_queue(self, queue_arn: str) -> lambda_.CfnEventSourceMapping:
        """Let Lambda invoke it with each message of the queue `queue_arn`."""
        return lambda_.CfnEventSourceMapping(
            self,
            "FromQueue",
            function_name=self.function.ref,
            event_source_arn=queue_arn,
            batch_size=1,
            function_response_types=["ReportBatchItemFailures"],
            scaling_config=lambda_.CfnEventSourceMapping.ScalingConfigProperty(
                maximum_concurrency=training_watch_facts().queue.concurrency
            ),
        )


class WatchQueue(Construct):
    """An encrypted queue that EventBridge rules write to over TLS, and its dead-letter queue.

    A standard queue, because the record makes repeated, late and reordered events harmless, and a FIFO queue has no
    delay for single messages and is blocked by a failing one.
    """

    def __init__(self, scope: Construct, id: str, *, encryption_key: kms.IKey) -> None:
        """Create both, and let EventBridge use `encryption_key` if its key policy can be changed in this app."""
        super().__init__(scope, id)
        facts = training_watch_facts().queue
        self.dead_letters = self._queue("DeadLetters", encryption_key, retention_days=facts.retention_days)
        """Messages that failed repeatedly or could not be delivered; retention of 14 days."""
        self.queue = self._queue(
            "Resource",
            encryption_key,
            visibility_seconds=facts.timeout_seconds * facts.visibility_per_timeout,
            dead_letter_queue=sqs.DeadLetterQueue(max_receive_count=facts.receives, queue=self._as_queue()),
        )
        """Messages for the function; retention of 4 days, which leaves at least 10 in the dead-letter queue."""
        self._let_events_use(encryption_key)

    def receive_from(self, rule_arn: str, *, sid: str) -> None:
        """Let the rule `rule_arn` write to both; undelivered events go to the dead-letter queue. `sid`: statements."""
        account = cdk.Stack.of(self).account
        for queue in (self.queue, self.dead_letters):
            queue.add_to_resource_policy(
                iam.PolicyStatement(
                    sid=sid,
                    principals=[iam.ServicePrincipal(_EVENTS)],  # pyright: ignore[reportArgumentType]
                    actions=["sqs:SendMessage"],
                    resources=[queue.queue_arn],
                    conditions={
                        "ArnEquals": {"aws:SourceArn": rule_arn},
                        "StringEquals": {"aws:SourceAccount": account},
                    },
                )
            )

    def _queue(
        self,
        id: str,
        key: kms.IKey,
        *,
        retention_days: int | None = None,
        visibility_seconds: int | None = None,
        dead_letter_queue: sqs.DeadLetterQueue | None = None,
    ) -> sqs.Queue:
        return sqs.Queue(
            self,
            id,
            encryption=sqs.QueueEncryption.KMS,
            encryption_master_key=key,
            enforce_ssl=True,
            retention_period=cdk.Duration.days(retention_days) if retention_days else None,
            visibility_timeout=cdk.Duration.seconds(visibility_seconds) if visibility_seconds else None,
            dead_letter_queue=dead_letter_queue,
        )

    def _as_queue(self) -> sqs.IQueue:
        return cast(sqs.IQueue, self.dead_letters)

    def _let_events_use(self, key: kms.IKey) -> None:
        """Without this permission for EventBridge, each delivery would fail without notice.

        The condition is the account, not the rules: rules refer to the queue, which refers to the key, so a key policy
        with the rules would be a circular dependency. The CDK's own target for queues does the same
        (docs.aws.amazon.com/eventbridge/latest/userguide/eb-troubleshooting.html, on encrypted queues).
        """
        added = key.add_to_resource_policy(
            iam.PolicyStatement(
                sid="EventsOfThisAccount",
                principals=[iam.ServicePrincipal(_EVENTS)],  # pyright: ignore[reportArgumentType]
                actions=["kms:Decrypt", "kms:GenerateDataKey"],
                resources=["*"],
                conditions={"StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account}},
            )
        )
        if not added.statement_added:
            cdk.Annotations.of(self).add_warning_v2(
                "llm-fleet:watch-key",
                "the policy of this key cannot be changed in this app: it must allow events.amazonaws.com "
                "kms:Decrypt and kms:GenerateDataKey, or the watch gets no events",
            )


class WatchRecord(Construct):
    """A table with an item for each job: events, decision, reason and result. It is retained by default.

    Its only key is the job, so that a conditional write makes repeated events harmless.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        encryption_key: kms.IKey,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        """Create the table, with on-demand billing and point-in-time recovery of 35 days."""
        super().__init__(scope, id)
        string = [
            dynamodb.CfnTable.AttributeDefinitionProperty(attribute_name=name, attribute_type="S")
            for name in (_JOB, OPEN_INDEX)
        ]
        self.table = dynamodb.CfnTable(
            self,
            "Resource",
            billing_mode="PAY_PER_REQUEST",
            attribute_definitions=string,
            key_schema=[_key(_JOB, "HASH")],
            global_secondary_indexes=[
                dynamodb.CfnTable.GlobalSecondaryIndexProperty(
                    index_name=OPEN_INDEX,
                    key_schema=[_key(OPEN_INDEX, "HASH"), _key(_JOB, "RANGE")],
                    projection=dynamodb.CfnTable.ProjectionProperty(projection_type="KEYS_ONLY"),
                )
            ],
            point_in_time_recovery_specification=dynamodb.CfnTable.PointInTimeRecoverySpecificationProperty(
                point_in_time_recovery_enabled=True
            ),
            sse_specification=dynamodb.CfnTable.SSESpecificationProperty(
                sse_enabled=True, sse_type="KMS", kms_master_key_id=encryption_key.key_arn
            ),
        )
        """The L1 construct of the table."""
        self.table.apply_removal_policy(removal_policy)
        acknowledge(
            self.table,
            "point-in-time recovery covers 35 days; a plan of AWS Backup is up to the account's owner",
            "NIST.800.53.R5-DynamoDBInBackupPlan",
        )


def _key(name: str, kind: str) -> dynamodb.CfnTable.KeySchemaProperty:
    return dynamodb.CfnTable.KeySchemaProperty(attribute_name=name, key_type=kind)


def settings_text(everyone: WatchSpec, *, prefixes: Sequence[str], own: Mapping[str, JobWatch], clusters: bool) -> str:
    """Return the settings of all jobs (`everyone`), of those whose names begin with the keys of `own`, as JSON."""
    document: dict[str, Any] = {
        **job_settings(everyone),
        "onset_margin_seconds": training_watch_facts().onset_margin_seconds,
        "prefixes": list(prefixes),
        "clusters": [EVERY_CLUSTER] if clusters else [],
    }
    jobs = _own_settings(own)
    if jobs:
        document["jobs"] = jobs
    return json.dumps(document, separators=(",", ":"))


def job_settings(watch: WatchSpec | JobWatch) -> dict[str, Any]:
    """Return the settings of `watch` with the function's keys."""
    settings: dict[str, Any] = {}
    if watch.restart is not None:
        settings |= _restart(watch.restart)
    if watch.conditions is not None:
        settings["alarms"] = _alarms(watch.conditions)
    if watch.checkpoints is not None:
        settings["layout"] = _layout(watch.checkpoints)
    if watch.grace_minutes is not None:
        settings["grace_seconds"] = watch.grace_minutes * 60
    return settings


def _own_settings(own: Mapping[str, JobWatch]) -> dict[str, dict[str, Any]]:
    """Return the jobs' overrides; empty ones only for a job whose name begins with another job's prefix."""
    overrides = {prefix: job_settings(watch) for prefix, watch in own.items()}
    return {
        prefix: settings
        for prefix, settings in overrides.items()
        if settings or any(overrides[other] and prefix.startswith(other) for other in overrides)
    }


def _restart(restart: RestartPolicy) -> dict[str, Any]:
    return {
        "max_restarts": restart.maximum,
        "backoff_seconds": restart.back_off_seconds,
        "backoff_most_seconds": restart.longest_wait_seconds,
        "restart_at_max_runtime": restart.at_max_runtime,
    }


def _layout(layout: CheckpointLayout) -> str | dict[str, str | None]:
    if layout.known is not None:
        return layout.known
    return {"folder": layout.pattern, "marker": layout.marker, "pointer": layout.pointer}


def _alarms(conditions: WatchConditions) -> dict[str, dict[str, Any]]:
    """Return the alarms of a job; the keys of numbers are metadata of the fields (`InRequest`)."""
    period = training_watch_facts().metric_period_seconds
    return {
        _ALARMS[kind]: {"metric": condition.metric, "period": period, **in_request(condition)}
        for kind, condition in conditions.by_kind.items()
    }
