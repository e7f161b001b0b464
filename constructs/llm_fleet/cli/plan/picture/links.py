"""The lines of the picture: what asks, mounts, reads, writes, watches and tells what."""

from collections.abc import Iterator, Mapping
from typing import Any

from llm_fleet.cli.plan.picture.cluster_things import HYPERPOD, PARALLELCLUSTER
from llm_fleet.cli.plan.picture.mounts import mounts_of
from llm_fleet.cli.plan.picture.permissions import buckets_of
from llm_fleet.cli.plan.picture.resource import Resource
from llm_fleet.cli.plan.picture.storage_things import BUCKET, DATABASE, FILE_SYSTEM
from llm_fleet.cli.plan.picture.terms import Column, Verb
from llm_fleet.cli.plan.picture.thing import Link, Thing
from llm_fleet.cli.plan.picture.view import View
from llm_fleet.cli.plan.picture.watch_things import ALARM, FUNCTION, QUEUE, TOPIC

_TARGET_GROUP = "AWS::ElasticLoadBalancingV2::TargetGroup"
_MOUNTING = (HYPERPOD, PARALLELCLUSTER, "AWS::SageMaker::Domain")


def links_of(view: View, things: Mapping[str, Thing]) -> list[Link]:
    """Return the lines between `things`, by key; lines to what exists already, and has no card yet, as well."""
    found: list[Link] = []
    for resource in view.assembly.resources():
        if resource.type == ALARM:
            found += _of_alarm(view, resource, things)
        elif resource.type == "AWS::FSx::DataRepositoryAssociation":
            found += _of_repository(view, resource)
        elif resource.key in things:
            found += _of_thing(view, resource, things)
    # Of two lines between the same cards one is drawn: the first, which says more.
    return list({(link.source, link.target): link for link in reversed(found)}.values())[::-1]


def _of_thing(view: View, resource: Resource, things: Mapping[str, Thing]) -> Iterator[Link]:
    column = things[resource.key].column
    if resource.type in _MOUNTING:
        for key, path in mounts_of(view, resource):
            yield Link(source=resource.key, target=key, verb=Verb.MOUNTS, how=path)
    if column is Column.COMPUTE or resource.type == FUNCTION:
        yield from buckets_of(view, resource)
        for database in _named_by(view, resource, DATABASE):
            yield Link(source=resource.key, target=database.key, verb=Verb.USES)
    if resource.type == "AWS::ElasticLoadBalancingV2::LoadBalancer":
        yield from _of_balancer(view, resource, things)
    if resource.type == FUNCTION:
        yield from _of_function(view, resource, things)
    if resource.type == QUEUE:
        for other in view.named(resource, resource.properties.get("RedrivePolicy"), QUEUE):
            yield Link(source=resource.key, target=other.key, verb=Verb.USES, how="for what could not be handled")


def _named_by(view: View, resource: Resource, type: str) -> list[Resource]:
    return [found for part in view.body(resource) for found in view.named(part, _own(part), type)]


def _own(part: Resource) -> dict[str, Any]:
    return {name: value for name, value in part.properties.items() if name != "ServiceToken"}


def _of_balancer(view: View, balancer: Resource, things: Mapping[str, Thing]) -> Iterator[Link]:
    groups = {
        group.key
        for rule in view.of_type("AWS::ElasticLoadBalancingV2::ListenerRule", "AWS::ElasticLoadBalancingV2::Listener")
        for group in view.named(rule, rule.properties, _TARGET_GROUP)
        if balancer in _balancers(view, rule)
    }
    for service in view.of_type("AWS::ECS::Service"):
        asked = {one.key for one in view.named(service, service.properties.get("LoadBalancers"), _TARGET_GROUP)}
        if asked & groups and service.key in things:
            yield Link(source=balancer.key, target=service.key, verb=Verb.ASKS)
    for bucket in view.named(balancer, balancer.properties.get("LoadBalancerAttributes"), BUCKET):
        yield Link(source=balancer.key, target=bucket.key, verb=Verb.LOGS)


def _balancers(view: View, rule: Resource) -> list[Resource]:
    """Return the load balancer of a listener, or of the listener of a rule."""
    listeners = view.named(rule, rule.properties.get("ListenerArn")) or [rule]
    return [found for one in listeners for found in view.named(one, one.properties.get("LoadBalancerArn"))]


def _of_function(view: View, function: Resource, things: Mapping[str, Thing]) -> Iterator[Link]:
    for mapping in view.of_type("AWS::Lambda::EventSourceMapping"):
        if function in view.named(mapping, mapping.properties.get("FunctionName")):
            for queue in view.named(mapping, mapping.properties.get("EventSourceArn"), QUEUE):
                yield Link(source=function.key, target=queue.key, verb=Verb.READS)
    for used in view.named(function, function.properties.get("Environment")):
        if used.key in things:
            yield Link(source=function.key, target=used.key, verb=Verb.USES)


def _of_alarm(view: View, alarm: Resource, things: Mapping[str, Thing]) -> Iterator[Link]:
    """Give the lines of an alarm, which start and end at the one card of its stack's alarms."""
    card = next(one.key for one in view.of_type(ALARM) if one.stack == alarm.stack)
    for topic in view.named(alarm, alarm.properties.get("AlarmActions"), TOPIC):
        yield Link(source=card, target=topic.key, verb=Verb.TELLS)
    for action in view.references.texts(alarm.properties.get("AlarmActions")):
        if ":sns:" in action:
            yield Link(source=card, target=action.rpartition(":")[2], verb=Verb.TELLS)
    watched = [alarm.properties.get(name) for name in ("Dimensions", "Metrics")]
    named = [*view.named(alarm, watched), *_by_name(view, alarm, watched)]
    for one in named:
        if one.key in things and things[one.key].column is not Column.REGION:
            yield Link(source=one.key, target=card, verb=Verb.WATCHED)


def _by_name(view: View, alarm: Resource, watched: list[Any]) -> Iterator[Resource]:
    """Give clusters, services and endpoints of the assembly whose name stands in a dimension of `alarm`."""
    texts = set(view.references.texts(watched))
    for type, name in _NAMED.items():
        for one in view.of_type(type):
            if one.properties.get(name) in texts:
                yield one


_NAMED = {
    HYPERPOD: "ClusterName",
    PARALLELCLUSTER: "ClusterName",
    "AWS::ECS::Service": "ServiceName",
    "AWS::SageMaker::Endpoint": "EndpointName",
    "AWS::StepFunctions::StateMachine": "StateMachineName",
}


def _of_repository(view: View, association: Resource) -> Iterator[Link]:
    known = association.properties
    for system in view.named(association, known.get("FileSystemId"), FILE_SYSTEM):
        path = known.get("DataRepositoryPath")
        made = view.named(association, path, BUCKET)
        keys = [bucket.key for bucket in made] or [str(view.references.told(path)).split("/")[2]]
        for key in keys:
            yield Link(source=system.key, target=key, verb=Verb.SYNCS, how=str(known.get("FileSystemPath", "")))
