"""Construct ids of AZs, and what EC2 lets be said of security groups and rules."""

import re

from llm_fleet.rules.tokens import is_unresolved


def zone_construct_id(availability_zone_id: str, index: int) -> str:
    """Return the construct id of an AZ: its own id, so that naming another AZ first moves no resource.

    An id known only at deploy time cannot name a construct; its place does.
    """
    return f"Az{index + 1}" if is_unresolved(availability_zone_id) else availability_zone_id


def rule_description(text: str) -> str:
    """Return `text` as EC2 takes it for the description of a security group or a rule of one.

    Source: botocore's ec2 model, `UserIdGroupPair.Description`; a test compares.
    """
    return re.sub(r"[^a-zA-Z0-9 ._\-:/()#,@\[\]+=;{}!$*]", "-", text)[:_DESCRIPTION_LENGTH]


_DESCRIPTION_LENGTH = 255
