"""IAM permissions of Studio users: statements, role, security group, and grants on the domain.

Users run their own and shared spaces, not those of others. The statements are those for Studio in
AmazonSageMakerFullAccess, limited to one domain: the Studio UI uses the user's execution role.
`${aws:SourceIdentity}` also has the profile name, since the domain propagates it. AWS does not document which of the
two variables each call of the UI sets; an unset variable matches nothing.
assumption: studio-fills-policy-variables
"""

from collections.abc import Sequence
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.catalog.notebook import studio_facts
from llm_fleet.iam.node_role import permission_policy
from llm_fleet.iam.statements import BucketAccess, Permission, Place
from llm_fleet.network.security_group import HttpsOutSecurityGroup, PortRange, egress_rule, ingress_rule
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.rules.values import did_you_mean
from llm_fleet.sagemaker import workbench as work
from llm_fleet.sagemaker.workbench import WorkbenchRole
from llm_fleet.spec.studio import StudioSpec

_WHO = ("${sagemaker:UserProfileName}", "${aws:SourceIdentity}")
_OWNER = "sagemaker:OwnerUserProfileArn"
_SHARING = "sagemaker:SpaceSharingType"


def studio_permissions(place: Place, domain_id: str, *, instance_types: Sequence[str]) -> tuple[Permission, ...]:
    """Return the statements for the domain. `instance_types`: allowed for apps; empty: all."""
    return (
        # AWS's own constructs for Studio (MDAA) grant this to execution roles.
        *work.own_streams(
            place,
            studio_facts().log_group,
            domain_id,
            sid="Studio",
            reason="the first app of an account creates the shared log group; writers look up their stream",
            streams_reason="apps and the lifecycle script write streams that begin with the domain id",
        ),
        *_look(place, domain_id),
        *_spaces(place, domain_id),
        *_applications(place, domain_id, instance_types),
    )


def lustre_permissions() -> tuple[Permission, ...]:
    """Return the permissions that mounting FSx requires."""
    return (
        Permission(
            sid="FileSystem",
            actions=("fsx:DescribeFileSystems",),
            resources=("*",),
            # With this role: assumption: studio-looks-up-file-systems
            reason="Studio looks up the file system of a space; the action supports no resource",
        ),
    )


def cluster_list_permissions() -> tuple[Permission, ...]:
    """Return the permissions of Studio's HyperPod clusters page, in addition to the grants of each cluster."""
    return (
        Permission(
            sid="ClusterList",
            actions=("sagemaker:ListClusters",),
            resources=("*",),
            reason="Studio's HyperPod clusters page lists them; the action supports no resource",
        ),
    )


def _look(place: Place, domain: str) -> tuple[Permission, ...]:
    return (
        Permission(
            sid="StudioLook",
            actions=(
                "sagemaker:DescribeApp",
                "sagemaker:DescribeDomain",
                "sagemaker:DescribeSpace",
                "sagemaker:DescribeUserProfile",
                "sagemaker:ListTags",
            ),
            resources=(
                place.arn("sagemaker", f"app/{domain}/*"),
                place.arn("sagemaker", f"domain/{domain}"),
                place.arn("sagemaker", f"space/{domain}/*"),
                place.arn("sagemaker", f"user-profile/{domain}/*"),
            ),
            reason="the Studio UI shows the domain, its users, spaces and apps",
        ),
        Permission(
            sid="StudioLists",
            actions=(
                "sagemaker:ListApps",
                "sagemaker:ListDomains",
                "sagemaker:ListSpaces",
                "sagemaker:ListUserProfiles",
            ),
            resources=("*",),
            reason="the Studio UI lists them; the actions support no resource",
        ),
        Permission(
            sid="StudioOpen",
            actions=("sagemaker:CreatePresignedDomainUrl",),
            resources=tuple(place.arn("sagemaker", f"user-profile/{domain}/{who}") for who in _WHO),
            reason="users open their own apps in the Studio UI",
        ),
    )


