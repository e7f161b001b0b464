"""A link between a directory of a Lustre file system and S3."""

import aws_cdk as cdk
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.rules.data_repositories import DataRepository

_SERVICE_ROLE = "aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/AWSServiceRoleForFSxS3Access_fs-*"
"""The role that FSx makes for each linked file system; its last part, the file system's id, is known only then."""


class DataRepositoryLink(Construct):
    """An `AWS::FSx::DataRepositoryAssociation`, with the use of the bucket's KMS key that FSx needs for it.

    It is retained with its file system: FSx loads the content of a file when it is first read, and a file system
    that has lost its link has lost what nobody has read yet.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        file_system_id: str,
        repository: DataRepository,
        bucket: s3.IBucket | None,
        removal_policy: cdk.RemovalPolicy,
    ) -> None:
        """Link `repository` to the file system. `bucket` is its bucket, where the app has it as a construct."""
        super().__init__(scope, id)
        self.resource = fsx.CfnDataRepositoryAssociation(
            self,
            "Resource",
            file_system_id=file_system_id,
            file_system_path=repository.file_system_path,
            data_repository_path=repository.data_repository_path,
            batch_import_meta_data_on_create=repository.import_existing,
            s3=_policies(repository),
        )
        """The L1 beneath."""
        self.resource.apply_removal_policy(removal_policy)
        if bucket is not None and bucket.encryption_key is not None:
            self._allow_key(bucket)

    def _allow_key(self, bucket: s3.IBucket) -> None:
        """Let FSx's own role use the bucket's key, through S3 and for this bucket only.

        Source: FSx for Lustre User Guide, working with server-side encrypted S3 buckets. The role is named by a
        condition: as a principal it would have to exist before the key's policy, and take no wildcard.
        """
        stack = cdk.Stack.of(self)
        assert bucket.encryption_key is not None
        bucket.encryption_key.add_to_resource_policy(
            iam.PolicyStatement(
                sid=f"LustreLink{self.node.addr[-8:]}",
                principals=[iam.AnyPrincipal()],  # pyright: ignore[reportArgumentType]
                actions=["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"],
                resources=["*"],
                conditions={
                    "StringEquals": {
                        "kms:CallerAccount": stack.account,
                        "kms:ViaService": f"s3.{stack.region}.{stack.url_suffix}",
                    },
                    "ArnLike": {
                        "aws:PrincipalArn": stack.format_arn(
                            service="iam", region="", resource="role", resource_name=_SERVICE_ROLE
                        )
                    },
                },
            )
        )


def _policies(repository: DataRepository) -> fsx.CfnDataRepositoryAssociation.S3Property:
    """What follows by itself; a side without events is left out."""
    properties = fsx.CfnDataRepositoryAssociation
    imports, exports = list(repository.auto_import), list(repository.auto_export)
    return properties.S3Property(
        auto_import_policy=properties.AutoImportPolicyProperty(events=imports) if imports else None,
        auto_export_policy=properties.AutoExportPolicyProperty(events=exports) if exports else None,
    )
