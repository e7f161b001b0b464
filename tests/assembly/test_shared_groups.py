"""Clusters of one fleet that share an existing security group: its rules are created once."""

from pathlib import Path

import pytest

from tests.assembly.checks import rules_twice
from tests.assembly.fleets import synthesize

NEW = "{az: usw2-az4}"
EXISTING = """
  vpc:
    id: vpc-0123456789abcdef0
    subnets: {usw2-az4: subnet-0123456789abcdef0}
    security_group: sg-0123456789abcdef0
"""
EXTERNAL = """
      endpoint: slurm.cluster-abc.us-west-2.rds.amazonaws.com
      secret: arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf
      security_group: sg-0123456789abcdef3
"""
PARALLELCLUSTER = """
      endpoint: slurm.cluster-abc.us-west-2.rds.amazonaws.com
      secret: arn:aws:secretsmanager:us-west-2:111122223333:secret:password-AbCdEf
      security_group: sg-0123456789abcdef3
"""


def fleet(network: str, *, accounting: str, storage: str = "{}") -> str:
    hyperpod = f"""
    kind: hyperpod
    lifecycle: none
    accounting: {accounting}
    groups:
      controller: {{role: controller, type: ml.m5.xlarge, count: 1}}
      workers:
        role: compute
        type: ml.trn1.32xlarge
        count: 1
        partition: trn1
        subnets: [subnet-0123456789abcdef5]
        security_groups: [sg-0123456789abcdef9]
"""
    return f"""
fleet: two
region: us-west-2
network: {network}
storage: {storage}
clusters:
  a: {hyperpod}
  b: {hyperpod}
  queue:
    kind: parallelcluster
    accounting: {PARALLELCLUSTER if accounting == EXTERNAL else accounting}
    head: {{type: c5.4xlarge}}
    queues: {{trn1: {{type: trn1.32xlarge, max: 4}}}}
"""


@pytest.mark.parametrize("network", [NEW, EXISTING], ids=["new network", "existing network"])
def test_rules_of_an_existing_accounting_database_are_created_once(network: str, tmp_path: Path) -> None:
    assembly = synthesize(fleet(network, accounting=EXTERNAL), tmp_path)
    assert rules_twice(assembly) == []
    storage = assembly.templates["two-storage"]["Resources"].values()
    ports = [one["Properties"].get("FromPort") for one in storage if one["Type"] == "AWS::EC2::SecurityGroupIngress"]
    # One rule for the network's group and one for the workers' own group, for three clusters.
    assert ports.count(3306) == 2


@pytest.mark.parametrize("network", [NEW, EXISTING], ids=["new network", "existing network"])
def test_rules_of_the_fleets_database_are_created_once(network: str, tmp_path: Path) -> None:
    subnets = "{subnets: [subnet-0123456789abcdef1, subnet-0123456789abcdef2]}" if network == EXISTING else "{}"
    storage = f"{{slurm_database: {subnets}}}"
    assembly = synthesize(fleet(network, accounting="slurm_database", storage=storage), tmp_path)
    assert rules_twice(assembly) == []
    database = assembly.templates["two-database"]["Resources"].values()
    ports = [one["Properties"].get("FromPort") for one in database if one["Type"] == "AWS::EC2::SecurityGroupIngress"]
    assert ports.count(3306) == 2


def test_a_database_in_the_group_of_the_nodes_needs_no_rule_for_this_group(tmp_path: Path) -> None:
    text = fleet(EXISTING, accounting=EXTERNAL).replace("sg-0123456789abcdef3", "sg-0123456789abcdef0")
    assembly = synthesize(text, tmp_path)
    assert rules_twice(assembly) == []
    rules = [one.properties for one in assembly.resources if "SourceSecurityGroupId" in one.properties]
    ports = [rule.get("FromPort") for rule in rules if rule["GroupId"] == "sg-0123456789abcdef0"]
    assert sorted(ports, key=str) == [3306, None], "of the workers' own group alone, once"
