"""A notebook instance of SageMaker."""

from collections.abc import Sequence
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.notebook import NotebookPlatform, notebook_facts
from llm_fleet.network.network import Network
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.cluster_reach import check_reachable
from llm_fleet.rules.sagemaker.notebook import check_notebook
from llm_fleet.rules.sagemaker.notebook_addresses import notebook_claim
from llm_fleet.sagemaker.cluster_reach import cluster_reach_files, grant_cluster_reach
from llm_fleet.sagemaker.notebook.git_repository import GitRepository
from llm_fleet.sagemaker.notebook.lifecycle_script import (
    check_lifecycle_script,
    lifecycle_script,
    notebook_settings,
)
from llm_fleet.sagemaker.notebook.notebook_base import NotebookBase
from llm_fleet.sagemaker.notebook.notebook_forms import check_arguments
from llm_fleet.sagemaker.notebook.notebook_role import notebook_role
from llm_fleet.sagemaker.notebook.notebook_security_group import NotebookSecurityGroup
from llm_fleet.sagemaker.notebook.notebook_view import NotebookView
from llm_fleet.sagemaker.reachable_cluster import ReachableCluster
from llm_fleet.storage.data_bucket import DataBucket
from llm_fleet.storage.fleet_key import FleetKey

_FACTS = notebook_facts()
_ON, _OFF = "Enabled", "Disabled"
_IMDS_V2 = "2"


