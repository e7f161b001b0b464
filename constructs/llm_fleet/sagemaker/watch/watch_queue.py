"""Where events wait for the watch, and where those lie that it could not take."""

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from llm_fleet.catalog.training_watch import training_watch_facts

_EVENTS = "events.amazonaws.com"


class WatchQueue(Construct):
    """An encrypted queue that rules of EventBridge write to over TLS, and a second one for what fails again and again.

    A standard queue: the record makes an event that comes twice, late or in another order harmless, and a FIFO queue
    has neither a delay of single messages nor a way past one that fails.
    """

    def __init__(self, scope: Construct, id: str, *, encryption_key: kms.IKey) -> None:
        """Make both; `encryption_key` is told to let EventBridge use it, where its policy can be changed from here."""
        super().__init__(scope, id)
        facts = training_watch_facts().queue
        self.dead_letters = self._queue("DeadLetters", encryption_key, retention_days=facts.retention_days)
        """What was tried too often, or could not be delivered; kept for 14 days."""
        self.queue = self._queue(
            "Resource",
            encryption_key,
            visibility_seconds=facts.timeout_seconds * facts.visibility_per_timeout,
            dead_letter_queue=sqs.DeadLetterQueue(max_receive_count=facts.receives, queue=self._as_queue()),
        )
        """What waits for the function; kept for 4 days, so that what is put aside then still has 10 left."""
        self._let_events_use(encryption_key)

    def receive_from(self, rule_arn: str, *, sid: str) -> None:
        """Let the rule at `rule_arn` write to both: to the second what it cannot deliver. `sid`: the statements."""
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
        """EventBridge encrypts as itself: without this, each delivery would fail, and nobody would be told.

        By account and not by rule: a key that knew its rules, which know their queue, which knows its key, would be a
        circle. The CDK's own target for queues does the same
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
                "the policy of the key cannot be changed from here: it must let events.amazonaws.com "
                "kms:Decrypt and kms:GenerateDataKey, or no event ever reaches the watch",
            )
