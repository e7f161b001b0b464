"""A notebook instance of SageMaker."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.notebook import notebook_facts
from llm_fleet.iam.statements import BucketAccess, Permission, Place
from llm_fleet.lifecycle.script_folder import default_folder, packed, read_folder
from llm_fleet.network.network import Network
from llm_fleet.network.security_group import HttpsOutSecurityGroup
from llm_fleet.references import add_outputs
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.fields import BUCKET, check_form, check_is_spec, key_form, network_form
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.rules.sagemaker.notebook import (
    check_notebook,
    check_reachable,
    check_script_size,
    is_code_commit,
    notebook_claim,
)
from llm_fleet.sagemaker import workbench as work
from llm_fleet.sagemaker.workbench import ReachableCluster, cluster_reach_files, grant_cluster_reach
from llm_fleet.spec.notebook import GitRepository, NotebookSpec
from llm_fleet.spec.storage import BucketSpec
from llm_fleet.storage.buckets import DataBucket, FleetKey

_FOLDER = "notebook_instance"
_SCRIPT = "lay_down.sh"
_HOME = "opt/llm-fleet"
_PROGRAMS = "usr/local/bin/"


def notebook_settings(*, pins: Sequence[str], bucket: str, idle_minutes: int | None) -> dict[str, Any]:
    """Return what the instance is told. `bucket` may be a token. No minutes at all are told as 0: the CDK leaves out
    what is `None`.
    """
    return {"pins": list(pins), "bucket": bucket, "idle_minutes": idle_minutes or 0}


def lifecycle_script(scope: Construct, settings: Mapping[str, Any], *, files: Mapping[str, str]) -> str:
    """Return what SageMaker runs at each start. `settings` may hold tokens.

    `files`: what else is laid down, by absolute paths; programs are those in `/usr/local/bin`. Without tokens.
    """
    script = (default_folder() / _FOLDER / _SCRIPT).read_text(encoding="utf-8")
    reported = cdk.Stack.of(scope).to_json_string(dict(settings))
    return script.replace("@FILES@", _packed(files)).replace("@SETTINGS@", reported)


def check_lifecycle_script(script: str) -> list[Problem]:
    """Return whether the script is longer than SageMaker takes."""
    facts = notebook_facts()
    return check_script_size(script, facts.script_characters_max, SageMakerCode.NOTEBOOK_SCRIPT)


def _packed(files: Mapping[str, str]) -> str:
    ours = {
        f"{_HOME}/{_FOLDER}/{file.path}": file.data
        for file in read_folder(default_folder() / _FOLDER)
        if file.path != _SCRIPT
    }
    theirs = {path.lstrip("/"): text.encode() for path, text in files.items()}
    programs = frozenset(path for path in theirs if path.startswith(_PROGRAMS))
    return packed({**ours, **theirs}, executable=programs)


_CODE_COMMIT = re.compile(r"/v1/repos/(?P<name>[^/]+)/?")


def itself(place: Place, name: str, *, stops: bool) -> tuple[Permission, ...]:
    """`stops`: whether it stops itself when it is idle."""
    actions = ("sagemaker:DescribeNotebookInstance", *(("sagemaker:StopNotebookInstance",) if stops else ()))
    # SageMaker writes the name of an instance into its ARN in small letters, as those of endpoints.
    # assumption: sagemaker-arns-in-small-letters
    names = dict.fromkeys((name, name.lower()))
    return (
        Permission(
            sid="Itself",
            actions=actions,
            resources=tuple(place.arn("sagemaker", f"notebook-instance/{each}") for each in names),
            reason="the SDK asks for the instance's role" + ("; idle, it stops itself" if stops else ""),
        ),
        *work.own_streams(
            place,
            notebook_facts().log_group,
            name,
            sid="Its",
            reason="the first notebook instance of an account makes the group of all; who writes looks for its stream",
            streams_reason="Jupyter, the lifecycle script and what stops it when idle write streams that begin with "
            "its name",
        ),
    )


def repositories(place: Place, cloned: Sequence[GitRepository]) -> tuple[Permission, ...]:
    """Read what repositories ask for."""
    secrets = tuple(dict.fromkeys(one.secret_arn for one in cloned if one.secret_arn is not None))
    keys = tuple(dict.fromkeys(one.secret_key_arn for one in cloned if one.secret_key_arn is not None))
    code_commit = tuple(
        Permission(
            sid=f"Repository{index}",
            actions=("codecommit:GitPull", "codecommit:GitPush"),
            resources=(arn,),
            reason="it is cloned at the start, and work is pushed to it",
        )
        for index, one in enumerate(cloned)
        if (arn := _code_commit_arn(place, one.url)) is not None
    )
    of_secrets = Permission(
        sid="RepositorySecrets",
        actions=("secretsmanager:GetSecretValue",),
        resources=secrets,
        reason="user name and password of repositories that not everybody may read",
    )
    of_keys = Permission(
        sid="RepositorySecretKeys",
        actions=("kms:Decrypt",),
        resources=keys,
        reason="the secrets are encrypted with keys of their own",
    )
    return (*code_commit, *((of_secrets,) if secrets else ()), *((of_keys,) if keys else ()))


def _code_commit_arn(place: Place, url: str) -> str | None:
    found = _CODE_COMMIT.fullmatch(urlsplit(url).path)
    return place.arn("codecommit", found["name"]) if found and is_code_commit(url) else None


def notebook_role(
    scope: Construct,
    *,
    notebook: NotebookSpec,
    name: str,
    buckets: Sequence[s3.IBucket | s3.Bucket],
    key: kms.IKey,
    network: Network | None,
    security_group: ec2.ISecurityGroup | None,
) -> work.WorkbenchRole:
    """Make the role of the instance called `name`, that may use these buckets, this key and this network."""
    place = Place.of(scope)
    prefixes = tuple(notebook.name_prefixes) or (name, *notebook_facts().sdk_name_prefixes)
    in_network: tuple[Permission, ...] = ()
    if network is not None and security_group is not None:
        in_network = work.interfaces(place, network.compute_subnets.values(), security_group, network.security_group)
    return work.WorkbenchRole(
        scope,
        "Role",
        description=f"Notebook instance {name}",
        permissions={
            "Surroundings": [
                *itself(place, name, stops=notebook.idle_minutes is not None),
                *repositories(place, notebook.repositories),
                *work.buckets([BucketAccess.of(bucket) for bucket in buckets]),
                *work.own_keys([key.key_arn]),
                *in_network,
            ],
            "Work": work.work(place, prefixes),
        },
    )


@jsii.implements(iam.IGrantable, ec2.IConnectable)
class NotebookBase(Construct):
    """A notebook instance for those who use it. `TrainingNotebook` sets what is here."""

    notebook_instance_name: str
    """Its name."""
    role: iam.Role
    """What people act with on it, and what their jobs and endpoints are given."""
    bucket: s3.IBucket
    """The first of its buckets: what the SDK takes for its default one."""
    instance: sagemaker.CfnNotebookInstance
    """The L1 beneath."""
    security_group: ec2.SecurityGroup | None
    """Its own; `None` without a network."""
    _connections: ec2.Connections | None = None

    @property
    @jsii.member(jsii_name="grantPrincipal")
    def grant_principal(self) -> iam.IPrincipal:
        """Its role: `bucket.grant_read(notebook)`, `repository.grant_pull(notebook)`."""
        return self.role.grant_principal

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """Its security group: `file_system.connections.allow_default_port_from(notebook)`. Empty without a network."""
        if self._connections is None:
            groups: list[ec2.ISecurityGroup] = [] if self.security_group is None else [self.security_group]
            self._connections = ec2.Connections(security_groups=groups)
        return self._connections

    @property
    def notebook_instance_arn(self) -> str:
        """Its ARN, a token."""
        return self.instance.ref

    def grant_open(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` open it, start it and stop it, and no other."""
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=[
                "sagemaker:CreatePresignedNotebookInstanceUrl",
                "sagemaker:DescribeNotebookInstance",
                "sagemaker:StartNotebookInstance",
                "sagemaker:StopNotebookInstance",
            ],
            resource_arns=[self.notebook_instance_arn],
        )

    def add_outputs(self) -> None:
        """Give the stack outputs: how to start and open it, its bucket and its role."""
        name = self.notebook_instance_name
        region = cdk.Stack.of(self).region
        of_it = f"--region {region} --notebook-instance-name {name}"
        outputs = {
            "NotebookName": (name, "Name of the notebook instance"),
            "StartCommand": (f"aws sagemaker start-notebook-instance {of_it}", "Starts it after it was stopped"),
            "OpenCommand": (
                f"aws sagemaker create-presigned-notebook-instance-url {of_it} --query AuthorizedUrl --output text",
                "Prints an address of JupyterLab that is good for a few minutes",
            ),
            "BucketName": (self.bucket.bucket_name, "What the SageMaker SDK takes for its default bucket"),
            "RoleArn": (self.role.role_arn, "What people act with on it, and what their jobs are given"),
        }
        add_outputs(self, outputs)


