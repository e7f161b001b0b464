"""Finds the service in a template, and its server's container."""

from collections.abc import Mapping
from typing import Any

from llm_fleet_local.serving.template.problem import NotServable
from llm_fleet_local.serving.template.reader import TemplateReader
from llm_fleet_local.serving.template.service import ServerContainer, Service

_DEFAULT_STOP_SECONDS = 30.0
"""ECS_CONTAINER_STOP_TIMEOUT of the ECS agent, when the container does not say."""


def read_services(reader: TemplateReader) -> list[Service]:
    """Return the services behind load balancers. Raises `NotServable` for one that ECS would refuse."""
    tasks = reader.of_type("AWS::ECS::TaskDefinition")
    return [
        _service(reader, logical_id, body, tasks)
        for logical_id, body in reader.of_type("AWS::ECS::Service").items()
        if body.get("LoadBalancers")
    ]


def choose_service(services: list[Service], name: str | None) -> Service:
    """Return the one called `name` (service name, logical id or construct path), or the only one."""
    found = [service for service in services if name in (None, service.name, service.logical_id, service.path)]
    if len(found) == 1:
        return found[0]
    there = ", ".join(service.name for service in services) or "none"
    wanted = "there is no single one" if name is None else f"none or several are called {name}"
    raise NotServable(f"name one service: {wanted}; services behind a load balancer: {there}")


def _service(
    reader: TemplateReader, logical_id: str, body: Mapping[str, Any], tasks: Mapping[str, Mapping[str, Any]]
) -> Service:
    if body["TaskDefinition"] not in tasks:
        raise NotServable(f"service {logical_id}: its task definition {body['TaskDefinition']} is not in the template")
    if len(body["LoadBalancers"]) != 1:
        raise NotServable(f"service {logical_id} is behind {len(body['LoadBalancers'])} target groups; one is served")
    link = body["LoadBalancers"][0]
    containers = {item["Name"]: item for item in tasks[body["TaskDefinition"]]["ContainerDefinitions"]}
    if link["ContainerName"] not in containers:
        raise NotServable(f"service {logical_id} names container {link['ContainerName']}, which its task has not")
    return Service(
        name=body.get("ServiceName", logical_id),
        logical_id=logical_id,
        path=str(reader.metadata(logical_id).get("aws:cdk:path", "")),
        desired=int(body.get("DesiredCount", _least_tasks(reader))),
        target_group=link["TargetGroupArn"],
        container=_container(containers[link["ContainerName"]], int(link["ContainerPort"])),
        others=tuple(name for name in containers if name != link["ContainerName"]),
    )


def _least_tasks(reader: TemplateReader) -> int:
    """A service that is scaled has no number of its own: Application Auto Scaling raises it to its minimum."""
    targets = reader.of_type("AWS::ApplicationAutoScaling::ScalableTarget").values()
    return max([1, *(int(target["MinCapacity"]) for target in targets if target["ServiceNamespace"] == "ecs")])


def _container(body: Mapping[str, Any], port: int) -> ServerContainer:
    name = body["Name"]
    if port not in [int(mapping["ContainerPort"]) for mapping in body.get("PortMappings", [])]:
        raise NotServable(f"container {name} maps no port {port}, which the service registers as target")
    return ServerContainer(
        name=name,
        image=body["Image"],
        entry_point=tuple(body.get("EntryPoint", ())),
        command=tuple(body.get("Command", ())),
        environment={item["Name"]: str(item["Value"]) for item in body.get("Environment", [])},
        secrets={item["Name"]: str(item["ValueFrom"]) for item in body.get("Secrets", [])},
        port=port,
        stop_timeout=float(body.get("StopTimeout", _DEFAULT_STOP_SECONDS)),
    )
