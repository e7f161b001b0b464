"""What people in Studio may do: permissions, role, security group, and what others may do with the domain.

People run their own spaces and the shared ones, and no one else's. The statements are those for Studio of
AmazonSageMakerFullAccess, narrowed to one domain: the web page acts with the person's execution role.
`${aws:SourceIdentity}` is the profile's name too, since the domain hands it on; which of the two variables each call
of the page fills is not published, and one that is not filled matches nothing.
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
from llm_fleet.network.security_group import HttpsOutSecurityGroup, PortRange, let_in, let_out
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
    """Return the statements for the domain. `instance_types`: what applications may run on; empty: anything."""
    return (
        # AWS's own constructs for Studio (MDAA) give execution roles this.
        *work.own_streams(
            place,
            studio_facts().log_group,
            domain_id,
            sid="Studio",
            reason="the first application of an account makes the group of all; who writes looks for its stream",
            streams_reason="applications and the lifecycle script write streams that begin with the domain's id",
        ),
        *_look(place, domain_id),
        *_spaces(place, domain_id),
        *_applications(place, domain_id, instance_types),
    )


def lustre_permissions() -> tuple[Permission, ...]:
    """Return what mounting FSx asks for."""
    return (
        Permission(
            sid="FileSystem",
            actions=("fsx:DescribeFileSystems",),
            resources=("*",),
            # With this role: assumption: studio-looks-up-file-systems
            reason="Studio looks the file system of a space up; the action knows no resource",
        ),
    )


def cluster_list_permissions() -> tuple[Permission, ...]:
    """Return what Studio's page of HyperPod clusters asks for, beside the grants of each cluster."""
    return (
        Permission(
            sid="ClusterList",
            actions=("sagemaker:ListClusters",),
            resources=("*",),
            reason="Studio's page of HyperPod clusters begins with the list; the action knows no resource",
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
            reason="Studio's page shows the domain, its people, spaces and applications",
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
            reason="Studio's page lists them; the actions know no resource",
        ),
        Permission(
            sid="StudioOpen",
            actions=("sagemaker:CreatePresignedDomainUrl",),
            resources=tuple(place.arn("sagemaker", f"user-profile/{domain}/{who}") for who in _WHO),
            reason="opening an application from the page, as oneself and nobody else",
        ),
    )


def _spaces(place: Place, domain: str) -> tuple[Permission, ...]:
    return (
        Permission(
            sid="OwnSpaces",
            actions=("sagemaker:CreateSpace", "sagemaker:DeleteSpace", "sagemaker:UpdateSpace"),
            resources=(place.arn("sagemaker", f"space/{domain}/*"),),
            conditions={"ArnLike": _own(place, domain), "StringEquals": {_SHARING: ["Private", "Shared"]}},
            reason="people make, change and delete the spaces that they own; their names do not exist before",
        ),
        Permission(
            sid="SpaceTags",
            actions=("sagemaker:AddTags",),
            resources=(
                place.arn("sagemaker", f"app/{domain}/*"),
                place.arn("sagemaker", f"space/{domain}/*"),
            ),
            conditions={"StringEquals": {"sagemaker:TaggingAction": ["CreateApp", "CreateSpace"]}},
            reason="Studio puts the domain's tags on what is made in it, while it is made",
        ),
    )


