"""The function that looks at models in S3 while a stack is deployed. One a stack."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from llm_fleet import lifecycle
from llm_fleet.acknowledge import acknowledge, acknowledge_wildcards
from llm_fleet.iam.permission import Permission
from llm_fleet.iam.statements import statement_of
from llm_fleet.lifecycle.content import write_zip
from llm_fleet.lifecycle.script_folder import ScriptFile, read_scripts

_ID = "LlmFleetModelChecker"
_PACKAGES = ("model_checker", "publisher")
"""The check, and the publisher's way of answering CloudFormation, which it uses."""
_ANSWER = ("publisher/__init__.py", "publisher/response.py")


class ModelChecker(Construct):
    """A small Lambda function of our own, which may list and read the models that it is asked about, and nothing else.

    It is in no VPC: it talks to S3 and CloudFormation only. Where a bucket's policy lets nobody in but through a VPC
    endpoint, it says so, and the deployment-time check has to be left out; tasks check again in any case.
    """

    def __init__(self, scope: Construct, id: str, *, log_encryption_key: kms.IKey | None = None) -> None:
        """Make the function, its role and its log group.

        `log_encryption_key`: default, CloudWatch's own encryption; a key must let CloudWatch Logs use it.
        """
        super().__init__(scope, id)
        log_group = logs.CfnLogGroup(
            self,
            "Logs",
            kms_key_id=log_encryption_key.key_arn if log_encryption_key else None,
            retention_in_days=90,
        )
        # A managed policy and not the role's default one: it exists before the role does, so before the first run.
        self._policy = iam.ManagedPolicy(
            self,
            "Policy",
            description="What the function that looks at models may do",
            statements=[
                iam.PolicyStatement(
                    sid="Logs",
                    actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                    resources=[log_group.attr_arn],
                )
            ],
        )
        role = iam.Role(
            self,
            "Role",
            description="Role of the function that looks at models before their services are made",
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal("lambda.amazonaws.com")),
            managed_policies=[cast(iam.IManagedPolicy, self._policy)],
        )
        code = _code(self)
        self.function = lambda_.CfnFunction(
            self,
            "Resource",
            architectures=["arm64"],
            code=lambda_.CfnFunction.CodeProperty(s3_bucket=code.s3_bucket_name, s3_key=code.s3_object_key),
            description="Looks whether a model is there and compiled for its server, before the service is made",
            handler="lifecycle.model_checker.handler.handler",
            logging_config=lambda_.CfnFunction.LoggingConfigProperty(log_group=log_group.ref),
            memory_size=256,
            role=role.role_arn,
            runtime="python3.13",
            timeout=120,
        )
        """The function itself."""
        self._wildcards = {log_group.attr_arn: "the streams of its own log group are named by Lambda"}
        acknowledge_wildcards(self._policy, lambda: self._wildcards)
        _acknowledge(self, encrypted=log_encryption_key is not None)

    @classmethod
    def of(cls, scope: Construct, *, log_encryption_key: kms.IKey | None = None) -> "ModelChecker":
        """Return the checker of the stack that holds `scope`; the first caller makes it, with its own settings."""
        stack = cdk.Stack.of(scope)
        found = stack.node.try_find_child(_ID)
        if isinstance(found, cls):
            return found
        return cls(stack, _ID, log_encryption_key=log_encryption_key)

    def allow(self, permissions: Sequence[Permission]) -> None:
        """Let it do what `permissions` say; their statement ids must be unique in the stack."""
        self._policy.add_statements(*map(statement_of, permissions))
        for permission in permissions:
            self._wildcards |= dict.fromkeys(permission.resources, permission.reason)


def _acknowledge(construct: Construct, *, encrypted: bool) -> None:
    acknowledge(
        construct,
        "runs only while the stack is deployed, once a model, and answers CloudFormation itself",
        "NIST.800.53.R5-LambdaConcurrency",
        "NIST.800.53.R5-LambdaDLQ",
    )
    acknowledge(
        construct,
        "talks to S3 and CloudFormation only; in a VPC it would need a way out of it",
        "NIST.800.53.R5-LambdaInsideVPC",
    )
    acknowledge(
        construct,
        "a supported runtime of the versions that this code is tested with; each release of llm-fleet looks again",
        "AwsSolutions-L1",
    )
    if not encrypted:
        acknowledge(
            construct,
            "its log holds addresses of models and errors, encrypted by CloudWatch; another key can be given",
            "NIST.800.53.R5-CloudWatchLogGroupEncrypted",
        )


def _code(scope: Construct) -> s3_assets.Asset:
    """Return the function's archive, the same from wheel and checkout, whatever caches lie beside the sources."""
    files = _files()
    digest = hashlib.sha256(b"".join(file.path.encode() + file.data for file in files)).hexdigest()
    with TemporaryDirectory() as folder:
        archive = Path(folder, "checker.zip")
        write_zip(files, archive, below="lifecycle/")
        return s3_assets.Asset(scope, "Code", path=str(archive), asset_hash=digest)


def _files() -> list[ScriptFile]:
    (root,) = lifecycle.__path__
    found = [
        ScriptFile(path=f"{package}/{file.path}", data=file.data, executable=file.executable)
        for package in _PACKAGES
        for file in read_scripts(Path(root, package))
    ]
    return [file for file in found if file.path.startswith("model_checker/") or file.path in _ANSWER]
