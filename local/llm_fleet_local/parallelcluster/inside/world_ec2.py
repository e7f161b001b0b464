"""Creates the EC2 resources of a configuration in moto: network, images, key pairs. Ids are the configuration's own."""

from typing import Any

from moto.core.utils import utcnow
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.models.amis import Ami
from pcluster.aws.aws_api import AWSApi
from pcluster.aws.common import AWSClientError
from pcluster.constants import (
    OS_TO_IMAGE_NAME_PART_MAP,
    PCLUSTER_IMAGE_BUILD_STATUS_TAG,
    PCLUSTER_IMAGE_OS_TAG,
    PCLUSTER_VERSION_TAG,
)
from pcluster.utils import get_installed_version

from llm_fleet_local.parallelcluster import named
from llm_fleet_local.parallelcluster.inside.account_context import AccountContext

ACCOUNT = "123456789012"
NETWORK = "10.0.0.0/16"
# AMIs of ParallelCluster 3.16 fit into its default root volume (pcluster/constants.py, EBS_ROOT_VOLUME_SIZE_DEFAULT);
# their true size is not published.
IMAGE_SIZE_GIB = 35


def backend(region: str) -> EC2Backend:
    """Return moto's EC2 of a region."""
    return ec2_backends[ACCOUNT][region]


def make_official_images(region: str) -> None:
    """Register an image for each operating system and architecture, with AWS's names."""
    for os_name, part in OS_TO_IMAGE_NAME_PART_MAP.items():
        for architecture in ("x86_64", "arm64"):
            name = f"aws-parallelcluster-{get_installed_version()}-{part}-{architecture}-202611010000"
            _make_image(region, None, name=name, owner="amazon", os=os_name, architecture=architecture)


def furnish_ec2(region: str, configuration: dict[str, Any], account_context: AccountContext) -> tuple[str, str]:
    """Create all EC2 resources of a configuration; return the VPC's id and the head node's AZ."""
    ec2 = backend(region)
    _clear(ec2)
    vpc = ec2.create_vpc(NETWORK)
    ec2.modify_vpc_attribute(vpc.id, "enable_dns_support", True)
    ec2.modify_vpc_attribute(vpc.id, "enable_dns_hostnames", True)
    _make_subnets(ec2, vpc.id, region, configuration, account_context)
    _make_security_groups(ec2, vpc.id, configuration, account_context)
    _make_custom_images(region, configuration, account_context)
    for name in account_context.exist(named.values(configuration, "KeyName", under="Ssh")):
        ec2.create_key_pair(name, "ed25519", {})
    return vpc.id, _head_nodes_zone(ec2, region, configuration)


def _head_nodes_zone(ec2: EC2Backend, region: str, configuration: dict[str, Any]) -> str:
    head = named.values(named.section(configuration, "HeadNode"), "SubnetId")
    return next((zone for zone, subnets in ec2.subnets.items() if head and head[0] in subnets), f"{region}a")


def _clear(ec2: EC2Backend) -> None:
    for things in (ec2.subnets, ec2.key_pairs, ec2.enis):
        things.clear()
    for groups in ec2.groups.values():
        for group_id in [one.id for one in groups.values() if one.name == one.id]:
            del groups[group_id]


def _make_subnets(
    ec2: EC2Backend, vpc_id: str, region: str, configuration: dict[str, Any], account_context: AccountContext
):
    zones = _zones(region, configuration) | account_context.zones
    elsewhere = next(iter(zones.values()), f"{region}a")
    subnets = account_context.exist(named.values(configuration, "SubnetId", "SubnetIds"))
    for number, subnet_id in enumerate(subnets):
        zone = zones.get(subnet_id, elsewhere)
        subnet = ec2.create_subnet(vpc_id, f"10.0.{number * 4}.0/22", availability_zone=zone)
        subnet.map_public_ip_on_launch = subnet_id in account_context.public_subnets
        del ec2.subnets[zone][subnet.id]
        subnet.id = subnet_id
        ec2.subnets[zone][subnet_id] = subnet


def _zones(region: str, configuration: dict[str, Any]) -> dict[str, str]:
    """Return a different AZ for each subnet of a queue; each AZ offers the queue's instance types."""
    zones: dict[str, str] = {}
    for queue in named.queues(configuration):
        types = [one for resource in named.compute_resources(queue) for one in named.instance_types(resource)]
        offered = _offered(types) or [f"{region}a", f"{region}b", f"{region}c"]
        for number, subnet_id in enumerate(named.values(queue, "SubnetIds")):
            zones.setdefault(subnet_id, offered[number % len(offered)])
    return zones


def _offered(types: list[str]) -> list[str]:
    try:
        by_type = AWSApi.instance().ec2.get_supported_az_for_instance_types(types) if types else {}
    except AWSClientError:
        return []
    zones = [set(found) for found in by_type.values() if found]
    return sorted(set.intersection(*zones)) if zones else []


def _make_security_groups(
    ec2: EC2Backend, vpc_id: str, configuration: dict[str, Any], account_context: AccountContext
) -> None:
    """Allow all traffic within each security group, as EFA requires; a closed group allows none."""
    keys = ("SecurityGroups", "AdditionalSecurityGroups", "SecurityGroupIds")
    for group_id in account_context.exist(named.values(configuration, *keys)):
        make_security_group(ec2, vpc_id, group_id, closed=group_id in account_context.closed_security_groups)


def make_security_group(ec2: EC2Backend, vpc_id: str, group_id: str, *, closed: bool = False, cidr: str | None = None):
    """Create a group with this id; the id is also the name, by which the group is found and removed."""
    group = ec2.create_security_group(group_id, "named by the configuration", vpc_id)
    del ec2.groups[vpc_id][group.id]
    group.id = group.group_id = group_id
    ec2.groups[vpc_id][group_id] = group
    if not closed:
        who = {"ip_ranges": [{"CidrIp": cidr}]} if cidr else {"source_groups": [{"GroupId": group_id}]}
        arguments = {"ip_ranges": [], "source_groups": []} | who
        ec2.authorize_security_group_ingress(group_id, "-1", None, None, **arguments)
        ec2.authorize_security_group_egress(group_id, "-1", None, None, **arguments)


def _make_custom_images(region: str, configuration: dict[str, Any], account_context: AccountContext) -> None:
    os_name = str((configuration.get("Image") or {}).get("Os"))
    for image_id in account_context.exist(named.values(configuration, "CustomAmi")):
        facts = {"os": os_name, "architecture": "x86_64"} | account_context.images.get(image_id, {})
        _make_image(region, image_id, name=image_id, owner=ACCOUNT, **facts)


def _make_image(
    region: str,
    image_id: str | None,
    *,
    name: str,
    owner: str,
    os: str,
    architecture: str,
    version: str | None = None,
    size_gib: int = IMAGE_SIZE_GIB,
) -> None:
    ec2 = backend(region)
    tags = {
        PCLUSTER_IMAGE_OS_TAG: os,
        PCLUSTER_VERSION_TAG: version or get_installed_version(),
        PCLUSTER_IMAGE_BUILD_STATUS_TAG: "available",
    }
    image = Ami(
        ec2,
        image_id or f"ami-{len(ec2.amis):017x}",
        name=name,
        description=f"AWS ParallelCluster AMI for {os}" if owner == "amazon" else name,
        owner_id=owner,
        architecture=architecture,
        virtualization_type="hvm",
        root_device_type="ebs",
        root_device_name="/dev/xvda",
        region_name=f"{region}a",
        creation_date=utcnow(),
        tags=tags,
    )
    image.ebs_snapshot.volume.size = int(size_gib)
    ec2.amis[image.id] = image