def _spaces(place: Place, domain: str) -> tuple[Permission, ...]:
    return (
        Permission(
            sid="OwnSpaces",
            actions=("sagemaker:CreateSpace", "sagemaker:DeleteSpace", "sagemaker:UpdateSpace"),
            resources=(place.arn("sagemaker", f"space/{domain}/*"),),
            conditions={"ArnLike": _own(place, domain), "StringEquals": {_SHARING: ["Private", "Shared"]}},
            reason="users create, change and delete their own spaces; the names do not exist yet",
        ),
        Permission(
            sid="SpaceTags",
            actions=("sagemaker:AddTags",),
            resources=(
                place.arn("sagemaker", f"app/{domain}/*"),
                place.arn("sagemaker", f"space/{domain}/*"),
            ),
            conditions={"StringEquals": {"sagemaker:TaggingAction": ["CreateApp", "CreateSpace"]}},
            reason="Studio adds the domain's tags to resources when it creates them",
        ),
    )


def _applications(place: Place, domain: str, types: Sequence[str]) -> tuple[Permission, ...]:
    applications = (place.arn("sagemaker", f"app/{domain}/*"),)
    shared = {_SHARING: ["Shared"]}
    private = {_SHARING: ["Private"]}
    capped: dict[str, dict[str, list[str] | str]] = {}
    if types:
        # "ForAllValues" also matches a request without a type; "Null" denies that.
        capped = {
            "ForAllValues:StringEquals": {"sagemaker:InstanceTypes": list(types)},
            "Null": {"sagemaker:InstanceTypes": "false"},
        }
    cap = f"; only on {', '.join(types)}" if types else ""
    return (
        Permission(
            sid="OwnAppsStart",
            actions=("sagemaker:CreateApp",),
            resources=applications,
            conditions={"ArnLike": _own(place, domain), "StringEquals": private, **capped},
            reason=f"users start apps in their own spaces{cap}",
        ),
        Permission(
            sid="SharedAppsStart",
            actions=("sagemaker:CreateApp",),
            resources=applications,
            conditions={"StringEquals": shared, **capped},
            reason=f"all users start apps in shared spaces{cap}",
        ),
        Permission(
            sid="OwnAppsEnd",
            actions=("sagemaker:DeleteApp",),
            resources=applications,
            conditions={"ArnLike": _own(place, domain), "StringEquals": private},
            reason="users delete apps in their own spaces",
        ),
        Permission(
            sid="SharedAppsEnd",
            actions=("sagemaker:DeleteApp",),
            resources=applications,
            conditions={"StringEquals": shared},
            reason="all users delete apps in shared spaces",
        ),
    )


def _own(place: Place, domain: str) -> dict[str, list[str]]:
    return {_OWNER: [place.arn("sagemaker", f"user-profile/{domain}/{who}") for who in _WHO]}


_IDENTITY = "sts:SetSourceIdentity"