def _applications(place: Place, domain: str, types: Sequence[str]) -> tuple[Permission, ...]:
    applications = (place.arn("sagemaker", f"app/{domain}/*"),)
    shared = {_SHARING: ["Shared"]}
    private = {_SHARING: ["Private"]}
    capped: dict[str, dict[str, list[str] | str]] = {}
    if types:
        # "ForAllValues" holds of a request that names no type, too: "Null" refuses that.
        capped = {
            "ForAllValues:StringEquals": {"sagemaker:InstanceTypes": list(types)},
            "Null": {"sagemaker:InstanceTypes": "false"},
        }
    cap = f"; on {', '.join(types)} alone" if types else ""
    return (
        Permission(
            sid="OwnAppsStart",
            actions=("sagemaker:CreateApp",),
            resources=applications,
            conditions={"ArnLike": _own(place, domain), "StringEquals": private, **capped},
            reason=f"people start applications in spaces of their own{cap}",
        ),
        Permission(
            sid="SharedAppsStart",
            actions=("sagemaker:CreateApp",),
            resources=applications,
            conditions={"StringEquals": shared, **capped},
            reason=f"everybody starts applications in shared spaces{cap}",
        ),
        Permission(
            sid="OwnAppsEnd",
            actions=("sagemaker:DeleteApp",),
            resources=applications,
            conditions={"ArnLike": _own(place, domain), "StringEquals": private},
            reason="people end applications in spaces of their own",
        ),
        Permission(
            sid="SharedAppsEnd",
            actions=("sagemaker:DeleteApp",),
            resources=applications,
            conditions={"StringEquals": shared},
            reason="everybody ends applications in shared spaces",
        ),
    )


def _own(place: Place, domain: str) -> dict[str, list[str]]:
    return {_OWNER: [place.arn("sagemaker", f"user-profile/{domain}/{who}") for who in _WHO]}


_IDENTITY = "sts:SetSourceIdentity"


class StudioRole(WorkbenchRole):
    """A `WorkbenchRole` that says in CloudTrail who acts with it."""

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
        """Make the role, for work with these buckets, this key and this network."""
        self._place = Place.of(scope)
        super().__init__(
            scope,
            id,
            description="People in SageMaker Studio",
            permissions={
                "Surroundings": [
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
        permission_policy(
            scope,
            "Spaces",
            permissions,
            description="People in SageMaker Studio: their spaces and applications",
            roles=[self.role],
        )


_NFS = PortRange(first=2049, last=2049)


class StudioSecurityGroup(HttpsOutSecurityGroup):
    """Lets HTTPS out, and the home directories' NFS between members where there are any; nothing in.

    Not the network's own group: its members may do anything with each other, and nodes are members. Applications reach
    a cluster by Session Manager, and file systems by rules of theirs. Studio Classic's ports are not open: its server
    and kernels talk to each other, JupyterLab and Code Editor have all in one place.
    """

    def __init__(self, scope: Construct, id: str, *, vpc: ec2.IVpc, home_efs: bool) -> None:
        """Make the group in `vpc`. `home_efs`: whether applications mount home directories."""
        super().__init__(
            scope,
            id,
            vpc=vpc,
            description="Applications of SageMaker Studio: HTTPS out, nothing in",
            reaches="endpoints of AWS, and where there is a way out, repositories",
        )
        if home_efs:
            # The service gives mount targets and applications groups of its own for this; its API asks for rules
            # besides: "NFS traffic over TCP on port 2049 needs to be allowed in both inbound and outbound rules"
            # (CreateDomain).
            own = cast(ec2.ISecurityGroup, self)
            let_in(self, "NfsIn", own, own, _NFS, what="home directories")
            let_out(self, "NfsOut", own, own, _NFS, what="home directories")


class StudioGrants:
    """What others may do with a domain. Each method returns the `Grant`, whose `success` tells an imported role."""

    def __init__(self, domain: Construct, *, domain_id: str, user_names: Sequence[str]) -> None:
        """Grant on the construct `domain`, in which `user_names` have profiles."""
        self._domain = domain
        self._domain_id = domain_id
        self._user_names = user_names

    def open(self, grantee: iam.IGrantable, *, user: str) -> iam.Grant:
        """Let `grantee` open Studio as `user`, by the console or a presigned URL, and see the domain and the profile.

        One who opens it acts with the profile's role. Raises `FleetError` (LF119) for a user whom the domain lacks.
        """
        names = self._user_names
        if user not in names:
            problem = Problem(
                code=Code.UNKNOWN_REFERENCE,
                message="the domain has no user of this name",
                remedy=did_you_mean(user, names, otherwise="give the domain such a StudioUser"),
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
