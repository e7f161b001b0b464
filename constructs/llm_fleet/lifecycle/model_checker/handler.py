"""Entry point of the function: CloudFormation's requests in, answers out."""

import json
import logging
import time
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from ..publisher.response import Answer, send
from .check import Files, findings

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_LOG = logging.getLogger(__name__)
_LOG.setLevel(logging.INFO)
_CLIENT = Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 3, "mode": "standard"})
_DENIED = ("AccessDenied", "403")
_POLICY_DELAYS = (1, 2, 4, 8, 15)
"""Seconds to wait for a changed policy to reach all of S3."""


class Prefix(Files):
    """A model's files below a prefix of a bucket."""

    def __init__(self, s3: "S3Client", bucket: str, prefix: str) -> None:
        """Read keys below `prefix`; empty is the whole bucket."""
        self._s3 = s3
        self._bucket = bucket
        self._below = f"{prefix}/" if prefix else ""
        self.place = f"s3://{bucket}/{prefix}".rstrip("/")

    def names(self) -> list[str]:
        """Return the first 1,000 keys below the prefix, without it. A model has some dozens."""
        listed = self._s3.list_objects_v2(Bucket=self._bucket, Prefix=self._below)
        keys = [item.get("Key", "") for item in listed.get("Contents", [])]
        return [key.removeprefix(self._below) for key in keys if not key.endswith("/")]

    def read(self, name: str) -> bytes:
        """Return an object's bytes."""
        return self._s3.get_object(Bucket=self._bucket, Key=self._below + name)["Body"].read()


def handler(event: dict[str, Any], context: object) -> None:
    """Serve one request of CloudFormation and answer it, whatever happens."""
    answer = _serve(event)
    _LOG.info("%s %s: %s", event["RequestType"], answer.physical_id, answer.failure or "succeeded")
    send(event, answer)


def _serve(event: dict[str, Any]) -> Answer:
    properties = event.get("ResourceProperties", {})
    physical_id = event.get("PhysicalResourceId") or f"model-check-{event['LogicalResourceId']}"
    if event["RequestType"] == "Delete":
        return Answer(physical_id=physical_id)
    try:
        files = Prefix(boto3.client("s3", config=_CLIENT), properties["Bucket"], properties["Prefix"])
        found = _patiently(json.loads(properties["Requested"]), files)
    except ClientError as error:
        return Answer(physical_id=physical_id, failure=_unreachable(properties, error))
    except Exception as error:  # Without an answer, CloudFormation waits for an hour.
        _LOG.exception("unexpected error")
        return Answer(physical_id=physical_id, failure=f"{type(error).__name__}: {error}")
    return Answer(physical_id=physical_id, data={"Place": files.place}, failure="; ".join(found) or None)


def _patiently(requested: dict[str, Any], files: Prefix) -> list[str]:
    """Return the problems. Right after an update of the policy, S3 may still deny what it already allows."""
    for delay in _POLICY_DELAYS:
        try:
            return findings(requested, files)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") not in _DENIED:
                raise
            time.sleep(delay)
    return findings(requested, files)


def _unreachable(properties: dict[str, Any], error: ClientError) -> str:
    details = error.response.get("Error", {})
    return (
        f"model-unreachable: s3://{properties['Bucket']}/{properties['Prefix']} cannot be read by the function that "
        f"checks it ({details.get('Code', 'unknown')}: {details.get('Message', error)}); the bucket, its policy and "
        f"its key must allow this account's roles, and its policy must not require a VPC endpoint"
    )