class StudioRole(WorkbenchRole):
    """A `WorkbenchRole` that records the user's profile name in CloudTrail."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: StudioSpec,
        buckets: Sequence[s3.IBucket | s3.Bucket],
        key: kms.IKey,
        subnets: Sequence[ec2.ISubnet],
        security_group: ec2.ISecurityGroup,
        mounts_lustre: bool,
        reaches_clusters: bool,
    ) -> None:
        """Create the role, with permissions for these buckets, this key and this network."""
        self._place = Place.of(scope)
        super().__init__(
            scope,
            id,
            description="Users of SageMaker Studio",
            permissions={
                "Surroundings": [  # codespell:ignore surroundings
                    *work.buckets([BucketAccess.of(bucket) for bucket in buckets]),
                    *work.own_keys([key.key_arn]),
                    *work.interfaces(self._place, subnets, security_group),
                    *(lustre_permissions() if mounts_lustre else ()),
                    *(cluster_list_permissions() if reaches_clusters else ()),
                ],
                "Work": work.work(self._place, settings.name_prefixes),
            },
        )
        policy = self.role.assume_role_policy
        assert policy is not None
        # The domain propagates the profile name (ExecutionRoleIdentityConfig); the role's trust policy must allow it.
        policy.add_statements(
            iam.PolicyStatement(
                actions=[_IDENTITY],
                principals=[cast(iam.IPrincipal, iam.ServicePrincipal("sagemaker.amazonaws.com"))],
            )
        )

    def add_domain_permissions(self, scope: Construct, domain_id: str, *, instance_types: Sequence[str]) -> None:
        """Add the statements with the domain's ARN in a policy in `scope`: the domain depends on this construct."""
        permissions = studio_permissions(self._place, domain_id, instance_types=instance_types)
        permission_policy(
            scope,
            "Spaces",
            permissions,
            description="Users of SageMaker Studio: their spaces and apps",
            roles=[self.role],
        )


_NFS = PortRange(first=2049, last=2049)


class StudioSecurityGroup(HttpsOutSecurityGroup):
    """Allows HTTPS egress, and NFS between members for home directories; no other ingress.

    It is not the network's own group, whose members have full access to each other and include nodes. Apps reach a
    cluster through Session Manager, and file systems through rules of those. Studio Classic's ports are not open: only
    its server and kernels communicate over the network, not those of JupyterLab and Code Editor.
    """

    def __init__(self, scope: Construct, id: str, *, vpc: ec2.IVpc, home_efs: bool) -> None:
        """Create the group in `vpc`. `home_efs`: whether apps mount home directories."""
        super().__init__(
            scope,
            id,
            vpc=vpc,
            description="Applications of SageMaker Studio: HTTPS out, nothing in",
            reaches="AWS endpoints, and repositories if there is internet access",
        )
        if home_efs:
            # The service creates its own groups of mount targets and apps for this; but its API also requires rules:
            # "NFS traffic over TCP on port 2049 needs to be allowed in both inbound and outbound rules" (CreateDomain).
            own = cast(ec2.ISecurityGroup, self)
            ingress_rule(self, "NfsIn", own, own, _NFS, what="home directories")
            egress_rule(self, "NfsOut", own, own, _NFS, what="home directories")


class StudioGrants:
    """Grants on a domain. Each method returns the `Grant`; its `success` is `False` for an imported role."""

    def __init__(self, domain: Construct, *, domain_id: str, user_names: Sequence[str]) -> None:
        """Create grants on the construct `domain`, in which `user_names` have profiles."""
        self._domain = domain
        self._domain_id = domain_id
        self._user_names = user_names

    def open(self, grantee: iam.IGrantable, *, user: str) -> iam.Grant:
        """Let `grantee` open Studio as `user`, by console or presigned URL, and see the domain and the profile.

        In Studio, `grantee` has the permissions of the profile's role. Raises `FleetError` (LF119) for an unknown user.
        """
        names = self._user_names
        if user not in names:
            problem = Problem(
                code=Code.UNKNOWN_REFERENCE,
                message="the domain has no user of this name",
                remedy=did_you_mean(user, names, otherwise="add a StudioUser with this name to the domain"),
                path=("user",),
                value=user,
                allowed=", ".join(names),
            )
            raise_problems([problem], subject=self._domain.node.path)
        profile = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sagemaker:CreatePresignedDomainUrl", "sagemaker:DescribeUserProfile"],
            resource_arns=[self._arn("user-profile", f"{self._domain_id}/{user}")],
        )
        domain = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sagemaker:DescribeDomain"],
            resource_arns=[self._arn("domain", self._domain_id)],
        )
        return profile.combine(domain)

    def _arn(self, resource: str, name: str) -> str:
        return cdk.Stack.of(self._domain).format_arn(service="sagemaker", resource=resource, resource_name=name)
