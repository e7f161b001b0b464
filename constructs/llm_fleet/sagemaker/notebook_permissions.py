"""What a notebook instance may do and reach: its role, and its security group."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.catalog.endpoint import deep_learning_accounts
from llm_fleet.catalog.notebook import notebook_facts
from llm_fleet.iam.statements import BucketAccess, Permission, Place
from llm_fleet.network.network import Network
from llm_fleet.rules.sagemaker.notebook import is_code_commit
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.sagemaker import workbench as work
from llm_fleet.sagemaker.workbench import WorkbenchRole
from llm_fleet.spec.notebook import GitRepository, NotebookSpec

_CODE_COMMIT = re.compile(r"/v1/repos/(?P<name>[^/]+)/?")


def itself(place: Place, name: str, *, stops: bool) -> tuple[Permission, ...]:
    """`stops`: whether it stops itself when it is idle."""
    actions = ("sagemaker:DescribeNotebookInstance", *(("sagemaker:StopNotebookInstance",) if stops else ()))
    # SageMaker writes the name of an instance into its ARN in small letters, as those of endpoints.
    # assumption: sagemaker-arns-in-small-letters
    names = dict.fromkeys((name, name.lower()))
    group = place.arn("logs", f"log-group:{notebook_facts().log_group}")
    return (
        Permission(
            sid="Itself",
            actions=actions,
            resources=tuple(place.arn("sagemaker", f"notebook-instance/{each}") for each in names),
            reason="the SDK asks for the instance's role" + ("; idle, it stops itself" if stops else ""),
        ),
        Permission(
            sid="ItsLogGroup",
            actions=("logs:CreateLogGroup", "logs:DescribeLogStreams"),
            # Policies have ":*" after a group (CloudWatch Logs user guide), its service reference has not.
            resources=(group, f"{group}:*"),
            reason="the first notebook instance of an account makes the group of all; who writes looks for its stream",
        ),
        Permission(
            sid="ItsLog",
            actions=("logs:CreateLogStream", "logs:PutLogEvents"),
            resources=(f"{group}:log-stream:{name}/*",),
            reason="Jupyter, the lifecycle script and what stops it when idle write streams that begin with its name",
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
    id: str,
    *,
    notebook: NotebookSpec,
    name: str,
    buckets: Sequence[s3.IBucket | s3.Bucket],
    key: kms.IKey,
    network: Network | None,
    security_group: ec2.ISecurityGroup | None,
) -> WorkbenchRole:
    """Make the role of the instance called `name`, that may use these buckets, this key and this network."""
    place = Place.of(scope)
    prefixes = tuple(notebook.name_prefixes) or (name, *notebook_facts().sdk_name_prefixes)
    region = None if is_unresolved(place.region) else place.region
    return WorkbenchRole(
        scope,
        id,
        description=f"Notebook instance {name}",
        permissions={
            "Surroundings": [
                *itself(place, name, stops=notebook.idle_minutes is not None),
                *repositories(place, notebook.repositories),
                *work.buckets([BucketAccess.of(bucket) for bucket in buckets]),
                *work.own_keys([key.key_arn]),
                *_interfaces(place, network, security_group),
            ],
            "Work": [
                *work.images(place, deep_learning_accounts(region)),
                *work.training_jobs(place, prefixes),
                *work.endpoints(place, prefixes),
                *work.lists(),
                *work.logs_and_metrics(place, prefixes),
            ],
        },
    )


def _interfaces(
    place: Place, network: Network | None, security_group: ec2.ISecurityGroup | None
) -> tuple[Permission, ...]:
    if network is None or security_group is None:
        return ()
    groups = (security_group.security_group_id, network.security_group.security_group_id)
    return work.interfaces(
        place,
        subnet_arns=[place.arn("ec2", f"subnet/{one.subnet_id}") for one in network.compute_subnets.values()],
        group_arns=[place.arn("ec2", f"security-group/{group}") for group in groups],
    )


class NotebookSecurityGroup(ec2.SecurityGroup):
    """Lets nothing in, and HTTPS out. People come by SageMaker's own way, which needs no open port."""

    def __init__(self, scope: Construct, id: str, *, vpc: ec2.IVpc) -> None:
        """Make the group in `vpc`."""
        super().__init__(
            scope,
            id,
            vpc=vpc,
            description="Notebook instance: nothing in, HTTPS out",
            allow_all_outbound=False,
        )
        self.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.HTTPS, "services of AWS, repositories of code and packages")
