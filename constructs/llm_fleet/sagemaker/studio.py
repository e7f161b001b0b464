"""SageMaker Studio."""

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
from llm_fleet.sagemaker.workbench import ReachableCluster, cluster_reach_files, grant_cluster_reach
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
    """A domain of SageMaker Studio with its users, in the VPC alone, whose applications end when they are idle.

    People get JupyterLab and Code Editor in spaces, each with an EBS volume of its own, and no shared home directories
    on EFS unless asked for. With `lustre`, what they attach to a space is `/fsx`, as on the clusters' nodes. Published
    notebooks run, because pip is held to `sagemaker<3`. Nothing is downloaded when an application starts.

    A domain with spaces or applications cannot be deleted, nor can a user profile: SageMaker refuses, and so the stack,
    until people have deleted theirs. Volumes go with their spaces.
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
        """Make the domain, its users' profiles, what they act with, and a bucket where none is given.

        - `studio`: default, one with its defaults and without users.
        - `network`: where applications have their interfaces, in compute subnets: that of the file system's AZ, else
          all.
        - `lustre`: FSx for Lustre that people may attach to spaces. Default: none.
        - `buckets`: what people and their jobs read and write; the first is the SDK's default bucket. Default: one of
          its own, which is retained.
        - `clusters`: on whose nodes people open shells (`cluster-shell`) and submit jobs. Default: none.
        - `encryption_key`: of volumes, home directories and the bucket, unless `studio.kms_key_arn` is set. Default:
          one of its own, which is retained.
        - `removal_policy`: default, it goes with the stack; with `home_efs` it stays, with all that it works with and
          what of the network it stands in.

        Raises `FleetError` (LF900 to LF903, LF920 to LF929; LF220 and LF221 where addresses do not suffice).
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
        """Its name, which no other domain of the account and region has."""
        own_key = studio.kms_key_arn and kms.Key.from_key_arn(self, "OwnKey", studio.kms_key_arn)
        self.encryption_key: kms.IKey = (
            own_key
            or encryption_key
            or FleetKey(self, "Key", description="Encrypts the volumes and the bucket of SageMaker Studio")
        )
        """Encrypts volumes, home directories, and the bucket if it is its own."""
        self.buckets: tuple[s3.IBucket | s3.Bucket, ...] = tuple(buckets or ()) or (
            DataBucket(self, "Bucket", BucketSpec(encryption_key=self.encryption_key)),
        )
        """What people and their jobs read and write; the first is the SDK's default."""
        self.security_group = StudioSecurityGroup(self, "SecurityGroup", vpc=network.vpc, home_efs=studio.home_efs)
        """That of applications."""
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
        """What people act with who have no role of their own."""
        grant_cluster_reach(self, clusters)
        scripts = StudioScripts(
            self,
            "Scripts",
            name=self.domain_name,
            pins=studio.pins,
            bucket_name=self.buckets[0].bucket_name,
            files=cluster_reach_files(clusters),
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
        """The L1 beneath."""
        if lustre is not None:
            lustre.allow_mount_from(cast(ec2.ISecurityGroup, self.security_group))
        self.resource.node.add_dependency(permitted, network.connectivity)
        permitted.add_of_domain(self, self.domain_id, instance_types=studio.allowed_instance_types)
        self._user_names = tuple(studio.users)
        profiles = Construct(self, "Users")
        self.profiles: Mapping[str, sagemaker.CfnUserProfile] = {
            name: render_profile(
                profiles, name, user, domain_id=self.domain_id, role_arn=user.role_arn or self.role.role_arn
            )
            for name, user in studio.users.items()
        }
        """The L1s of the users' profiles, by name."""
        kept = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if studio.home_efs else cdk.RemovalPolicy.DESTROY
        self._apply(removal_policy or kept, network)

    @property
    def domain_id(self) -> str:
        """Its id, `d-…`, a token."""
        return self.resource.attr_domain_id

    @property
    def user_names(self) -> tuple[str, ...]:
        """Those who have profiles."""
        return self._user_names

    @property
    def grants(self) -> StudioGrants:
        """What others may do with it."""
        return StudioGrants(self, domain_id=self.domain_id, user_names=self.user_names)

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """Those of applications, to open ports from them."""
        return ec2.Connections(security_groups=[cast(ec2.ISecurityGroup, self.security_group)])

    @property
    @jsii.member(jsii_name="grantPrincipal")
    def grant_principal(self) -> iam.IPrincipal:
        """The domain's role, so that `bucket.grant_read(studio)` lets people read who have none of their own."""
        return self.role.grant_principal

    def add_outputs(self) -> None:
        """Give the stack outputs: the domain's id, its page, and the command that opens it for each user."""
        outputs = {
            "DomainId": (self.domain_id, "Id of the domain of SageMaker Studio"),
            "Url": (self.resource.attr_url, "Where SageMaker Studio is"),
            "BucketName": (self.buckets[0].bucket_name, "Default bucket of the SageMaker SDK"),
        }
        add_outputs(self, outputs)

    def _apply(self, policy: cdk.RemovalPolicy, network: Network) -> None:
        """Have the domain go with its stack, or stay, with what it works with and stands in."""
        stays = policy != cdk.RemovalPolicy.DESTROY
        for child in self.node.find_all() if stays else (self.resource, *self.profiles.values()):
            if isinstance(child, cdk.CfnResource):
                child.apply_removal_policy(policy)
            if isinstance(child, sagemaker.CfnStudioLifecycleConfig):
                # What another text takes the place of goes: its name is the text's, and would be taken when that is
                # deployed again.
                child.cfn_options.update_replace_policy = cdk.CfnDeletionPolicy.DELETE
        if stays:
            network.keep()


def _check(
    studio: StudioSpec, *, network: Network | None, lustre: MountableLustre | None, subject: str
) -> tuple[str, ...]:
    """Return the AZ ids of the domain's subnets, in which its addresses are set aside; raise all that is wrong."""
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
