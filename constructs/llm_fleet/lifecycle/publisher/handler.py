"""Entry point of the function: CloudFormation's requests in, answers out."""

import logging
from typing import Any

import boto3
from botocore.config import Config

from .bundle import POINTER, Published, PublishError, Request, publish
from .response import Answer, send

_LOG = logging.getLogger(__name__)
_LOG.setLevel(logging.INFO)
# Well below the function's own timeout, so that a failure is always answered.
_CLIENT = Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 3, "mode": "standard"})


def handler(event: dict[str, Any], context: object) -> None:
    """Serve one request of CloudFormation and answer it, whatever happens."""
    answer = _serve(event)
    _LOG.info("%s %s: %s", event["RequestType"], answer.physical_id, answer.failure or "done")
    send(event, answer)


def _serve(event: dict[str, Any]) -> Answer:
    properties = event.get("ResourceProperties", {})
    physical_id = f"s3://{properties.get('Bucket')}/{properties.get('Root')}"
    if event["RequestType"] == "Delete":
        # Objects stay: nodes of a running cluster may start from them, and an old bundle can be put back.
        return Answer(physical_id=event.get("PhysicalResourceId", physical_id))
    try:
        request = Request.read(properties)
        published = publish(boto3.client("s3", config=_CLIENT), request)
    except PublishError as error:
        return Answer(physical_id=physical_id, failure=str(error))
    except Exception as error:  # CloudFormation waits an hour for an answer that never comes.
        _LOG.exception("not foreseen")
        return Answer(physical_id=physical_id, failure=f"{type(error).__name__}: {error}")
    return Answer(physical_id=physical_id, data=_data(request, published))


def _data(request: Request, published: Published) -> dict[str, str]:
    """Return the attributes that templates may ask for."""
    data = {
        "SourceS3Uri": f"s3://{request.bucket}/{published.prefix}/",
        "Prefix": published.prefix,
        "ContentHash": request.content_hash,
        "ChecksumsSha256": published.checksums_sha256,
    }
    if request.entry is not None:
        root = f"s3://{request.bucket}/{request.root}"
        data |= {"EntryS3Uri": f"{root}/{request.entry}", "PointerS3Uri": f"{root}/{POINTER}"}
    return data
