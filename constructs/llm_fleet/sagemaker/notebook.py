"""A SageMaker notebook instance."""

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
from llm_fleet.sagemaker.workbench import ReachableCluster, cluster_access_files, grant_cluster_access
from llm_fleet.spec.notebook import GitRepository, NotebookSpec
from llm_fleet.spec.storage import BucketSpec
from llm_fleet.storage.buckets import DataBucket, FleetKey

_FOLDER = "notebook_instance"
_SCRIPT = "lay_down.sh"
_HOME = "opt/llm-fleet"
_PROGRAMS = "usr/local/bin/"


def notebook_settings(*, pins: Sequence[str], bucket: str, idle_minutes: int | None) -> dict[str, Any]:
    """Return the settings that are written to the instance. `bucket` may be a token. `idle_minutes` `None` becomes 0,
    because the CDK omits `None`.
    """
    return {"pins": list(pins), "bucket": bucket, "idle_minutes": idle_minutes or 0}


def lifecycle_script(scope: Construct, settings: Mapping[str, Any], *, files: Mapping[str, str]) -> str:
    """Return the script that SageMaker runs at each start. `settings` can have tokens.

    `files`: more files to write, by absolute path; those in `/usr/local/bin` are executable. No tokens.
    """
    script = (default_folder() / _FOLDER / _SCRIPT).read_text(encoding="utf-8")
    written = cdk.Stack.of(scope).to_json_string(dict(settings))
    return script.replace("@FILES@", _packed(files)).replace("@SETTINGS@", written)


def check_lifecycle_script(script: str) -> list[Problem]:
    """Return a problem if the script is longer than SageMaker allows."""
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
    # The instance name is in lowercase in its ARN, as with endpoints.
    # assumption: sagemaker-arns-in-small-letters
    names = dict.fromkeys((name, name.lower()))
    return (
        Permission(
            sid="Itself",
            actions=actions,
            resources=tuple(place.arn("sagemaker", f"notebook-instance/{each}") for each in names),
            reason="the SDK reads the instance's role" + ("; it stops itself when idle" if stops else ""),
        ),
        *work.own_streams(
            place,
            notebook_facts().log_group,
            name,
            sid="Its",
            reason="the first notebook instance of an account creates the log group; writers look up their stream",
            streams_reason="Jupyter, the lifecycle script and the idle check write streams that begin with its name",
        ),
    )


