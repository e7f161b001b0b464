"""What the watch has decided."""

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct

from llm_fleet.acknowledge import acknowledge

OPEN_INDEX = "open"
"""Index of the items with which something is left to do."""
_JOB = "job"


class WatchRecord(Construct):
    """A table with an item a job: what happened, what was decided and why, what became of it. It outlives its stack.

    Its one key is the job, so that a conditional write is what makes an event that comes twice harmless.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        encryption_key: kms.IKey,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        """Make the table, billed by the request and restorable to any second of the last 35 days."""
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
        """The L1 of the table."""
        self.table.apply_removal_policy(removal_policy)
        acknowledge(
            self.table,
            "point-in-time recovery holds 35 days; a plan of AWS Backup beside it is the account's to have",
            "NIST.800.53.R5-DynamoDBInBackupPlan",
        )


def _key(name: str, kind: str) -> dynamodb.CfnTable.KeySchemaProperty:
    return dynamodb.CfnTable.KeySchemaProperty(attribute_name=name, key_type=kind)
