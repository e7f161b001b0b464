"""What hosts of a service and their tasks take of the compute subnets."""

from llm_fleet.inference.ec2_hosts import Ec2Hosts
from llm_fleet.inference.managed_hosts import ManagedHosts
from llm_fleet.inference.scaling import Scaling
from llm_fleet.rules.inference.address_claims import address_claims

EC2, MANAGED = Ec2Hosts(instance_type="inf2.xlarge"), ManagedHosts(instance_type="inf2.xlarge")
ZONES = ("usw2-az1", "usw2-az2")


def test_as_many_hosts_as_there_may_be_are_spread_over_the_zones():
    claims = address_claims(EC2, Scaling(desired=2, maximum=5), owner="chat", zones=ZONES)
    assert [(claim.availability_zone_id, claim.count) for claim in claims] == [("usw2-az1", 3), ("usw2-az2", 3)]
    assert {claim.owner for claim in claims} == {"chat"}
    assert all(claim.replaceable for claim in claims), "a host is replaced while others run"


def test_a_host_its_task_and_its_daemon_have_an_address_each():
    def each(hosts: Ec2Hosts | ManagedHosts, *, neuron_health: bool) -> int:
        (claim,) = address_claims(hosts, Scaling(desired=1), owner="chat", zones=ZONES[:1], neuron_health=neuron_health)
        return claim.addresses_each

    assert (each(EC2, neuron_health=True), each(EC2, neuron_health=False)) == (3, 2)
    assert each(MANAGED, neuron_health=True) == 2, "no daemon of ours runs on hosts that AWS runs"
