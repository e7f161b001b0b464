"""Caches what does not depend on the request: boto3 sessions, a client, EC2's instance types and images."""

import os
from functools import cache
from typing import Any

import boto3
from pcluster.aws.aws_api import AWSApi
from pcluster.aws.ec2 import Ec2Client
from pcluster.aws.iam import IamClient
from pcluster.validators import iam_validators

# EC2's instance types and official images.
_ANSWERS = (
    "get_instance_type_info",
    "list_instance_types",
    "get_official_image_id",
    "get_supported_az_for_instance_types",
)
_Session: Any = boto3.session.Session


def keep() -> None:
    """Start caching. Clients that were cached before moto started would bypass it."""
    for name in _ANSWERS:
        setattr(Ec2Client, name, _kept(getattr(Ec2Client, name)))
    # pcluster/aws/common.py creates a session to read its Region, and pcluster/validators/iam_validators.py a client
    # for each policy: this takes most of the time of a validation.
    boto3.Session = boto3.session.Session = _session
    iam_validators.IamClient = _iam_client


def _session(*arguments: Any, **named_arguments: Any) -> Any:
    """Return the cached session of the Region; with other arguments, a new session."""
    if arguments or named_arguments:
        return _Session(*arguments, **named_arguments)
    return _session_of(os.environ["AWS_DEFAULT_REGION"])


@cache
def _session_of(region: str) -> Any:
    session = _Session()
    assert session.region_name == region
    return session


def _iam_client() -> IamClient:
    return AWSApi.instance().iam


def _kept(method: Any) -> Any:
    answers: dict[str, Any] = {}

    def answer(client: Ec2Client, *arguments: Any, **named_arguments: Any) -> Any:
        key = repr((os.environ["AWS_DEFAULT_REGION"], arguments, named_arguments))
        if key not in answers:
            answers[key] = method(client, *arguments, **named_arguments)
        return answers[key]

    return answer
