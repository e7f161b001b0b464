"""What the head node and login nodes have in common: who reaches them and by what; ids of what they stand in."""

import re
from collections.abc import Sequence

from llm_fleet.catalog.limit import Limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.number import check_number
from llm_fleet.rules.parallelcluster.keyed_value import check_keyed
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster_nodes import Dcv, HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import Queue

_BYTE = r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_RANGE = re.compile(rf"({_BYTE}\.){{3}}{_BYTE}/([0-9]|[12][0-9]|3[0-2])")
_PREFIX_LIST = re.compile(r"pl-[0-9a-zA-Z]+")
_ELASTIC_IP = re.compile(r"eipalloc-[0-9a-f]{8,17}")
_PORTS = Limit(minimum=1, maximum=65535)
_SSH = 22


def check_head_access(head: HeadNode) -> list[Problem]:
    """Check ids, addresses and the remote desktop of the head node."""
    own = "HeadNode/Networking"
    problems = [
        *check_keyed(f"{own}/SubnetId", head.subnet_id, Code.PC_RESOURCE_ID, "subnet", what="the id of the subnet"),
        *_check_groups(head.security_group_ids),
        *_check_image(head.image_id),
        *check_allowed_ips(head.allowed_ips, "allowed_ips"),
        *check_dcv(head.dcv),
    ]
    address = head.elastic_ip
    if isinstance(address, str) and not is_unresolved(address) and not _ELASTIC_IP.fullmatch(address):
        problems.append(
            Problem(
                code=Code.PC_RESOURCE_ID,
                message="this is no allocation id of an Elastic IP address",
                remedy="write the AllocationId that `aws ec2 describe-addresses` shows, or true to have one made",
                path=("elastic_ip",),
                value=address,
                allowed="eipalloc-0123456789abcdef0, true or false",
            )
        )
    return problems


def check_queue_ids(queue: Queue) -> list[Problem]:
    """Check the ids of a queue's security groups and image; subnets have a rule of their own."""
    return [*_check_groups(queue.security_group_ids), *_check_image(queue.image_id)]


def check_login_pool_nodes(pool: LoginPool) -> list[Problem]:
    """Check ids, addresses, number and grace time of login nodes."""
    own = "LoginNodes/Pools[]"
    return [
        *check_keyed(
            f"{own}/Networking/SubnetIds[]",
            pool.subnet_id,
            Code.PC_RESOURCE_ID,
            "subnet",
            what="the id of the subnet",
        ),
        *_check_groups(pool.security_group_ids),
        *_check_image(pool.image_id),
        *check_allowed_ips(pool.allowed_ips, "allowed_ips"),
        *check_dcv(pool.dcv),
        *check_keyed(f"{own}/Count", pool.count, Code.PC_LOGIN_POOL, "count", what="the number of login nodes"),
        *check_keyed(
            f"{own}/GracetimePeriod",
            pool.gracetime_minutes,
            Code.PC_LOGIN_POOL,
            "gracetime_minutes",
            what="the time that users are given before a login node goes",
        ),
    ]


def check_allowed_ips(value: str | None, *path: PathPart) -> list[Problem]:
    """Check that `value` is an IPv4 range or the id of a prefix list, as the schema does."""
    if value is None or is_unresolved(value) or _RANGE.fullmatch(value) or _PREFIX_LIST.fullmatch(value):
        return []
    bare = re.fullmatch(rf"({_BYTE}\.){{3}}{_BYTE}", value)
    return [
        Problem(
            code=Code.PC_ALLOWED_IPS,
            message="a range of addresses says how many of its bits count" if bare else "this is no range of addresses",
            remedy=f"write {value + '/32'!r} for this address alone" if bare else "write e.g. '203.0.113.0/24'",
            path=path,
            value=value,
            allowed="an IPv4 range, e.g. 203.0.113.0/24, or the id of a prefix list, pl-…",
        )
    ]


def check_dcv(dcv: Dcv | None) -> list[Problem]:
    """Check port and addresses of a remote desktop. Stricter: ParallelCluster takes any number as the port."""
    if dcv is None:
        return []
    problems = [
        *check_number(
            dcv.port, _PORTS, Code.PC_DCV, "dcv", "port", what="the port", remedy="leave it out to have 8443"
        ),
        *check_allowed_ips(dcv.allowed_ips, "dcv", "allowed_ips"),
    ]
    if dcv.port == _SSH:
        problems.append(
            Problem(
                code=Code.PC_DCV,
                message="port 22 is SSH's",
                remedy="leave it out to have 8443",
                path=("dcv", "port"),
                value=dcv.port,
            )
        )
    return problems


def _check_groups(ids: Sequence[str]) -> list[Problem]:
    if is_unresolved(ids):
        return []
    return [
        problem
        for index, group in enumerate(ids)
        for problem in check_keyed(
            "HeadNode/Networking/AdditionalSecurityGroups[]",
            group,
            Code.PC_RESOURCE_ID,
            "security_groups",
            index,
            what="the id of the security group",
        )
    ]


def _check_image(image_id: str | None) -> list[Problem]:
    return check_keyed("Image/CustomAmi", image_id, Code.PC_IMAGE, "image_id", what="the id of the image")
