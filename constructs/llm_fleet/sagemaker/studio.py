"""SageMaker Studio: a domain with user profiles."""

from collections.abc import Mapping, Sequence
from typing import cast

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from llm_fleet.catalog.notebook import studio_facts
from llm_fleet.network.network import Network
from llm_fleet.references import add_outputs
from llm_fleet.rules.fields import BUCKET, Form, check_form, check_is_spec, key_form, network_form
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.notebook import check_reachable
from llm_fleet.rules.sagemaker.studio import check_studio, check_studio_place, studio_claims, studio_zones
from llm_fleet.sagemaker.render_studio import StudioScripts, render_domain, render_profile
from llm_fleet.sagemaker.studio_permissions import StudioGrants, StudioRole, StudioSecurityGroup
from llm_fleet.sagemaker.workbench import ReachableCluster, cluster_access_files, grant_cluster_access
from llm_fleet.spec.storage import BucketSpec
from llm_fleet.spec.studio import StudioSpec
from llm_fleet.storage.buckets import DataBucket, FleetKey
from llm_fleet.storage.file_systems import MountableLustre

_NETWORK = network_form(
    'write FleetNetwork(self, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"])), '
    "or FleetNetwork.from_attributes(…)"
)
_LUSTRE = Form(
    wanted="FSx for Lustre",
    has=("file_system_id", "mount_name", "allow_mount_from"),
    remedy='write LustreFileSystem(self, "Fsx", network=network), or LustreFileSystem.from_attributes(…)',
    optional=True,
)
_KEY = key_form('write kms.Key.from_key_arn(self, "Key", "arn:aws:kms:…")')


