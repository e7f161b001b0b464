"""Refuses, while a stack is deployed, a model that is not there or was compiled for something else."""

import json
from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from constructs import Construct

from llm_fleet.iam.resource_permissions import read_bucket
from llm_fleet.inference.model_checker import ModelChecker
from llm_fleet.inference.model_mount import model_access
from llm_fleet.rules.inference.model import bucket_and_prefix
from llm_fleet.spec.served_model import Model, ModelSource

_REASON = "the function looks, before a service is made, whether its model is there and what it was compiled for"


class ModelCheck(Construct):
    """Looks at a model in S3 before a service is made, in seconds, and fails the deployment with the reason.

    Without it the mistake would show when the server has been pulled and started, a quarter of an hour later, as a
    container that ends over and over. A service has to depend on this construct. The check is repeated whenever what
    the server asks for, or the model's address, changes; and by each task when it starts (`check_container`), since an
    object in S3 can change without a deployment.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        model: Model,
        asked: Mapping[str, Any],
        log_encryption_key: kms.IKey | None = None,
    ) -> None:
        """Check `model`, which must be in S3 (`ValueError` else), against `asked` (see `asked_of_model`).

        `log_encryption_key`: of the function's log. Default: CloudWatch's own encryption.
        """
        if model.source is not ModelSource.S3:
            raise ValueError(f"{scope.node.path}/{id}: only a model in S3 can be looked at before its service is made")
        super().__init__(scope, id)
        checker = ModelChecker.of(self, log_encryption_key=log_encryption_key)
        access = model_access(model, partition=cdk.Stack.of(self).partition)
        checker.allow(read_bucket(f"Model{self.node.addr[-8:]}", access, reason=_REASON))
        bucket, prefix = bucket_and_prefix(model.location)
        self.resource: cdk.CustomResource = cdk.CustomResource(
            self,
            "Resource",
            resource_type="Custom::LlmFleetModelCheck",
            service_token=checker.function.attr_arn,
            service_timeout=cdk.Duration.minutes(5),
            properties={
                "Bucket": bucket,
                "Prefix": prefix,
                # One string: CloudFormation would turn every number and boolean of an object into text.
                "Asked": json.dumps(dict(asked), sort_keys=True),
            },
        )
        """What waits for the answer; a service depends on it."""
