"""What people in Studio act with: the role, and the statements that wait for the domain."""

from collections.abc import Sequence
from typing import cast

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.acknowledge import acknowledge_wildcards
from llm_fleet.catalog.endpoint import deep_learning_accounts
from llm_fleet.iam.statements import BucketAccess, Permission, Place, reasons_of, statement_of
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.sagemaker import workbench as work
from llm_fleet.sagemaker.studio.studio_permissions import (
    cluster_list_permissions,
    lustre_permissions,
    studio_permissions,
)
from llm_fleet.sagemaker.studio.studio_settings import StudioSettings
from llm_fleet.sagemaker.workbench import WorkbenchRole, place_of

_IDENTITY = "sts:SetSourceIdentity"


class StudioRole(WorkbenchRole):
    """A `WorkbenchRole` that says in CloudTrail who acts with it."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: StudioSettings,
        buckets: Sequence[s3.IBucket | s3.Bucket],
        key: kms.IKey,
        subnets: Sequence[ec2.ISubnet],
        security_group: ec2.ISecurityGroup,
        mounts_lustre: bool,
        reaches_clusters: bool,
    ) -> None:
        """Make the role, for work with these buckets, this key and this network."""
        self._place = place_of(scope)
        super().__init__(
            scope,
            id,
            description="People in SageMaker Studio",
            permissions={
                "Surroundings": [
                    *work.buckets([BucketAccess.of(bucket) for bucket in buckets]),
                    *work.own_keys([key.key_arn]),
                    *_interfaces(self._place, subnets, security_group),
                    *(lustre_permissions() if mounts_lustre else ()),
                    *(cluster_list_permissions() if reaches_clusters else ()),
                ],
                "Work": _work(self._place, settings.name_prefixes),
            },
        )
        policy = self.role.assume_role_policy
        assert policy is not None
        # The domain hands the profile's name on (ExecutionRoleIdentityConfig), which the role must trust it to do.
        policy.add_statements(
            iam.PolicyStatement(
                actions=[_IDENTITY],
                principals=[cast(iam.IPrincipal, iam.ServicePrincipal("sagemaker.amazonaws.com"))],
            )
        )

    def add_of_domain(self, scope: Construct, domain_id: str, *, instance_types: Sequence[str]) -> None:
        """Add the statements that name the domain, which itself waits for this construct: in a policy at `scope`."""
        permissions = studio_permissions(self._place, domain_id, instance_types=instance_types)
        policy = iam.ManagedPolicy(
            scope,
            "Spaces",
            description="People in SageMaker Studio: their spaces and applications",
            statements=[statement_of(permission) for permission in permissions],
            roles=[cast(iam.IRole, self.role)],
        )
        acknowledge_wildcards(policy, lambda: reasons_of(permissions))


def _work(place: Place, prefixes: Sequence[str]) -> list[Permission]:
    region = None if is_unresolved(place.region) else place.region
    return [
        *work.images(place, deep_learning_accounts(region)),
        *work.training_jobs(place, prefixes),
        *work.endpoints(place, prefixes),
        *work.lists(),
        *work.logs_and_metrics(place, prefixes),
    ]


def _interfaces(
    place: Place, subnets: Sequence[ec2.ISubnet], security_group: ec2.ISecurityGroup
) -> tuple[Permission, ...]:
    return work.interfaces(
        place,
        subnet_arns=[place.arn("ec2", f"subnet/{subnet.subnet_id}") for subnet in subnets],
        group_arns=[place.arn("ec2", f"security-group/{security_group.security_group_id}")],
    )
