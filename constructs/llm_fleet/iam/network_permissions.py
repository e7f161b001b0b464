"""Statements for a cluster in the customer's VPC: HyperPod places the nodes' network interfaces with this role.

The list of actions is the developer guide's for HyperPod with a VPC, together with `DetachNetworkInterface`, without
which a node cannot be replaced. The guide writes `*` for all; we scope the ones that know resources.
CloudFormation deletes the role right after the cluster: assumption: hyperpod-interfaces-end-with-cluster
"""

from llm_fleet.iam.permission import Permission, Place


def network(place: Place, *, existing_subnets: bool = False) -> tuple[Permission, ...]:
    """Make, use, look up and remove network interfaces.

    `existing_subnets`: whether the subnets may be another account's, shared by AWS RAM. The ARN of such a subnet has
    its owner's account; those of interfaces and security groups in it have the participant's.
    assumption: hyperpod-takes-shared-subnets
    """
    interfaces = place.arn("ec2", "network-interface/*")
    subnets = place.arn("ec2", "subnet/*", account="*" if existing_subnets else None)
    why = "each node gets its interfaces in the cluster's subnets; their ids do not exist before"
    return (
        Permission(
            sid="NetworkInterfaces",
            actions=(
                "ec2:CreateNetworkInterface",
                "ec2:CreateNetworkInterfacePermission",
                "ec2:DeleteNetworkInterface",
                "ec2:DeleteNetworkInterfacePermission",
            ),
            resources=(interfaces, place.arn("ec2", "security-group/*"), subnets),
            reason=f"{why}, and subnets that AWS RAM shares are of another account" if existing_subnets else why,
        ),
        Permission(
            sid="NetworkInterfaceDetach",
            actions=("ec2:DetachNetworkInterface",),
            # Nodes are instances of HyperPod's own account, whose number no one tells.
            resources=(interfaces, place.arn("ec2", "instance/*", account="*")),
            reason="a sick node's interfaces move to its replacement",
        ),
        Permission(
            sid="NetworkInterfaceTags",
            actions=("ec2:CreateTags",),
            resources=(interfaces,),
            reason="HyperPod marks the interfaces as its own when it makes them",
        ),
        Permission(
            sid="NetworkLookup",
            actions=(
                "ec2:DescribeDhcpOptions",
                "ec2:DescribeNetworkInterfaces",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeSubnets",
                "ec2:DescribeVpcs",
            ),
            resources=("*",),
            reason="HyperPod checks the VPC before it places a node; EC2's Describe actions know no resource",
        ),
    )