@jsii.implements(ec2.IConnectable, iam.IGrantable)
class StudioDomain(Construct):
    """A SageMaker Studio domain with its users, in VPC only mode, whose apps shut down when they are idle.

    Users get JupyterLab and Code Editor in spaces, each with its own EBS volume, and no shared home directories on EFS
    by default. With `lustre`, users can attach the file system to a space as `/fsx`, as on the clusters' nodes.
    Published notebooks work, because pip has the constraint `sagemaker<3`. Apps download nothing at their start.

    SageMaker does not delete a domain or user profile that has spaces or apps, so deleting the stack fails until users
    have deleted theirs. Volumes are deleted with their spaces.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        studio: StudioSpec = StudioSpec(),  # noqa: B008 - immutable
        *,
        network: Network | None,
        lustre: MountableLustre | None = None,
        buckets: Sequence[s3.IBucket | s3.Bucket] | None = None,
        clusters: Sequence[ReachableCluster] = (),
        encryption_key: kms.IKey | None = None,
        removal_policy: cdk.RemovalPolicy | None = None,
    ) -> None:
        """Create the domain, user profiles, execution role, and a bucket if `buckets` is not set.

        - `studio`: default: all defaults of `StudioSpec`, without users.
        - `network`: apps have network interfaces in its compute subnets: in that of the file system's AZ, or in
          all.
        - `lustre`: FSx for Lustre that users can attach to spaces. Default: none.
        - `buckets`: users and their jobs read and write them; the first is the SDK's default bucket. Default: a new
          one, which is retained.
        - `clusters`: users can open shells on their nodes (`cluster-shell`) and submit jobs. Default: none.
        - `encryption_key`: for volumes, home directories and the bucket, unless `studio.kms_key_arn` is set. Default:
          a new key, which is retained.
        - `removal_policy`: default: the domain is deleted with the stack; with `home_efs` it is retained, with all
          resources that it uses, including those of the network.

        Raises `FleetError` (LF900 to LF903, LF920 to LF929; LF220 and LF221 for too few IP addresses).
        """
        subject = f"{scope.node.path}/{id}"
        raise_problems(
            [
                *check_is_spec(studio, StudioSpec, "studio"),
                *check_form(network, _NETWORK, "network"),
                *check_form(lustre, _LUSTRE, "lustre"),
                *check_form(encryption_key, _KEY, "encryption_key"),
                *(
                    one
                    for index, each in enumerate(buckets or ())
                    for one in check_form(each, BUCKET, "buckets", index)
                ),
                *check_reachable(clusters),
            ],
            subject=subject,
        )
        zones = _check(studio, network=network, lustre=lustre, subject=subject)
        assert network is not None
        super().__init__(scope, id)
        self.domain_name: str = studio.domain_name or cdk.Names.unique_resource_name(
            self, max_length=studio_facts().domain_name.maximum, separator="-"
        )
        """Domain name, unique in the account and region."""
        own_key = studio.kms_key_arn and kms.Key.from_key_arn(self, "OwnKey", studio.kms_key_arn)
        self.encryption_key: kms.IKey = (
            own_key
            or encryption_key
            or FleetKey(self, "Key", description="Encrypts the volumes and the bucket of SageMaker Studio")
        )
        """Encrypts volumes, home directories, and the bucket if this construct creates it."""
        self.buckets: tuple[s3.IBucket | s3.Bucket, ...] = tuple(buckets or ()) or (
            DataBucket(self, "Bucket", BucketSpec(encryption_key=self.encryption_key)),
        )
        """Buckets that users and their jobs read and write; the first is the SDK's default bucket."""
        self.security_group = StudioSecurityGroup(self, "SecurityGroup", vpc=network.vpc, home_efs=studio.home_efs)
        """Security group of the apps."""
        subnets = [network.compute_subnet(zone) for zone in zones]
        permitted = StudioRole(
            self,
            "Role",
            settings=studio,
            buckets=self.buckets,
            key=self.encryption_key,
            subnets=subnets,
            security_group=self.security_group,
            mounts_lustre=lustre is not None,
            reaches_clusters=bool(clusters),
        )
        self.role: iam.IRole | iam.Role = permitted.role
        """Execution role of users without their own role."""
        grant_cluster_access(self, clusters)
        scripts = StudioScripts(
            self,
            "Scripts",
            name=self.domain_name,
            pins=studio.pins,
            bucket_name=self.buckets[0].bucket_name,
            files=cluster_access_files(clusters),
        )
        self.resource: sagemaker.CfnDomain = render_domain(
            self,
            studio,
            domain_name=self.domain_name,
            vpc_id=network.vpc.vpc_id,
            subnet_ids=[subnet.subnet_id for subnet in subnets],
            security_group_ids=[self.security_group.security_group_id],
            role_arn=self.role.role_arn,
            key_arn=self.encryption_key.key_arn,
            file_system_id=lustre.file_system_id if lustre is not None else None,
            scripts=scripts,
        )
        """The L1 construct."""
        if lustre is not None:
            lustre.allow_mount_from(cast(ec2.ISecurityGroup, self.security_group))
        self.resource.node.add_dependency(permitted, network.connectivity)
        permitted.add_domain_permissions(self, self.domain_id, instance_types=studio.allowed_instance_types)
        self._user_names = tuple(studio.users)
        profiles = Construct(self, "Users")
        self.profiles: Mapping[str, sagemaker.CfnUserProfile] = {
            name: render_profile(
                profiles, name, user, domain_id=self.domain_id, role_arn=user.role_arn or self.role.role_arn
            )
            for name, user in studio.users.items()
        }
        """The L1 constructs of the user profiles, by name."""
        kept = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if studio.home_efs else cdk.RemovalPolicy.DESTROY
        self._apply(removal_policy or kept, network)

    @property
    def domain_id(self) -> str:
        """The domain id, `d-…`, a CDK token."""
        return self.resource.attr_domain_id

    @property
    def user_names(self) -> tuple[str, ...]:
        """Names of users with a profile."""
        return self._user_names

    @property
    def grants(self) -> StudioGrants:
        """Grants for other roles and users."""
        return StudioGrants(self, domain_id=self.domain_id, user_names=self.user_names)

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """The security group of the apps, for rules that let them connect."""
        return ec2.Connections(security_groups=[cast(ec2.ISecurityGroup, self.security_group)])

    @property
    @jsii.member(jsii_name="grantPrincipal")
    def grant_principal(self) -> iam.IPrincipal:
        """The domain's role: `bucket.grant_read(studio)` applies to users without their own role."""
        return self.role.grant_principal

    def add_outputs(self) -> None:
        """Add stack outputs: the domain id, its URL, and a command that opens it for each user."""
        outputs = {
            "DomainId": (self.domain_id, "Id of the SageMaker Studio domain"),
            "Url": (self.resource.attr_url, "URL of SageMaker Studio"),
            "BucketName": (self.buckets[0].bucket_name, "Default bucket of the SageMaker SDK"),
        }
        add_outputs(self, outputs)

    def _apply(self, policy: cdk.RemovalPolicy, network: Network) -> None:
        """Apply the policy to the domain and the resources that it uses."""
        stays = policy != cdk.RemovalPolicy.DESTROY
        for child in self.node.find_all() if stays else (self.resource, *self.profiles.values()):
            if isinstance(child, cdk.CfnResource):
                child.apply_removal_policy(policy)
            if isinstance(child, sagemaker.CfnStudioLifecycleConfig):
                # A replaced lifecycle configuration is deleted even so: its name has the script's hash, and would be in
                # use when the same script is deployed again.
                child.cfn_options.update_replace_policy = cdk.CfnDeletionPolicy.DELETE
        if stays:
            network.keep()


def _check(
    studio: StudioSpec, *, network: Network | None, lustre: MountableLustre | None, subject: str
) -> tuple[str, ...]:
    """Return the AZ ids of the domain's subnets, in which it claims addresses; raise all problems."""
    lustre_zone = lustre.availability_zone_id if lustre is not None else None
    there = network.availability_zone_ids if network is not None else ()
    problems = [
        *check_studio(studio),
        *check_studio_place(
            studio,
            has_network=network is not None,
            network_internet=network.internet if network is not None else None,
            zones=there,
            mounts_lustre=lustre is not None,
            lustre_zone=lustre_zone,
        ),
    ]
    zones = studio_zones(there, lustre_zone)
    if network is not None and not problems:
        claims = studio_claims(len(studio.users), zones=zones, home_efs=studio.home_efs, owner=subject)
        problems += network.reserve_addresses(claims)
    raise_problems(problems, subject=subject)
    return zones
