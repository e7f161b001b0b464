"""The role of a notebook instance."""

from collections.abc import Sequence

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.catalog.endpoint import deep_learning_accounts
from llm_fleet.catalog.notebook import notebook_facts
from llm_fleet.iam.access import BucketAccess
from llm_fleet.iam.permission import Permission, Place
from llm_fleet.network.network import Network
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.sagemaker import workbench_permissions as work
from llm_fleet.sagemaker.notebook.notebook_permissions import itself, repositories
from llm_fleet.sagemaker.notebook.notebook_view import NotebookView
from llm_fleet.sagemaker.workbench_role import WorkbenchRole, place_of


def notebook_role(
    scope: Construct,
    id: str,
    *,
    view: NotebookView,
    name: str,
    buckets: Sequence[s3.IBucket | s3.Bucket],
    key: kms.IKey,
    network: Network | None,
    security_group: ec2.ISecurityGroup | None,
) -> WorkbenchRole:
    """Make the role of the instance called `name`, that may use these buckets, this key and this network."""
    place = place_of(scope)
    prefixes = tuple(view.name_prefixes) or (name, *notebook_facts().sdk_name_prefixes)
    region = None if is_unresolved(place.region) else place.region
    return WorkbenchRole(
        scope,
        id,
        description=f"Notebook instance {name}",
        permissions={
            "Surroundings": [
                *itself(place, name, stops=view.idle_minutes is not None),
                *repositories(place, view.repositories),
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
