"""Reads security groups as the rules want them."""

from llm_fleet.cli.aws.refusals import AwsRefusal
from llm_fleet.cli.check.account import Account
from llm_fleet.rules.account.security_group import SecurityGroup
from llm_fleet.rules.day_two.command_codes import CommandCode


def security_group(account: Account, group_id: str) -> SecurityGroup | None:
    """Return a security group; `None` when there is none. Raises `AwsRefusal` when EC2 does not say."""
    try:
        found = account.ask("ec2", "describe_security_groups", GroupIds=[group_id])["SecurityGroups"]
    except AwsRefusal as refusal:
        if refusal.code is not CommandCode.GONE:
            raise
        return None
    if not found:
        return None
    told = found[0]
    return SecurityGroup(
        group_id=group_id,
        vpc_id=told["VpcId"],
        ingress=told["IpPermissions"],
        egress=told["IpPermissionsEgress"],
    )
