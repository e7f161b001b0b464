"""Keeps from question to question what does not depend on one: sessions of boto3, a client, what EC2 offers."""

import os
from functools import cache
from typing import Any

import boto3
from pcluster.aws.aws_api import AWSApi
from pcluster.aws.ec2 import Ec2Client
from pcluster.aws.iam import IamClient
from pcluster.validators import iam_validators

# What EC2 says of its instance types and official images.
_ANSWERS = (
    "get_instance_type_info",
    "list_instance_types",
    "get_official_image_id",
    "get_supported_az_for_instance_types",
)
_Session: Any = boto3.session.Session


def keep() -> None:
    """Keep them from now on. What was kept before moto started would go past it."""
    for name in _ANSWERS:
        setattr(Ec2Client, name, _kept(getattr(Ec2Client, name)))
    # pcluster/aws/common.py makes a session to learn its region, and pcluster/validators/iam_validators.py a client for
    # each policy: most of the time of a validation.
    boto3.Session = boto3.session.Session = _session
    iam_validators.IamClient = _iam_client


def _session(*arguments: Any, **named_arguments: Any) -> Any:
    """Return the region's session, or one of its own to who asks for more."""
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
