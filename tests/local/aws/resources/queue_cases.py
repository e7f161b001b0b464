"""Life cycles of queues, their mappings and tables."""

import json
from typing import Any

from tests.local.aws.resources.support import ACCOUNT, REGION, Deployer

POISON = f"arn:aws:sqs:{REGION}:{ACCOUNT}:poison"
QUEUE: dict[str, Any] = {
    "QueueName": "events",
    "VisibilityTimeout": 3600,
    "RedrivePolicy": {"deadLetterTargetArn": POISON, "maxReceiveCount": 5},
}
POLICY = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "events.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": f"arn:aws:sqs:{REGION}:{ACCOUNT}:events",
        }
    ],
}
TABLE: dict[str, Any] = {
    "TableName": "record",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": "job", "AttributeType": "S"},
        {"AttributeName": "open", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "job", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "open",
            "KeySchema": [{"AttributeName": "open", "KeyType": "HASH"}, {"AttributeName": "job", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
    "SSESpecification": {"SSEEnabled": True, "SSEType": "KMS"},
}


def queue(client: Any, url: str) -> dict[str, Any]:
    """Return all of SQS's data about a queue."""
    reported = client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return reported | {
        "tags": client.list_queue_tags(QueueUrl=url)["Tags"],
        "redrive": json.loads(reported["RedrivePolicy"]) if reported.get("RedrivePolicy") else None,
    }


def table(client: Any, name: str) -> dict[str, Any]:
    """Return all of DynamoDB's data about a table."""
    found = client.describe_table(TableName=name)["Table"]
    tags = client.list_tags_of_resource(ResourceArn=found["TableArn"])["Tags"]
    backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    return found | {
        "billing": found["BillingModeSummary"]["BillingMode"],
        "indexes": [index["IndexName"] for index in found["GlobalSecondaryIndexes"]],
        "restorable": backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"],
        "encrypted": found.get("SSEDescription", {}).get("Status"),
        "tags": {tag["Key"]: tag["Value"] for tag in tags},
    }


def make_poison(deployer: Deployer) -> None:
    """Create the dead-letter queue."""
    deployer.create("AWS::SQS::Queue", QueueName="poison")
