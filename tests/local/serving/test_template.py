"""Values that are read from a template, and parts that are rejected by name."""

import json
from typing import Any

import pytest

from llm_fleet_local.serving.assembly import template_of
from llm_fleet_local.serving.template.front import LoadBalancer
from llm_fleet_local.serving.template.problem import NotServable
from llm_fleet_local.serving.template.read_front import read_front
from llm_fleet_local.serving.template.read_service import choose_service, read_services
from llm_fleet_local.serving.template.reader import TemplateReader
from tests.local.serving.templates import ELB, FORWARD, paths, rule, server, template


def front_of(body: str) -> LoadBalancer:
    return read_front(TemplateReader(body), "Group")


def test_rules_are_in_order_of_priority_with_the_default_last():
    front = front_of(template(rules={"Late": rule(30, [paths("/v1/*")]), "Early": rule(4, [paths("/health")])}))
    (listener,) = front.listeners
    assert [item.name for item in listener.rules] == ["Early", "Late", "Listener:default"]
    assert front.idle_timeout == 600
    assert front.target_groups["Group"].deregistration_delay == 600


def test_the_service_is_read_with_its_container():
    (service,) = read_services(TemplateReader(template(desired=3)))
    assert (service.name, service.desired, service.target_group) == ("chat", 3, "Group")
    assert service.container.environment["MAX_BATCH_SIZE"] == "2"
    assert service.container.secrets == {"API_KEY": "Key"}
    assert service.container.stop_timeout == 120


def test_a_scaled_service_has_its_minimum_number_of_tasks():
    body = json.loads(template())
    del body["Resources"]["Service"]["Properties"]["DesiredCount"]
    scaled = {"ServiceNamespace": "ecs", "MinCapacity": 3, "MaxCapacity": 5}
    body["Resources"]["Scaled"] = {"Type": "AWS::ApplicationAutoScaling::ScalableTarget", "Properties": scaled}
    (service,) = read_services(TemplateReader(json.dumps(body)))
    assert service.desired == 3


def test_functions_and_conditions_are_evaluated():
    body = json.loads(template())
    environment = body["Resources"]["Task"]["Properties"]["ContainerDefinitions"][0]["Environment"]
    environment[0]["Value"] = {"Fn::Join": ["/", ["/models", {"Ref": "AWS::Region"}]]}
    body["Conditions"] = {"No": {"Fn::Equals": ["a", "b"]}}
    body["Resources"]["Never"] = {**rule(1, [paths("*")]), "Condition": "No"}
    reader = TemplateReader(json.dumps(body))
    (service,) = read_services(reader)
    assert service.container.environment["MODEL_ID"] == "/models/us-west-2"
    assert read_front(reader, "Group").listeners[0].rules[0].name == "Health"


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"R": rule(1, [{"Field": "source-ip", "SourceIpConfig": {"Values": ["10.0.0.0/8"]}}])}, "source-ip"),
        ({"R": rule(1, [{"Field": "query-string", "QueryStringConfig": {}}])}, "query-string"),
        ({"R": rule(1, [{"Field": "path-pattern", "RegexValues": ["^/v1"]}])}, "regular expressions"),
        ({"R": rule(1, [paths("/v1/*")], [{"Type": "authenticate-oidc"}, *FORWARD])}, "authenticate-oidc"),
        ({"R": {**rule(1, [paths("/v1/*")], [{"Type": "forward", "ForwardConfig": {}}])}}, "0 target groups"),
    ],
)
def test_rules_that_the_proxy_does_not_support_are_rejected_by_name(rules: dict[str, Any], said: str):
    with pytest.raises(NotServable, match=said):
        front_of(template(rules=rules))


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"load_balancing.algorithm.type": "weighted_random"}, "weighted_random"),
        ({"stickiness.enabled": "true"}, "stickiness"),
        ({"slow_start.duration_seconds": "60"}, "slow_start"),
    ],
)
def test_attributes_that_the_proxy_does_not_support_are_rejected(attributes: dict[str, str], said: str):
    with pytest.raises(NotServable, match=said):
        front_of(template(attributes=attributes))


def test_transforms_are_rejected():
    changed = rule(1, [paths("/v1/*")])
    changed["Properties"]["Transforms"] = [{"Type": "url-rewrite"}]
    with pytest.raises(NotServable, match="transforms"):
        front_of(template(rules={"R": changed}))


def test_a_port_that_the_container_does_not_map_is_rejected():
    container = {**server(), "PortMappings": [{"ContainerPort": 80}]}
    with pytest.raises(NotServable, match="maps no port 8080"):
        read_services(TemplateReader(template(container=container)))


def test_a_listener_that_forwards_elsewhere_is_not_used():
    with pytest.raises(NotServable, match="no listener"):
        front_of(template(rules={}))


def test_one_of_several_services_must_be_named(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("cdk")
    other = template().replace('"chat"', '"other"')
    (folder / "a.template.json").write_text(template())
    (folder / "b.template.json").write_text(other)
    with pytest.raises(NotServable, match=r"several.*chat.*other"):
        template_of(folder, None)
    assert template_of(folder, "other") == other
    with pytest.raises(NotServable, match="no service third"):
        template_of(folder, "third")
    services = read_services(TemplateReader(other))
    with pytest.raises(NotServable, match="services behind a load balancer: other"):
        choose_service(services, "chat")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{", "no template in JSON"),
        ("{}", "no Resources"),
        ('{"Resources": []}', "Resources are no object"),
        ('{"Resources": {"Queue": {"Properties": {}}}}', "resource Queue has no Type"),
        ('{"Resources": {"Queue": "AWS::SQS::Queue"}}', "resource Queue has no Type"),
        ('{"Resources": {"Queue": {"Type": 1}}}', "resource Queue has no Type"),
    ],
)
def test_invalid_templates_are_rejected(body: str, said: str):
    with pytest.raises(NotServable, match=said):
        TemplateReader(body)


def test_listener_rules_without_a_type_are_ignored():
    body = json.loads(template())
    body["Resources"]["Api"]["Properties"]["ListenerArn"] = {"Ref": "Another"}
    names = [item.name for item in front_of(json.dumps(body)).listeners[0].rules]
    assert names == ["Health", "Listener:default"]
    assert ELB in body["Resources"]["Api"]["Type"]
