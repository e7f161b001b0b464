"""The same six services in moto, in this process, with the AWS emulator's training jobs and a simulated clock."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.cloudwatch.models import cloudwatch_backends
from moto.s3.models import s3_backends
from moto.sagemaker.models import sagemaker_backends
from moto.sns.models import sns_backends

from llm_fleet_local.aws.resources.moto_fixes import cloudwatch_alarms, sagemaker_training_jobs

ACCOUNT = "123456789012"
REGION = "us-west-2"
BUCKET = "checkpoints-of-ours"
_TRUST = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"sagemaker.amazonaws.com"},"Action":"sts:AssumeRole"}]}'  # fmt: skip # noqa: E501


@contextmanager
def moto_aws(now: Callable[[], float], patch: pytest.MonkeyPatch) -> Generator[Any]:
    """Yield the clients by name, and attributes that a day reads: `jobs`, `items()`, `published()`, `alarms()`."""

    def utcnow() -> datetime:
        return datetime.fromtimestamp(now(), UTC).replace(tzinfo=None)

    for module in ("s3", "cloudwatch"):
        patch.setattr(f"moto.{module}.models.utcnow", utcnow)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        patch.setenv(name, "testing")
    with mock_aws():
        sagemaker_training_jobs.install()
        cloudwatch_alarms.install()
        made: Any = {name: boto3.client(name, region_name=REGION) for name in _SERVICES}  # pyright: ignore[reportArgumentType, reportCallIssue]
        _furnish(made)
        yield SimpleNamespace(
            **made,
            put=_put,
            read=_below,
            jobs=sagemaker_backends[ACCOUNT][REGION].training_jobs,
            items=lambda: dict(_items(made["dynamodb"])),
            published=lambda: list(_published()),
            alarms=lambda: cloudwatch_backends[ACCOUNT][REGION].alarms,
        )


_SERVICES = ("sagemaker", "cloudwatch", "dynamodb", "s3", "sns", "iam")


def _furnish(made: Mapping[str, Any]) -> None:
    made["iam"].create_role(RoleName="trains", AssumeRolePolicyDocument=_TRUST)
    made["sns"].create_topic(Name="watch")
    where = {"LocationConstraint": REGION}
    made["s3"].create_bucket(Bucket=BUCKET, CreateBucketConfiguration=where)
    key, rest = {"AttributeName": "open", "KeyType": "HASH"}, {"AttributeName": "job", "KeyType": "RANGE"}
    index = {"IndexName": "open", "KeySchema": [key, rest], "Projection": {"ProjectionType": "KEYS_ONLY"}}
    made["dynamodb"].create_table(
        TableName="record",
        KeySchema=[{"AttributeName": "job", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("job", "open")],
        GlobalSecondaryIndexes=[index],
        BillingMode="PAY_PER_REQUEST",
    )


def _put(key: str, body: bytes) -> None:
    s3_backends[ACCOUNT]["aws"].put_object(BUCKET, key, body)


def _below(prefix: str) -> dict[str, bytes]:
    keys: Any = s3_backends[ACCOUNT]["aws"].buckets[BUCKET].keys
    return {name.removeprefix(prefix): key.value for name, key in keys.items() if name.startswith(prefix)}


def _items(dynamodb: Any) -> Iterator[tuple[str, Any]]:
    for item in dynamodb.scan(TableName="record")["Items"]:
        yield item["job"]["S"], item


def _published() -> Iterator[Mapping[str, Any]]:
    topic = sns_backends[ACCOUNT][REGION].topics[f"arn:aws:sns:{REGION}:{ACCOUNT}:watch"]
    for _, message, subject, attributes, _ in topic.sent_notifications:
        named = {name: {"StringValue": value["Value"]} for name, value in (attributes or {}).items()}
        yield {"Message": message, "Subject": subject, "MessageAttributes": named}
