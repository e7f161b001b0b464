"""The ECS service: how tasks are placed and replaced, what it waits for, who reaches them."""

from tests.inference.service.conftest import Served


def test_tasks_are_placed_by_the_capacity_provider_one_a_host(talk: Served, managed: Served):
    service = talk.service["Properties"]
    (provider,) = talk.of_type("AWS::ECS::CapacityProvider")
    assert service["CapacityProviderStrategy"] == [{"CapacityProvider": {"Ref": provider}, "Weight": 1}]
    assert service["PlacementConstraints"] == [{"Type": "distinctInstance"}]
    assert "LaunchType" not in service
    # All devices of a managed instance are one task's: nothing needs to be said.
    assert "PlacementConstraints" not in managed.service["Properties"]


def test_an_update_needs_no_accelerator_more(talk: Served, hub: Served, managed: Served):
    percentages = {
        name: served.service["Properties"]["DeploymentConfiguration"]
        for name, served in {"two": talk, "two to six": hub, "one": managed}.items()
    }
    assert {name: each["MaximumPercent"] for name, each in percentages.items()} == dict.fromkeys(percentages, 100)
    assert {name: each["MinimumHealthyPercent"] for name, each in percentages.items()} == {
        "two": 50,
        "two to six": 50,
        "one": 0,
    }
    for served in (talk, hub, managed):
        service = served.service["Properties"]
        assert service["DeploymentConfiguration"]["DeploymentCircuitBreaker"] == {"Enable": True, "Rollback": True}
        # ECS takes AZ rebalancing only with more than 100 percent.
        assert service["AvailabilityZoneRebalancing"] == "DISABLED"


def test_a_number_of_tasks_that_follows_the_load_is_not_in_the_template(talk: Served, hub: Served):
    assert talk.service["Properties"]["DesiredCount"] == 2
    assert "DesiredCount" not in hub.service["Properties"]
    target = hub.only("AWS::ApplicationAutoScaling::ScalableTarget")["Properties"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (2, 6)
    assert talk.of_type("AWS::ApplicationAutoScaling::ScalableTarget") == {}


def test_a_task_may_load_for_as_long_as_its_model_takes(talk: Served, hub: Served, managed: Served):
    grace = [each.service["Properties"]["HealthCheckGracePeriodSeconds"] for each in (talk, hub, managed)]
    assert grace[0] == 1080
    assert grace[1] == 7200, "as told"
    assert grace[2] > 3600, "compiled when it starts"


def test_it_waits_for_capacity_provider_listener_and_roles(talk: Served):
    waits = set(talk.service["DependsOn"])
    for type in (
        "AWS::ECS::ClusterCapacityProviderAssociations",
        "AWS::ElasticLoadBalancingV2::ListenerRule",
        "AWS::ElasticLoadBalancingV2::Listener",
        "AWS::EC2::Route",
    ):
        there = set(talk.of_type(type))
        assert there, type
        assert there <= waits, type
    assert {name for name in talk.of_type("AWS::IAM::ManagedPolicy") if "Task" in name} <= waits


def test_no_host_is_started_before_the_model_was_looked_at(talk: Served):
    (check,) = talk.of_type("Custom::LlmFleetModelCheck")
    assert check in talk.only("AWS::AutoScaling::AutoScalingGroup")["DependsOn"]


def test_only_the_load_balancer_reaches_a_task_and_only_https_leaves_it(talk: Served):
    (group,) = [name for name in talk.of_type("AWS::EC2::SecurityGroup") if "TaskSecurityGroup" in name]
    id = {"Fn::GetAtt": [group, "GroupId"]}
    (ingress,) = [
        each["Properties"]
        for each in talk.of_type("AWS::EC2::SecurityGroupIngress").values()
        if each["Properties"]["GroupId"] == id
    ]
    (front,) = [name for name in talk.of_type("AWS::EC2::SecurityGroup") if "FrontSecurityGroup" in name]
    assert ingress["SourceSecurityGroupId"] == {"Fn::GetAtt": [front, "GroupId"]}
    assert (ingress["FromPort"], ingress["ToPort"]) == (8080, 8080)
    properties = talk.of_type("AWS::EC2::SecurityGroup")[group]["Properties"]
    assert "SecurityGroupIngress" not in properties
    (egress,) = properties["SecurityGroupEgress"]
    assert (egress["FromPort"], egress["ToPort"]) == (443, 443)
    network = talk.service["Properties"]["NetworkConfiguration"]["AwsvpcConfiguration"]
    assert network["SecurityGroups"] == [id]
    assert network["AssignPublicIp"] == "DISABLED"


def test_tags_reach_tasks(talk: Served):
    service = talk.service["Properties"]
    assert (service["EnableECSManagedTags"], service["PropagateTags"]) == (True, "SERVICE")


def test_devices_are_watched_on_hosts_of_ours_alone(talk: Served, managed: Served):
    (daemon,) = [
        body["Properties"]
        for body in talk.of_type("AWS::ECS::Service").values()
        if body["Properties"].get("SchedulingStrategy") == "DAEMON"
    ]
    assert daemon["ServiceName"] == "chat-neuron-health"
    assert len(managed.of_type("AWS::ECS::Service")) == 1
    assert managed.construct.neuron_health is None


def test_managed_instances_bring_no_group_of_ours(managed: Served):
    assert managed.of_type("AWS::AutoScaling::AutoScalingGroup") == {}
    assert managed.of_type("AWS::EC2::LaunchTemplate") == {}
    assert managed.of_type("Custom::LlmFleetModelCheck") == {}
