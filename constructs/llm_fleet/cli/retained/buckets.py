"""Empties and deletes buckets of the own account."""

import time
from collections.abc import Mapping
from typing import Any

from llm_fleet.cli.clients import AwsClients, AwsRefusal, refusal
from llm_fleet.cli.screen import counted
from llm_fleet.rules.feature_codes import CommandCode
from llm_fleet.rules.problem import Problem

_TRIES, _SECONDS = 4, 10
_NAMED = 3
"""Failed objects that a message names."""
_GONE = ("NoSuchKey", "NoSuchVersion")


def own_bucket(clients: AwsClients, name: str) -> dict[str, str]:
    """Return the parameters of calls that S3 rejects if another account has the bucket.

    Another account can create a bucket with the name of a deleted one.
    Source: document https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucket-owner-condition.html
    """
    return {"Bucket": name, "ExpectedBucketOwner": clients.sts.get_caller_identity()["Account"]}


def delete_bucket(clients: AwsClients, id: str) -> None:
    """Delete all versions, unfinished uploads and the bucket. Raises `AwsRefusal` if objects stay or arrive.

    S3 delivers access logs hours after the requests.
    Source: document https://docs.aws.amazon.com/AmazonS3/latest/userguide/ServerLogs.html
    """
    s3, bucket = clients.client("s3"), own_bucket(clients, id)
    for number in range(_TRIES):
        if number:
            time.sleep(_SECONDS)
        _empty(s3, bucket)
        try:
            s3.delete_bucket(**bucket)
        except s3.exceptions.ClientError as error:
            if error.response["Error"]["Code"] != "BucketNotEmpty":
                raise
        else:
            return
    raise AwsRefusal(
        [
            Problem(
                code=CommandCode.REFUSED,
                message="S3 does not delete the bucket: new objects arrive in it, e.g. access logs of the last hours",
                remedy="run the command again later",
                value=id,
            )
        ],
        subject=f"bucket {id}",
    )


def _empty(s3: Any, bucket: Mapping[str, str]) -> None:
    failed: list[dict[str, str]] = []
    for page in s3.get_paginator("list_object_versions").paginate(**bucket):
        versions = [
            {"Key": one["Key"], "VersionId": one["VersionId"]}
            for kind in ("Versions", "DeleteMarkers")
            for one in page.get(kind, [])
        ]
        if versions:
            # Objects that were not deleted are in the response, whose status is 200.
            # Source: document https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
            response = s3.delete_objects(**bucket, Delete={"Objects": versions, "Quiet": True})
            failed += [one for one in response.get("Errors", []) if one.get("Code") not in _GONE]
    if failed:
        raise AwsRefusal([_not_deleted(s3, failed)], subject=f"bucket {bucket['Bucket']}")
    for page in s3.get_paginator("list_multipart_uploads").paginate(**bucket):
        for upload in page.get("Uploads", []):
            s3.abort_multipart_upload(**bucket, Key=upload["Key"], UploadId=upload["UploadId"])


def _not_deleted(s3: Any, failed: list[dict[str, str]]) -> Problem:
    first = failed[0]
    keys = ", ".join(one.get("Key", "") for one in failed[:_NAMED])
    message = f"{first.get('Message', '')}: {counted(len(failed), 'object')}, e.g. {keys}"
    error = s3.exceptions.ClientError({"Error": {"Code": first.get("Code", ""), "Message": message}}, "DeleteObjects")
    problem = refusal(error)
    assert problem is not None  # It is an error of botocore.
    return problem
