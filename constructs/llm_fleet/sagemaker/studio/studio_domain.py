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

from llm_fleet.catalog.notebook import notebook_facts
from llm_fleet.catalog.studio import studio_facts
from llm_fleet.network.network import Network
from llm_fleet.rules.sagemaker.studio_terms import StudioInternet, StudioSignIn
from llm_fleet.sagemaker.studio.render_domain import render_domain, render_profile
from llm_fleet.sagemaker.studio.studio_checks import check_domain
from llm_fleet.sagemaker.studio.studio_grants import StudioGrants
from llm_fleet.sagemaker.studio.studio_role import StudioRole
from llm_fleet.sagemaker.studio.studio_scripts import StudioScripts
from llm_fleet.sagemaker.studio.studio_security_group import StudioSecurityGroup
from llm_fleet.sagemaker.studio.studio_settings import StudioSettings
from llm_fleet.sagemaker.studio.studio_user import StudioUser
from llm_fleet.sagemaker.workbench import ReachableCluster, cluster_reach_files, grant_cluster_reach
from llm_fleet.storage.data_bucket import DataBucket
from llm_fleet.storage.fleet_key import FleetKey
from llm_fleet.storage.mountable import MountableLustre


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
        *,
        network: Network | None,
        users: Sequence[StudioUser] = (),
        sign_in: StudioSignIn = StudioSignIn.IAM,
        internet: StudioInternet = StudioInternet.VPC_ONLY,
        instance_type: str = studio_facts().default_instance,
        allowed_instance_types: Sequence[str] = (),
        idle_minutes: int | None = studio_facts().default_idle_minutes,
        volume_gib: int = studio_facts().default_volume_gib,
        maximum_volume_gib: int = studio_facts().default_maximum_volume_gib,
        home_efs: bool = False,
        lustre: MountableLustre | None = None,
        lustre_directory: str = "/",
        code_repositories: Sequence[str] = (),
        buckets: Sequence[s3.IBucket | s3.Bucket] | None = None,
        pins: Sequence[str] = notebook_facts().default_pins,
        name_prefixes: Sequence[str] = notebook_facts().sdk_name_prefixes,
        clusters: Sequence[ReachableCluster] = (),
        encryption_key: kms.IKey | None = None,
        domain_name: str | None = None,
        removal_policy: cdk.RemovalPolicy | None = None,
    ) -> None:
        """Make the domain, its users' profiles, what they act with, and a bucket where none is given.

        - `network`: where applications have their interfaces, in compute subnets: that of the file system's AZ, else
          all.
        - `users`: default none; a profile can be added by hand, and is then not the stack's.
        - `sign_in`: default by IAM; `grants.open` says who may open which profile.
        - `internet`: default `VPC_ONLY`, so that applications have no way out but the VPC's.
        - `instance_type`: of a new application; default `ml.t3.medium`. `allowed_instance_types`: what people may
          choose, held by the role, and by what the page offers; default: all.
        - `idle_minutes`: after which an idle application ends, and its instance; 60 to 525600, default 60. Nobody may
          choose a longer time. `None`: never.
        - `volume_gib`: of a new space; default 20. `maximum_volume_gib`: what people may choose; default 100.
        - `home_efs`: whether there are home directories on EFS, which managed TensorBoard and Studio Classic want.
        - `lustre`: FSx for Lustre that people may attach to spaces. Default: none. `lustre_directory`: what of it they
          see; default `/`, all, as clusters do. Another directory must be there.
        - `code_repositories`: offered in JupyterLab to be cloned, up to 10, over https. Default: none.
        - `buckets`: what people and their jobs read and write; the first is the SDK's default bucket. Default: one of
          its own, which is retained.
        - `pins`: what pip is held to; default `("sagemaker<3",)`. `()`: nothing.
        - `name_prefixes`: how names of jobs, models and endpoints begin that people may make, read and delete. Default:
          what the SDK names by itself: `huggingface-`, `pytorch-`, `tensorflow-`.
        - `clusters`: on whose nodes people open shells (`cluster-shell`) and submit jobs. Default: none.
        - `encryption_key`: of volumes, home directories and the bucket. Default: one of its own, which is retained.
        - `domain_name`: default, made of the construct's path. Another name or key is another domain.
        - `removal_policy`: default, it goes with the stack; with `home_efs` it stays, with all that it works with and
          what of the network it stands in.

        Raises `FleetError` (LF900 to LF903, LF920 to LF929; LF220 and LF221 where addresses do not suffice).
        """
        settings = StudioSettings(
            domain_name=domain_name,
            sign_in=sign_in,
            internet=internet,
            users=users,
            instance_type=instance_type,
            allowed_instance_types=allowed_instance_types,
            idle_minutes=idle_minutes,
            volume_gib=volume_gib,
            maximum_volume_gib=maximum_volume_gib,
            home_efs=home_efs,
            lustre_directory=lustre_directory,
            code_repositories=code_repositories,
            pins=pins,
            name_prefixes=name_prefixes,
        )
        zones = check_domain(
            settings,
            network=network,
            lustre=lustre,
            clusters=clusters,
            buckets=buckets,
            encryption_key=encryption_key,
            subject=f"{scope.node.path}/{id}",
        )
        assert network is not None
        super().__init__(scope, id)
        self.domain_name: str = domain_name or cdk.Names.unique_resource_name(
            self, max_length=studio_facts().domain_name.maximum, separator="-"
        )
        """Its name, which no other domain of the account and region has."""
        self.encryption_key: kms.IKey = encryption_key or FleetKey(
            self, "Key", description="Encrypts the volumes and the bucket of SageMaker Studio"
        )
        """Encrypts volumes, home directories, and the bucket if it is its own."""
        self.buckets: tuple[s3.IBucket | s3.Bucket, ...] = tuple(buckets or ()) or (
            DataBucket(self, "Bucket", encryption_key=self.encryption_key),
        )
        """What people and their jobs read and write; the first is the SDK's default."""
        self.security_group = StudioSecurityGroup(self, "SecurityGroup", vpc=network.vpc, home_efs=home_efs)
        """That of applications."""
        subnets = [network.compute_subnet(zone) for zone in zones]
        permitted = StudioRole(
            self,
            "Role",
            settings=settings,
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
            pins=pins,
            bucket_name=self.buckets[0].bucket_name,
            files=cluster_reach_files(clusters),
        )
        self.resource: sagemaker.CfnDomain = render_domain(
            self,
            settings,
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
        permitted.add_of_domain(self, self.domain_id, instance_types=allowed_instance_types)
        self._user_names = tuple(user.name for user in settings.users)
        profiles = Construct(self, "Users")
        self.profiles: Mapping[str, sagemaker.CfnUserProfile] = {
            user.name: render_profile(
                profiles, user, domain_id=self.domain_id, role_arn=(user.role or self.role).role_arn
            )
            for user in settings.users
        }
        """The L1s of the users' profiles, by name."""
        kept = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if home_efs else cdk.RemovalPolicy.DESTROY
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
        return StudioGrants(self, self)

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
        cdk.CfnOutput(self, "DomainId", value=self.domain_id, description="Id of the domain of SageMaker Studio")
        cdk.CfnOutput(self, "Url", value=self.resource.attr_url, description="Where SageMaker Studio is")
        cdk.CfnOutput(
            self, "BucketName", value=self.buckets[0].bucket_name, description="Default bucket of the SageMaker SDK"
        )

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
