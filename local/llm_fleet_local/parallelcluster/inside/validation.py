"""Runs ParallelCluster's validators; moto emulates AWS with the resources that a configuration names."""

import inspect
import os
import pkgutil
from functools import cache
from importlib import import_module
from typing import Any
from unittest.mock import patch

import pcluster.validators
from marshmallow import ValidationError
from moto import mock_aws
from moto.iam.models import iam_backends
from moto.utilities.utils import get_partition
from pcluster.aws import common
from pcluster.aws.aws_api import AWSApi
from pcluster.aws.common import AWSClientError, Cache
from pcluster.validators.common import ValidationResult, Validator, ValidatorContext
from pcluster.validators.s3_validators import UrlValidator

from llm_fleet_local.parallelcluster.inside.account_context import AccountContext, World
from llm_fleet_local.parallelcluster.inside.answered import answering
from llm_fleet_local.parallelcluster.inside.closed_network import REGION
from llm_fleet_local.parallelcluster.inside.kept import keep
from llm_fleet_local.parallelcluster.inside.schema import load, messages
from llm_fleet_local.parallelcluster.inside.world_ec2 import ACCOUNT, furnish_ec2, make_official_images
from llm_fleet_local.parallelcluster.inside.world_iam import furnish_iam
from llm_fleet_local.parallelcluster.inside.world_storage import furnish_storage


def validate(configuration: dict[str, Any], cluster_name: str, account_context: dict[str, Any]) -> list[dict[str, str]]:
    """Return messages of schema and validators for a configuration; only the schema's if the schema rejects it."""
    facts = AccountContext(**account_context)
    with answering(configuration, facts, _create_resources(configuration, facts)):
        try:
            cluster = load(configuration, cluster_name)
        except ValidationError as rejected:
            return [_error("ClusterSchema", f"{one['path']}: {one['message']}") for one in messages(rejected)]
        try:
            return _messages(cluster.validate(None, ValidatorContext()))
        except AWSClientError as unanswered:
            # pcluster/models/cluster.py ends its validation here too, without the other validators.
            return [_error("ConfigValidationError", f"Invalid cluster configuration: {unanswered}")]


def execute(validator: str, validator_arguments: dict[str, Any]) -> list[dict[str, str]]:
    """Return the messages of one validator for its arguments."""
    with answering({}, AccountContext(), _create_resources({}, AccountContext())):
        return _messages(_validators()[validator]().execute(**validator_arguments))


def _messages(results: list[ValidationResult]) -> list[dict[str, str]]:
    return [{"validator": one.validator_type, "level": str(one.level), "message": one.message} for one in results]


def _error(validator: str, message: str) -> dict[str, str]:
    return {"validator": validator, "level": "ERROR", "message": message}


def _create_resources(configuration: dict[str, Any], facts: AccountContext) -> World:
    _start_moto()
    region = str(configuration.get("Region") or REGION)
    os.environ["AWS_DEFAULT_REGION"] = region
    _forget()
    _official_images(region)
    _policies_of_aws(get_partition(region))
    vpc_id, zone = furnish_ec2(region, configuration, facts)
    interface = furnish_storage(region, configuration, facts, vpc_id)
    furnish_iam(configuration, facts)
    return World(vpc_id=vpc_id, zone=zone, caches_interface=interface)


def _forget() -> None:
    Cache.clear_all()
    inspect.getclosurevars(UrlValidator._validate_async).nonlocals["_cache"].clear()
    for client in vars(AWSApi.instance()).values():
        for name, value in vars(client).items() if hasattr(client, "__dict__") else ():
            if name.endswith("cache") and isinstance(value, dict):
                value.clear()


@cache
def _start_moto() -> None:
    os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"
    mock_aws().start()
    # Its log creates a boto3 session for every call, which takes most of the time.
    common._log_boto3_calls = _do_nothing
    # A client that was created before moto started would bypass it.
    AWSApi.reset()
    keep()


def _do_nothing(**_: Any) -> None:
    """Log nothing."""


@cache
def _official_images(region: str) -> None:
    make_official_images(region)


@cache
def _policies_of_aws(partition: str) -> None:
    # Not at the start: moto creates an IAM backend for each partition, and would read AWS's policies for each.
    with patch.dict(os.environ, MOTO_IAM_LOAD_MANAGED_POLICIES="true"):
        iam_backends[ACCOUNT][partition].reset()


@cache
def _validators() -> dict[str, type[Validator]]:
    for module in pkgutil.iter_modules(pcluster.validators.__path__):
        import_module(f"pcluster.validators.{module.name}")
    return {one.__name__: one for one in _subclasses(Validator)}


def _subclasses(kind: type[Validator]) -> list[type[Validator]]:
    return [found for one in kind.__subclasses__() for found in (one, *_subclasses(one))]