def repositories(place: Place, cloned: Sequence[GitRepository]) -> tuple[Permission, ...]:
    """Return the permissions that the repositories require."""
    secrets = tuple(dict.fromkeys(one.secret_arn for one in cloned if one.secret_arn is not None))
    keys = tuple(dict.fromkeys(one.secret_key_arn for one in cloned if one.secret_key_arn is not None))
    code_commit = tuple(
        Permission(
            sid=f"Repository{index}",
            actions=("codecommit:GitPull", "codecommit:GitPush"),
            resources=(arn,),
            reason="it is cloned at the start, and users push to it",
        )
        for index, one in enumerate(cloned)
        if (arn := _code_commit_arn(place, one.url)) is not None
    )
    of_secrets = Permission(
        sid="RepositorySecrets",
        actions=("secretsmanager:GetSecretValue",),
        resources=secrets,
        reason="user name and password of private repositories",
    )
    of_keys = Permission(
        sid="RepositorySecretKeys",
        actions=("kms:Decrypt",),
        resources=keys,
        reason="the secrets are encrypted with their own keys",
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
    """Create the role of the instance `name`, with permissions for these buckets, this key and this network."""
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
            "Surroundings": [  # codespell:ignore surroundings
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
    """The attributes and grants of a notebook instance, which `TrainingNotebook` sets."""

    notebook_instance_name: str
    """Physical name of the instance."""
    role: iam.Role
    """Execution role of its users, their jobs and their endpoints."""
    bucket: s3.IBucket
    """The first of its buckets, the default bucket of the SageMaker SDK."""
    instance: sagemaker.CfnNotebookInstance
    """The L1 construct."""
    security_group: ec2.SecurityGroup | None
    """Its own security group; `None` without a network."""
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
        """The ARN, a CDK token."""
        return self.instance.ref

    def grant_open(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` open, start and stop only this instance."""
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
        """Add stack outputs: commands that start and open it, its bucket and its role."""
        name = self.notebook_instance_name
        region = cdk.Stack.of(self).region
        of_it = f"--region {region} --notebook-instance-name {name}"
        outputs = {
            "NotebookName": (name, "Name of the notebook instance"),
            "StartCommand": (f"aws sagemaker start-notebook-instance {of_it}", "Starts it after it was stopped"),
            "OpenCommand": (
                f"aws sagemaker create-presigned-notebook-instance-url {of_it} --query AuthorizedUrl --output text",
                "Prints a URL of JupyterLab that is valid for a few minutes",
            ),
            "BucketName": (self.bucket.bucket_name, "Default bucket of the SageMaker SDK"),
            "RoleArn": (self.role.role_arn, "Execution role of its users and their jobs"),
        }
        add_outputs(self, outputs)


_FACTS = notebook_facts()
_NETWORK = network_form(
    'write FleetNetwork(self, "Network", NetworkSpec(availability_zone_ids=["usw2-az1"])), or internet=True'
)
_ON, _OFF = "Enabled", "Disabled"
_IMDS_V2 = "2"


class TrainingNotebook(NotebookBase):
    """A notebook instance on a supported platform, private by default, that stops itself when it is idle.

    It downloads nothing at its start. Published notebooks begin with `pip install sagemaker --upgrade`, which now
    installs version 3, without `Session` and `Estimator`; a pip constraint of `sagemaker<3` keeps them working.

    Work is stored on its volume, under `/home/ec2-user/SageMaker`; everything else is reset at each start. The volume
    is deleted with the instance, so keep important files in the bucket or a repository. The instance has a fixed name,
    so CloudFormation rejects a change that would replace it and its volume (subnet, key, internet).

    Users get access with `grant_open` or through the console. Pass the notebook itself to the grants and connections
    of other constructs (`repository.grant_pull(notebook)`).
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
        """Create the instance, its role, its lifecycle script, and a bucket if `buckets` is not set.

        - `notebook`: default: all defaults of `NotebookSpec`.
        - `network`: its network interface is in a compute subnet, without a public IP address. Default: none, which
          requires `notebook.internet`.
        - `buckets`: users and their jobs read and write them; the first is the SDK's default bucket. Default: a new
          one, which is retained.
        - `clusters`: users can open shells on their nodes from it (`cluster-shell`). Default: none.
        - `encryption_key`: encrypts volume and bucket, unless `notebook.kms_key_arn` is set. Default: a new key.
        - `removal_policy`: default: the instance and its volume are deleted with the stack.

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
        """Encrypts the volume, and the bucket if this construct creates it."""
        self.buckets: tuple[s3.IBucket | s3.Bucket, ...] = tuple(buckets or ()) or (
            DataBucket(self, "Bucket", BucketSpec(encryption_key=self.encryption_key)),
        )
        """Buckets that users and their jobs read and write."""
        self.bucket = cast(s3.IBucket, self.buckets[0])
        # Users connect through SageMaker, which needs no open port.
        self.security_group = network and HttpsOutSecurityGroup(
            self,
            "SecurityGroup",
            vpc=network.vpc,
            description="Notebook instance: nothing in, HTTPS out",
            reaches="AWS services, code and package repositories",
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
        grant_cluster_access(self, clusters)
        self.lifecycle_config: sagemaker.CfnNotebookInstanceLifecycleConfig = self._lifecycle_config(notebook, clusters)
        """Script that runs at each start; a changed script runs at the next start."""
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
        script = lifecycle_script(self, settings, files=cluster_access_files(clusters))
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
                "`internet` is set: it downloads code and packages without a VPC",
                "AwsSolutions-SM3",
                "NIST.800.53.R5-SageMakerNotebookNoDirectInternetAccess",
            )
        if subnet_id is None:
            acknowledge(instance, "`internet` is set without a network", "AwsSolutions-SM1")
        return instance

    def _repository(self, index: int, repository: GitRepository) -> str:
        """Create a code repository for one with a secret or branch and return its name, otherwise return the URL."""
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