_FACTS = notebook_facts()
_NETWORK = network_form(
    'write FleetNetwork(self, "Network", NetworkSpec(availability_zone_ids=["usw2-az1"])), or internet=True without one'
)
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
        notebook: NotebookSpec = NotebookSpec(),  # noqa: B008 - immutable
        *,
        network: Network | None = None,
        buckets: Sequence[s3.IBucket | s3.Bucket] | None = None,
        clusters: Sequence[ReachableCluster] = (),
        encryption_key: kms.IKey | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.DESTROY,
    ) -> None:
        """Make the instance, its role, its lifecycle script, and a bucket where none is given.

        - `notebook`: default, one with its defaults.
        - `network`: where it has its interface, in a compute subnet, without a public address. Default: none, which
          needs `notebook.internet`.
        - `buckets`: what people and their jobs read and write; the first is the SDK's default bucket. Default: one of
          its own, which is retained.
        - `clusters`: on whose nodes people open shells from it (`cluster-shell`). Default: none.
        - `encryption_key`: of volume and bucket, unless `notebook.kms_key_arn` is set. Default: one of its own.
        - `removal_policy`: default, it goes with the stack, its volume too.

        Raises `FleetError` (LF900 to LF902, LF910 to LF919; LF206 for an AZ that the network does not have).
        """
        subject = f"{scope.node.path}/{id}"
        found = [
            *check_is_spec(notebook, NotebookSpec, "notebook"),
            *check_form(network, _NETWORK, "network"),
            *check_form(encryption_key, key_form(), "encryption_key"),
            *(one for index, each in enumerate(buckets or ()) for one in check_form(each, BUCKET, "buckets", index)),
            *check_reachable(clusters),
        ]
        raise_problems(found, subject=subject)
        internet = network.internet if network is not None else None
        checked = check_notebook(notebook, has_network=network is not None, network_internet=internet)
        raise_problems(checked, subject=subject)
        zone = notebook.availability_zone_id
        subnet = network.compute_subnet(zone) if network is not None else None
        claims = [notebook_claim(subject, availability_zone_id=zone)]
        raise_problems(network.reserve_addresses(claims) if network is not None else [], subject=subject)
        super().__init__(scope, id)
        self.notebook_instance_name = notebook.name or cdk.Names.unique_resource_name(
            self, max_length=_FACTS.name_max, separator="-"
        )
        own_key = notebook.kms_key_arn and kms.Key.from_key_arn(self, "OwnKey", notebook.kms_key_arn)
        self.encryption_key: kms.IKey = (
            own_key
            or encryption_key
            or FleetKey(self, "Key", description="Encrypts the volume and the bucket of a notebook instance")
        )
        """Encrypts the volume, and the bucket if it is its own."""
        self.buckets: tuple[s3.IBucket | s3.Bucket, ...] = tuple(buckets or ()) or (
            DataBucket(self, "Bucket", BucketSpec(encryption_key=self.encryption_key)),
        )
        """What people and their jobs read and write."""
        self.bucket = cast(s3.IBucket, self.buckets[0])
        # People come by SageMaker's own way, which needs no open port.
        self.security_group = network and HttpsOutSecurityGroup(
            self,
            "SecurityGroup",
            vpc=network.vpc,
            description="Notebook instance: nothing in, HTTPS out",
            reaches="services of AWS, repositories of code and packages",
        )
        permitted = notebook_role(
            self,
            notebook=notebook,
            name=self.notebook_instance_name,
            buckets=self.buckets,
            key=self.encryption_key,
            network=network,
            security_group=self.security_group,
        )
        self.role = permitted.role
        grant_cluster_reach(self, clusters)
        self.lifecycle_config: sagemaker.CfnNotebookInstanceLifecycleConfig = self._lifecycle_config(notebook, clusters)
        """What runs at each start; a changed one runs at the next."""
        self.instance = self._instance(notebook, subnet_id=subnet.subnet_id if subnet else None)
        self.instance.apply_removal_policy(removal_policy)
        self.instance.node.add_dependency(permitted)
        if network is not None:
            self.instance.node.add_dependency(network.connectivity)

    def _lifecycle_config(
        self, notebook: NotebookSpec, clusters: Sequence[ReachableCluster]
    ) -> sagemaker.CfnNotebookInstanceLifecycleConfig:
        settings = notebook_settings(
            pins=notebook.pins, bucket=self.bucket.bucket_name, idle_minutes=notebook.idle_minutes
        )
        script = lifecycle_script(self, settings, files=cluster_reach_files(clusters))
        raise_problems(check_lifecycle_script(script), subject=self.node.path)
        hook = sagemaker.CfnNotebookInstanceLifecycleConfig.NotebookInstanceLifecycleHookProperty(
            content=cdk.Fn.base64(script)
        )
        return sagemaker.CfnNotebookInstanceLifecycleConfig(self, "LifecycleConfig", on_start=[hook])

    def _instance(self, notebook: NotebookSpec, *, subnet_id: str | None) -> sagemaker.CfnNotebookInstance:
        cloned = [self._repository(index, one) for index, one in enumerate(notebook.repositories)]
        instance = sagemaker.CfnNotebookInstance(
            self,
            "Resource",
            notebook_instance_name=self.notebook_instance_name,
            instance_type=notebook.instance_type,
            platform_identifier=str(notebook.platform),
            role_arn=self.role.role_arn,
            volume_size_in_gb=notebook.volume_gib,
            kms_key_id=self.encryption_key.key_arn,
            subnet_id=subnet_id,
            security_group_ids=[self.security_group.security_group_id] if self.security_group else None,
            direct_internet_access=_ON if notebook.internet else _OFF,
            root_access=_ON if notebook.root_access else _OFF,
            instance_metadata_service_configuration=(
                sagemaker.CfnNotebookInstance.InstanceMetadataServiceConfigurationProperty(
                    minimum_instance_metadata_service_version=_IMDS_V2
                )
            ),
            lifecycle_config_name=self.lifecycle_config.attr_notebook_instance_lifecycle_config_name,
            default_code_repository=cloned[0] if cloned else None,
            additional_code_repositories=cloned[1:] or None,
        )
        if notebook.internet:
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
