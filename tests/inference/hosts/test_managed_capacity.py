"""Hosts that ECS runs."""

from llm_fleet.inference.capacity import ManagedCapacity
from tests.inference.hosts.conftest import Both


def test_the_provider_asks_for_one_type_and_repairs_it(capacities: Both):
    properties = capacities.of("AWS::ECS::CapacityProvider", below="Managed")["Properties"]
    provider = properties["ManagedInstancesProvider"]
    assert provider["AutoRepairConfiguration"] == {"ActionsStatus": "ENABLED"}
    template = provider["InstanceLaunchTemplate"]
    assert template["InstanceRequirements"] == {
        "AllowedInstanceTypes": ["inf2.xlarge"],
        "VCpuCount": {"Min": 4},
        "MemoryMiB": {"Min": 16384},
    }
    assert template["StorageConfiguration"] == {"StorageSizeGiB": 80}
    assert len(template["NetworkConfiguration"]["Subnets"]) == 2


def test_it_is_made_in_its_cluster_and_never_associated_again(capacities: Both):
    """ECS refuses PutClusterCapacityProviders for such a provider."""
    provider = capacities.of("AWS::ECS::CapacityProvider", below="Managed")["Properties"]
    assert provider["ClusterName"] == {"Ref": "ManagedCluster"}
    associated = capacities.of("AWS::ECS::ClusterCapacityProviderAssociations")["Properties"]
    assert associated["Cluster"] == {"Ref": "OwnCluster"}


def test_ecs_may_hand_on_this_one_role(capacities: Both):
    policy = capacities.of("AWS::IAM::ManagedPolicy", below="ManagedInfrastructure")["Properties"]
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert statement["Action"] == "iam:PassRole"
    assert statement["Resource"] == capacities.stack.resolve(capacities.managed.role.role_arn)
    assert statement["Condition"] == {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}


def test_a_container_asks_for_all_devices_and_a_task_for_no_place(capacities: Both):
    managed: ManagedCapacity = capacities.managed
    (requirement,) = managed.resource_requirements
    assert (requirement.type, requirement.value) == ("NeuronDevice", "ALL")
    assert managed.placement_constraints == []
    assert (managed.compatibility, capacities.ec2.compatibility) == ("MANAGED_INSTANCES", "EC2")
