"""Cards of inference services on ECS: load balancer, service, and what runs by hand."""

from collections.abc import Iterator

from llm_fleet.cli.plan.picture.names import count, short
from llm_fleet.cli.plan.picture.resource import Resource
from llm_fleet.cli.plan.picture.terms import Column, Tone
from llm_fleet.cli.plan.picture.thing import Thing
from llm_fleet.cli.plan.picture.view import View


def service_things(view: View) -> Iterator[Thing]:
    """Give load balancers, services that answer through one, and tasks that no service keeps."""
    for balancer in view.of_type("AWS::ElasticLoadBalancingV2::LoadBalancer"):
        yield _balancer(view, balancer)
    kept: set[str] = set()
    for service in view.of_type("AWS::ECS::Service"):
        kept.update(one.key for one in view.named(service, service.properties.get("TaskDefinition")))
        if service.properties.get("LoadBalancers"):
            yield _service(view, service)
    for task in view.of_type("AWS::ECS::TaskDefinition"):
        if task.key not in kept:
            yield _task(view, task)


def _balancer(view: View, balancer: Resource) -> Thing:
    listeners = [
        f"{one.properties['Protocol']} {one.properties['Port']}"
        for one in view.of_type("AWS::ElasticLoadBalancingV2::Listener")
        if balancer in view.named(one, one.properties.get("LoadBalancerArn"))
    ]
    guarded = any(
        balancer in view.named(one, one.properties.get("ResourceArn"))
        for one in view.of_type("AWS::WAFv2::WebACLAssociation")
    )
    scheme = balancer.properties.get("Scheme", "internet-facing")
    return Thing(
        key=balancer.key,
        title="Application Load Balancer",
        lines=(scheme, ", ".join(listeners), *(["WAF web ACL"] if guarded else [])),
        tone=Tone.FRONT,
        column=Column.FRONT,
        stack=balancer.stack,
        subnets=view.places(balancer, balancer.properties.get("Subnets")),
    )


def _service(view: View, service: Resource) -> Thing:
    name = view.references.told(service.properties.get("ServiceName", ""))
    network = service.properties.get("NetworkConfiguration")
    desired = service.properties.get("DesiredCount", 1)
    hosts = tuple(line for one in view.body(service) for line in _hosts(view, one, desired))
    tasks = f"{desired} {'task' if desired == 1 else 'tasks'}"
    return _card(service, f"ECS service {name}", (tasks, *hosts), view.places(service, network))


def _task(view: View, task: Resource) -> Thing:
    """Return the card of a task that somebody starts, on the hosts of the one ECS cluster of its stack."""
    hosts = [one for one in view.of_type("AWS::AutoScaling::AutoScalingGroup") if one.stack == task.stack]
    lines = tuple(line for one in hosts for line in _hosts(view, one, 0))
    places = tuple(key for one in hosts for key in view.places(one, one.properties.get("VPCZoneIdentifier")))
    return _card(task, f"ECS task {task.stack}", (*lines, "started by hand"), places)


def _hosts(view: View, resource: Resource, tasks: int) -> Iterator[str]:
    """Give the line of `resource` if it is what makes hosts: its group has as many at least as it has tasks to run."""
    known = resource.properties
    if resource.type == "AWS::AutoScaling::AutoScalingGroup":
        templates = view.named(resource, known.get("LaunchTemplate"), "AWS::EC2::LaunchTemplate")
        types = [one.properties["LaunchTemplateData"]["InstanceType"] for one in templates]
        yield short(count(known["MaxSize"], " or ".join(types), tasks))
    elif managed := known.get("ManagedInstancesProvider"):
        allowed = managed["InstanceLaunchTemplate"]["InstanceRequirements"].get("AllowedInstanceTypes", ["any type"])
        yield short(f"Managed Instances: {' or '.join(allowed)}")


def _card(resource: Resource, title: str, lines: tuple[str, ...], subnets: tuple[str, ...]) -> Thing:
    return Thing(
        key=resource.key,
        title=short(title),
        lines=lines,
        tone=Tone.COMPUTE,
        column=Column.COMPUTE,
        stack=resource.stack,
        subnets=subnets,
    )
