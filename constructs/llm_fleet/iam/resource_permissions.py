"""Permissions on buckets, images and networks.

Statements for a cluster in the customer's VPC: HyperPod places the nodes' network interfaces with this role.

The list of actions is the developer guide's for HyperPod with a VPC, together with `DetachNetworkInterface`, without
which a node cannot be replaced. The guide writes `*` for all; we restrict the actions that support resources.
CloudFormation deletes the role right after the cluster: assumption: hyperpod-interfaces-end-with-cluster
"""

from collections.abc import Sequence

from llm_fleet.iam.statements import BucketAccess, Permission, Place


def read_bucket(sid: str, access: BucketAccess, *, reason: str) -> tuple[Permission, ...]:
    """List and read."""
    return (
        _list(sid, access, reason),
        Permission(
            sid=f"{sid}Objects",
            actions=("s3:GetObject",),
            resources=(access.objects_arn,),
            reason=reason,
        ),
        *_key(sid, access, ("kms:Decrypt",)),
    )


def change_bucket(sid: str, access: BucketAccess, *, reason: str) -> tuple[Permission, ...]:
    """List, read, write and delete, uploads in parts included."""
    return (
        _list(sid, access, reason),
        Permission(
            sid=f"{sid}Objects",
            actions=(
                "s3:AbortMultipartUpload",
                "s3:DeleteObject",
                "s3:GetObject",
                "s3:ListMultipartUploadParts",
                "s3:PutObject",
            ),
            resources=(access.objects_arn,),
            reason=reason,
        ),
        *_key(sid, access, ("kms:Decrypt", "kms:GenerateDataKey")),
    )


def write_only(sid: str, access: BucketAccess, *, reason: str) -> tuple[Permission, ...]:
    """Write, without reading."""
    return (
        Permission(sid=f"{sid}Objects", actions=("s3:PutObject",), resources=(access.objects_arn,), reason=reason),
        *_key(sid, access, ("kms:GenerateDataKey",)),
    )


def _list(sid: str, access: BucketAccess, reason: str) -> Permission:
    # "IfExists": a request that checks for the bucket (HeadBucket) has no prefix. AWS's managed policy for HyperPod
    # has no such condition. assumption: platform-agents-call-as-their-own-principals
    prefixes = {"s3:prefix": [access.prefix, f"{access.prefix}/*"]}
    conditions = {"StringLikeIfExists": prefixes} if access.prefix else {}
    return Permission(
        sid=f"{sid}List",
        actions=("s3:ListBucket",),
        resources=(access.bucket_arn,),
        conditions=conditions,
        reason=f"{reason}; copying a prefix begins with listing it",
    )


def _key(sid: str, access: BucketAccess, actions: tuple[str, ...]) -> tuple[Permission, ...]:
    if access.key_arn is None:
        return ()
    return (
        Permission(
            sid=f"{sid}Key",
            actions=actions,
            resources=(access.key_arn,),
            reason="the bucket is encrypted with its own KMS key",
        ),
    )


def pull_images(repositories: Sequence[str], *, reason: str) -> tuple[Permission, ...]:
    """Return permissions to pull images of `repositories`, by ARN, only; none without repositories.

    `reason`: why they are pulled.
    """
    if not repositories:
        return ()
    return (
        Permission(
            sid="ImageRegistry",
            actions=("ecr:GetAuthorizationToken",),
            resources=("*",),
            reason="signing in to ECR comes before any pull; the action supports no resource",
        ),
        Permission(
            sid="Images",
            actions=("ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"),
            resources=tuple(dict.fromkeys(repositories)),
            reason=reason,
        ),
    )


def network(place: Place, *, existing_subnets: bool = False) -> tuple[Permission, ...]:
    """Create, use, describe and delete network interfaces.

    `existing_subnets`: whether the subnets may be another account's, shared by AWS RAM. The ARN of such a subnet has
    its owner's account; those of interfaces and security groups in it have the participant's.
    assumption: hyperpod-takes-shared-subnets
    """
    interfaces = place.arn("ec2", "network-interface/*")
    subnets = place.arn("ec2", "subnet/*", account="*" if existing_subnets else None)
    why = "each node gets its interfaces in the cluster's subnets; their ids do not exist before"
    return (
        place_interfaces(
            "NetworkInterfaces",
            (interfaces, place.arn("ec2", "security-group/*"), subnets),
            reason=f"{why}, and subnets that AWS RAM shares are of another account" if existing_subnets else why,
        ),
        Permission(
            sid="NetworkInterfaceDetach",
            actions=("ec2:DetachNetworkInterface",),
            # Nodes are instances of HyperPod's own account, whose id AWS does not publish.
            resources=(interfaces, place.arn("ec2", "instance/*", account="*")),
            reason="an unhealthy node's interfaces move to its replacement",
        ),
        Permission(
            sid="NetworkInterfaceTags",
            actions=("ec2:CreateTags",),
            resources=(interfaces,),
            reason="HyperPod marks the interfaces as its own when it makes them",
        ),
        look_up_network(
            "NetworkLookup",
            reason="HyperPod checks the VPC before it places a node; EC2's Describe actions support no resource",
        ),
    )


def place_interfaces(sid: str, resources: Sequence[str], *, reason: str) -> Permission:
    """SageMaker's write actions in EC2 to place something in a VPC: `resources` are interfaces, subnets and groups."""
    return Permission(
        sid=sid,
        actions=(
            "ec2:CreateNetworkInterface",
            "ec2:CreateNetworkInterfacePermission",
            "ec2:DeleteNetworkInterface",
            "ec2:DeleteNetworkInterfacePermission",
        ),
        resources=tuple(resources),
        reason=reason,
    )


def grant_volumes(sid: str, key_arns: Sequence[str], *, reason: str) -> Permission:
    """Let AWS services, and no other principal, create grants on the keys of volumes."""
    return Permission(
        sid=sid,
        actions=("kms:CreateGrant",),
        resources=tuple(key_arns),
        conditions={"Bool": {"kms:GrantIsForAWSResource": "true"}},
        reason=reason,
    )


def look_up_network(sid: str, *, reason: str) -> Permission:
    """SageMaker's read actions in EC2 before it places something in a VPC."""
    return Permission(
        sid=sid,
        actions=(
            "ec2:DescribeDhcpOptions",
            "ec2:DescribeNetworkInterfaces",
            "ec2:DescribeSecurityGroups",
            "ec2:DescribeSubnets",
            "ec2:DescribeVpcs",
        ),
        resources=("*",),
        reason=reason,
    )


def network_interface_permissions(place: Place, *, reason: str, lookup_reason: str) -> tuple[Permission, ...]:
    """What SageMaker does to place instances into a VPC. Its guide writes `*` for all; some support resources."""
    kinds = ("network-interface", "security-group", "subnet")
    resources = [place.arn("ec2", f"{kind}/*") for kind in kinds]
    return (
        place_interfaces("NetworkInterfaces", resources, reason=reason),
        look_up_network("NetworkLookup", reason=lookup_reason),
    )


def open_sessions(sid: str, *, reason: str) -> Permission:
    """The APIs that Session Manager's agent calls, on a node or in a container."""
    return Permission(
        sid=sid,
        actions=(
            "ssmmessages:CreateControlChannel",
            "ssmmessages:CreateDataChannel",
            "ssmmessages:OpenControlChannel",
            "ssmmessages:OpenDataChannel",
        ),
        resources=("*",),
        reason=reason,
    )