class TrainingNotebook(NotebookBase):
    """A notebook instance on a living platform, private unless asked, that stops itself when nobody uses it.

    Nothing is downloaded when it starts. Published notebooks begin with `pip install sagemaker --upgrade`, which by now
    brings version 3, without `Session` and `Estimator`; here pip is held to `sagemaker<3`, so that they run.

    The work lies on its volume, below `/home/ec2-user/SageMaker`; all else is new at each start. The volume goes with
    the instance: what must stay goes into the bucket or a repository. The instance has a fixed name, so CloudFormation
    refuses, in place of doing it, a change that would replace it and its volume (subnet, key, internet).

    People come in with `grant_open` or the console. Grants by others take the notebook itself
    (`repository.grant_pull(notebook)`), as do connections.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        network: Network | None = None,
        availability_zone_id: str | None = None,
        internet: bool = False,
        instance_type: str = _FACTS.default_instance_type,
        platform: NotebookPlatform | str = _FACTS.default_platform,
        volume_gib: int = _FACTS.volume_gib.default,
        repositories: Sequence[GitRepository] = (),
        buckets: Sequence[s3.IBucket | s3.Bucket] | None = None,
        idle_minutes: int | None = _FACTS.idle_minutes.default,
        pins: Sequence[str] = _FACTS.default_pins,
        name_prefixes: Sequence[str] = (),
        clusters: Sequence[ReachableCluster] = (),
        encryption_key: kms.IKey | None = None,
        root_access: bool = False,
        notebook_name: str | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.DESTROY,
    ) -> None:
        """Make the instance, its role, its lifecycle script, and a bucket where none is given.

        - `network`: where it has its interface, in a compute subnet, without a public address. Default: none, which
          needs `internet`. `availability_zone_id`: of the subnet; default, the network's first.
        - `internet`: on the internet by SageMaker's own network. Default: no. Refused beside a closed network.
        - `instance_type`: default `ml.t3.medium`, the cheapest living one. `platform`: default Amazon Linux 2023.
        - `volume_gib`: GiB of the volume that keeps the work; default 50.
        - `repositories`: cloned at the start; JupyterLab opens in the first. Default: none; up to 4.
        - `buckets`: what people and their jobs read and write; the first is the SDK's default bucket. Default: one of
          its own, which is retained.
        - `idle_minutes`: without a busy kernel or anything in a kernel or terminal; default 60. `None`: never stopped.
        - `pins`: what pip is held to, for all kernels and terminals; default `("sagemaker<3",)`. `()`: nothing.
        - `name_prefixes`: how names of jobs, models and endpoints begin that it may make, read and delete. Default:
          its own name, and what the SDK names by itself: `huggingface-`, `pytorch-`, `tensorflow-`.
        - `clusters`: on whose nodes people open shells from it (`cluster-shell`). Default: none.
        - `encryption_key`: of volume and bucket. Default: one of its own, which is retained.
        - `root_access`: whether people become root on it. Default: no. The lifecycle script is root's in any case.
        - `notebook_name`: default, made of the construct's path.
        - `removal_policy`: default, it goes with the stack, its volume too.

        Raises `FleetError` (LF900 to LF902, LF910 to LF919; LF206 for an AZ that the network does not have).
        """
        view = NotebookView(
            notebook_name=notebook_name,
            instance_type=instance_type,
            platform=platform,
            volume_gib=volume_gib,
            idle_minutes=idle_minutes,
            repositories=repositories,
            pins=pins,
            name_prefixes=name_prefixes,
            internet=internet,
            has_network=network is not None,
            network_internet=getattr(network, "internet", None),
        )
        subject = f"{scope.node.path}/{id}"
        found = check_arguments(
            network=network,
            availability_zone_id=availability_zone_id,
            internet=internet,
            instance_type=instance_type,
            platform=platform,
            repositories=repositories,
            buckets=buckets,
            pins=pins,
            name_prefixes=name_prefixes,
            root_access=root_access,
            notebook_name=notebook_name,
            encryption_key=encryption_key,
        )
        found += check_reachable(clusters)
        raise_problems(found or check_notebook(view), subject=subject)
        subnet = network.compute_subnet(availability_zone_id) if network is not None else None
        claims = [notebook_claim(subject, availability_zone_id=availability_zone_id)]
        raise_problems(network.reserve_addresses(claims) if network is not None else [], subject=subject)
        super().__init__(scope, id)
        self.notebook_instance_name = notebook_name or cdk.Names.unique_resource_name(
            self, max_length=_FACTS.name_max, separator="-"
        )
        self.encryption_key: kms.IKey = encryption_key or FleetKey(
            self, "Key", description="Encrypts the volume and the bucket of a notebook instance"
        )
        """Encrypts the volume, and the bucket if it is its own."""
        self.buckets: tuple[s3.IBucket | s3.Bucket, ...] = tuple(buckets or ()) or (
            DataBucket(self, "Bucket", encryption_key=self.encryption_key),
        )
        """What people and their jobs read and write."""
        self.bucket = cast(s3.IBucket, self.buckets[0])
        self.security_group = (
            NotebookSecurityGroup(self, "SecurityGroup", vpc=network.vpc) if network is not None else None
        )
        permitted = notebook_role(
            self,
            "Role",
            view=view,
            name=self.notebook_instance_name,
            buckets=self.buckets,
            key=self.encryption_key,
            network=network,
            security_group=self.security_group,
        )
        self.role = permitted.role
        grant_cluster_reach(self, clusters)
        self.lifecycle_config: sagemaker.CfnNotebookInstanceLifecycleConfig = self._lifecycle_config(view, clusters)
        """What runs at each start; a changed one runs at the next."""
        self.instance = self._instance(view, root_access=root_access, subnet_id=subnet.subnet_id if subnet else None)
        self.instance.apply_removal_policy(removal_policy)
        self.instance.node.add_dependency(permitted)
        if network is not None:
            self.instance.node.add_dependency(network.connectivity)

    def _lifecycle_config(
        self, view: NotebookView, clusters: Sequence[ReachableCluster]
    ) -> sagemaker.CfnNotebookInstanceLifecycleConfig:
        settings = notebook_settings(pins=view.pins, bucket=self.bucket.bucket_name, idle_minutes=view.idle_minutes)
        script = lifecycle_script(self, settings, files=cluster_reach_files(clusters))
        raise_problems(check_lifecycle_script(script), subject=self.node.path)
        hook = sagemaker.CfnNotebookInstanceLifecycleConfig.NotebookInstanceLifecycleHookProperty(
            content=cdk.Fn.base64(script)
        )
        return sagemaker.CfnNotebookInstanceLifecycleConfig(self, "LifecycleConfig", on_start=[hook])

    def _instance(
        self, view: NotebookView, *, root_access: bool, subnet_id: str | None
    ) -> sagemaker.CfnNotebookInstance:
        cloned = [self._repository(index, one) for index, one in enumerate(view.repositories)]
        instance = sagemaker.CfnNotebookInstance(
            self,
            "Resource",
            notebook_instance_name=self.notebook_instance_name,
            instance_type=view.instance_type,
            platform_identifier=str(view.platform),
            role_arn=self.role.role_arn,
            volume_size_in_gb=view.volume_gib,
            kms_key_id=self.encryption_key.key_arn,
            subnet_id=subnet_id,
            security_group_ids=[self.security_group.security_group_id] if self.security_group else None,
            direct_internet_access=_ON if view.internet else _OFF,
            root_access=_ON if root_access else _OFF,
            instance_metadata_service_configuration=(
                sagemaker.CfnNotebookInstance.InstanceMetadataServiceConfigurationProperty(
                    minimum_instance_metadata_service_version=_IMDS_V2
                )
            ),
            lifecycle_config_name=self.lifecycle_config.attr_notebook_instance_lifecycle_config_name,
            default_code_repository=cloned[0] if cloned else None,
            additional_code_repositories=cloned[1:] or None,
        )
        if view.internet:
            acknowledge(
                instance,
                "who made this notebook asked for it by `internet`: it fetches code and packages without a network",
                "AwsSolutions-SM3",
                "NIST.800.53.R5-SageMakerNotebookNoDirectInternetAccess",
            )
        if subnet_id is None:
            acknowledge(instance, "it was asked for without a network, by `internet`", "AwsSolutions-SM1")
        return instance

    def _repository(self, index: int, repository: GitRepository) -> str:
        """Return the name of the code repository that is made for one with a secret or a branch, else its address."""
        if repository.secret_arn is None and repository.branch is None:
            return repository.url
        made = sagemaker.CfnCodeRepository(
            self,
            f"Repository{index}",
            git_config=sagemaker.CfnCodeRepository.GitConfigProperty(
                repository_url=repository.url, branch=repository.branch, secret_arn=repository.secret_arn
            ),
        )
        return made.attr_code_repository_name
