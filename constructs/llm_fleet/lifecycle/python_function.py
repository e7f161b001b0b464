"""Lambda functions of llm-fleet: their code, their role, and those that run while a stack is deployed."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self, cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from llm_fleet import functions
from llm_fleet.acknowledge import acknowledge, acknowledge_wildcards
from llm_fleet.lifecycle.script_folder import ScriptFile, read_folder, write_zip


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCode:
    """A function's code, and its description."""

    archive: str
    """Name of the archive's file."""
    files: Callable[[], Sequence[ScriptFile]]
    """What is in the archive."""
    below: str
    """Folder of the archive that the files are in, with its slash."""
    handler: str
    """Module and function."""
    timeout: int
    """Timeout of a run in seconds."""
    description: str
    """Description of the function."""
    policy_description: str
    role_description: str
    unencrypted_log: str
    """The reason why its log may be encrypted with CloudWatch's own key."""

    @classmethod
    def of_package(cls, name: str, **reported: Any) -> Self:
        """Return the code of the package `name` of `llm_fleet.functions`, whose module `handler` has the handler."""
        folder = Path(next(iter(functions.__path__)), name)
        return cls(
            archive=f"{name}.zip",
            files=lambda: read_folder(folder),
            below=f"{name}/",
            handler=f"{name}.handler.handler",
            **reported,
        )


class PythonFunction(Construct):
    """A small Lambda function without a layer: it uses the runtime's boto3 and the standard library.

    It is not in a VPC, because it calls only AWS services. It has permissions to write its log, and those that
    `allow_statements` adds.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        code: FunctionCode,
        environment: Mapping[str, str] | None = None,
        memory_mib: int = 256,
        reserved_concurrency: int | None = None,
        log_encryption_key: kms.IKey | None = None,
    ) -> None:
        """Create the function, its role and its log group, with a retention of 90 days.

        `environment`: its variables, without secrets. Default: none. `reserved_concurrency`: maximum number of
        concurrent runs. Default: the account's remaining concurrency. `log_encryption_key`: default, CloudWatch's own
        encryption; a key must let CloudWatch Logs use it.
        """
        super().__init__(scope, id)
        self._code = code
        self.log_group = logs.CfnLogGroup(
            self,
            "Logs",
            kms_key_id=log_encryption_key.key_arn if log_encryption_key else None,
            retention_in_days=90,
        )
        """The log group."""
        self._policy = self._make_policy()
        self.role = iam.Role(
            self,
            "Role",
            description=code.role_description,
            assumed_by=cast(iam.IPrincipal, iam.ServicePrincipal("lambda.amazonaws.com")),
            managed_policies=[cast(iam.IManagedPolicy, self._policy)],
        )
        """The role."""
        self.function = self._make_function(environment, memory_mib, reserved_concurrency)
        """The function itself."""
        self._wildcards = {self.log_group.attr_arn: "the streams of its own log group are named by Lambda"}
        acknowledge_wildcards(self._policy, lambda: self._wildcards)
        self._acknowledge(encrypted=log_encryption_key is not None)

    def allow_statements(
        self, statements: Sequence[iam.PolicyStatement], *, wildcards: Mapping[str, str] | None = None
    ) -> None:
        """Add `statements`, whose ids must be unique in its policy; `wildcards`: the reason for each ARN with a `*`."""
        self._policy.add_statements(*statements)
        self._wildcards |= wildcards or {}

    def _make_policy(self) -> iam.ManagedPolicy:
        # A managed policy, not the role's default one: it is created before the role, and so before the first run.
        return iam.ManagedPolicy(
            self,
            "Policy",
            description=self._code.policy_description,
            statements=[
                iam.PolicyStatement(
                    sid="Logs",
                    actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                    resources=[self.log_group.attr_arn],
                )
            ],
        )

    def _make_function(
        self, environment: Mapping[str, str] | None, memory_mib: int, reserved_concurrency: int | None
    ) -> lambda_.CfnFunction:
        archive = self._make_archive()
        # L1: the L2 function loads eight more CDK modules at synth, and has no feature that is used here.
        return lambda_.CfnFunction(
            self,
            "Resource",
            architectures=["arm64"],
            code=lambda_.CfnFunction.CodeProperty(s3_bucket=archive.s3_bucket_name, s3_key=archive.s3_object_key),
            description=self._code.description,
            environment=lambda_.CfnFunction.EnvironmentProperty(variables=dict(environment)) if environment else None,
            handler=self._code.handler,
            logging_config=lambda_.CfnFunction.LoggingConfigProperty(log_group=self.log_group.ref),
            memory_size=memory_mib,
            reserved_concurrent_executions=reserved_concurrency,
            role=self.role.role_arn,
            runtime="python3.13",
            timeout=self._code.timeout,
        )

    def _make_archive(self) -> s3_assets.Asset:
        """Return the function's archive, the same from wheel and checkout, without Python's caches."""
        files = self._code.files()
        digest = hashlib.sha256(b"".join(file.path.encode() + file.data for file in files)).hexdigest()
        with TemporaryDirectory() as folder:
            archive = Path(folder, self._code.archive)
            write_zip(files, archive, below=self._code.below)
            return s3_assets.Asset(self, "Code", path=str(archive), asset_hash=digest)

    def _acknowledge(self, *, encrypted: bool) -> None:
        acknowledge(
            self,
            "talks to services of AWS only; in a VPC it would need a way out of it",
            "NIST.800.53.R5-LambdaInsideVPC",
        )
        acknowledge(
            self,
            "a supported runtime of the versions that this code is tested with; each release of llm-fleet looks again",
            "AwsSolutions-L1",
        )
        if not encrypted:
            acknowledge(self, self._code.unencrypted_log, "NIST.800.53.R5-CloudWatchLogGroupEncrypted")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentCode(FunctionCode):
    """The settings that differ between such functions."""

    id: str
    """Id of the construct in its stack."""
    runs_once: str
    """How often it runs during a deployment, e.g. `once a model`."""


class DeploymentFunction(PythonFunction):
    """A function that answers CloudFormation itself. Subclasses define its code and its permissions."""

    code: ClassVar[DeploymentCode]

    def __init__(self, scope: Construct, id: str, *, log_encryption_key: kms.IKey | None = None) -> None:
        """Make the function, its role and its log group.

        `log_encryption_key`: default, CloudWatch's own encryption; a key must let CloudWatch Logs use it.
        """
        super().__init__(scope, id, code=self.code, log_encryption_key=log_encryption_key)
        acknowledge(
            self,
            f"runs only while the stack is deployed, {self.code.runs_once}, and answers CloudFormation itself",
            "NIST.800.53.R5-LambdaConcurrency",
            "NIST.800.53.R5-LambdaDLQ",
        )

    @classmethod
    def of(cls, scope: Construct, *, log_encryption_key: kms.IKey | None = None) -> Self:
        """Return the function of the stack of `scope`; the first caller creates it, with its own settings."""
        stack = cdk.Stack.of(scope)
        found = stack.node.try_find_child(cls.code.id)
        if isinstance(found, cls):
            return found
        return cls(stack, cls.code.id, log_encryption_key=log_encryption_key)
