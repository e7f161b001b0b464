"""The scene of a picture: things and the links between them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, cast

from llm_fleet.cli.plan.picture_assembly import (
    Assembly,
    Column,
    Link,
    Resource,
    Thing,
    Tone,
    Verb,
    View,
    short,
    wrapped,
)
from llm_fleet.cli.plan.picture_things import (
    ALARM,
    BUCKET,
    DATABASE,
    FILE_SYSTEM,
    FUNCTION,
    HYPERPOD,
    PARALLELCLUSTER,
    QUEUE,
    TOPIC,
    cluster_things,
    network_things,
    sagemaker_things,
    service_things,
    storage_things,
    watch_things,
)
from llm_fleet.cli.plan.stack_templates import UNKNOWN_REGION

Mount = tuple[str, str]
"""Key of a file system, or the id of an existing one; and the path."""


def mounts_of(view: View, resource: Resource) -> list[Mount]:
    """Return the mounts of `resource`, each once."""
    if resource.type == HYPERPOD:
        found = _hyperpod(view, resource)
    elif resource.type == PARALLELCLUSTER:
        found = _parallelcluster(view, resource)
    else:
        found = ((one.key, "") for one in view.named(resource, resource.properties, FILE_SYSTEM))
    return list(dict.fromkeys(found))


def _hyperpod(view: View, cluster: Resource) -> Iterator[Mount]:
    for group in cluster.properties.get("InstanceGroups", ()):
        for storage in group.get("InstanceStorageConfigs", ()):
            reported = storage.get("FsxLustreConfig") or storage.get("FsxOpenZfsConfig")
            if reported:
                yield from _file_systems(view, cluster, reported.get("DnsName"), reported)


def _parallelcluster(view: View, cluster: Resource) -> Iterator[Mount]:
    for storage in cluster.properties["ClusterConfiguration"].get("SharedStorage", ()):
        reported = next((value for name, value in storage.items() if name.startswith("Fsx")), None)
        if reported:
            yield from _file_systems(view, cluster, reported.get("FileSystemId") or reported.get("VolumeId"), storage)


def _file_systems(view: View, cluster: Resource, named: Any, reported: Mapping[str, Any]) -> Iterator[Mount]:
    path = str(reported.get("MountPath") or reported.get("MountDir") or "")
    made = view.named(cluster, named, FILE_SYSTEM)
    # A volume is a part of its file system.
    for volume in view.named(cluster, named, "AWS::FSx::Volume"):
        made += view.named(volume, volume.properties, FILE_SYSTEM)
    for system in made:
        yield system.key, path
    if isinstance(named, str):
        yield named.partition(".")[0], path


_WRITING = ("s3:Put", "s3:Delete", "s3:*", "*")
_READING = ("s3:Get", "s3:List", *_WRITING)


def buckets_of(view: View, resource: Resource) -> list[Link]:
    """Return a link to each bucket of the assembly that `resource` can write to, or only read."""
    rights: dict[str, Verb] = {}
    for part in view.body(resource):
        for bucket, verb in _of_part(view, part):
            if rights.get(bucket.key) is not Verb.WRITES:
                rights[bucket.key] = verb
    return [Link(source=resource.key, target=key, verb=verb) for key, verb in rights.items()]


def _of_part(view: View, part: Resource) -> Iterator[tuple[Resource, Verb]]:
    inline: list[dict[str, Any]] = [*part.properties.get("Policies", ())]
    documents: list[dict[str, Any]] = [one.get("PolicyDocument", {}) for one in (part.properties, *inline)]
    for document in documents:
        for statement in _list(document.get("Statement")):
            verb = _verb(statement)
            for bucket in view.named(part, statement.get("Resource"), BUCKET) if verb is not None else ():
                yield bucket, verb or Verb.READS
    if not part.type.startswith("AWS::IAM::"):
        for bucket in view.named(part, part.own, BUCKET):
            yield bucket, Verb.READS


def _verb(statement: dict[str, Any]) -> Verb | None:
    if statement.get("Effect") != "Allow":
        return None
    actions = [str(action) for action in _list(statement.get("Action"))]
    if any(action.startswith(_WRITING[:3]) or action == "*" for action in actions):
        return Verb.WRITES
    return Verb.READS if any(action.startswith(_READING[:2]) for action in actions) else None


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return cast("list[Any]", value) if isinstance(value, list) else [value]


_TARGET_GROUP = "AWS::ElasticLoadBalancingV2::TargetGroup"
_MOUNTING = (HYPERPOD, PARALLELCLUSTER, "AWS::SageMaker::Domain")


def links_of(view: View, things: Mapping[str, Thing]) -> list[Link]:
    """Return the links between `things`, by key, including links to existing resources without a card."""
    found: list[Link] = []
    for resource in view.assembly.resources():
        if resource.type == ALARM:
            found += _of_alarm(view, resource, things)
        elif resource.type == "AWS::FSx::DataRepositoryAssociation":
            found += _of_repository(view, resource)
        elif resource.key in things:
            found += _of_thing(view, resource, things)
    # Only the first of two links between the same cards is drawn: it has more details.
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
            yield Link(source=resource.key, target=other.key, verb=Verb.USES, how="for failed events")


def _named_by(view: View, resource: Resource, type: str) -> list[Resource]:
    return [found for part in view.body(resource) for found in view.named(part, part.own, type)]


def _of_balancer(view: View, balancer: Resource, things: Mapping[str, Thing]) -> Iterator[Link]:
    groups = {
        group.key
        for rule in view.of_type("AWS::ElasticLoadBalancingV2::ListenerRule", "AWS::ElasticLoadBalancingV2::Listener")
        for group in view.named(rule, rule.properties, _TARGET_GROUP)
        if balancer in _balancers(view, rule)
    }
    for service in view.of_type("AWS::ECS::Service"):
        requested = {one.key for one in view.named(service, service.properties.get("LoadBalancers"), _TARGET_GROUP)}
        if requested & groups and service.key in things:
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
    """Yield the links of an alarm, from and to the card of all alarms of its stack."""
    card = next(one.key for one in view.of_type(ALARM) if one.stack == alarm.stack)
    for topic in view.named(alarm, alarm.properties.get("AlarmActions"), TOPIC):
        yield Link(source=card, target=topic.key, verb=Verb.NOTIFIES)
    for action in view.references.texts(alarm.properties.get("AlarmActions")):
        if ":sns:" in action:
            yield Link(source=card, target=action.rpartition(":")[2], verb=Verb.NOTIFIES)
    watched = [alarm.properties.get(name) for name in ("Dimensions", "Metrics")]
    named = [*view.named(alarm, watched), *_by_name(view, alarm, watched)]
    for one in named:
        if one.key in things and things[one.key].column is not Column.REGION:
            yield Link(source=one.key, target=card, verb=Verb.WATCHED)


def _by_name(view: View, alarm: Resource, watched: list[Any]) -> Iterator[Resource]:
    """Yield clusters, services and endpoints of the assembly with a name in a dimension of `alarm`."""
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
        keys = [bucket.key for bucket in made] or [str(view.references.text(path)).split("/")[2]]
        for key in keys:
            yield Link(source=system.key, target=key, verb=Verb.SYNCS, how=str(known.get("FileSystemPath", "")))


EXISTING = "existing"
"""Key of the VPC of existing subnets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnet:
    """A subnet."""

    key: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """An Availability Zone with its subnets."""

    title: str
    """E.g. `usw2-az4`; empty for existing subnets, whose zone is unknown."""
    subnets: tuple[Subnet, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vpc:
    """A VPC with its zones."""

    key: str
    title: str
    zones: tuple[Zone, ...]

    @property
    def subnets(self) -> tuple[str, ...]:
        """The keys of all of its subnets."""
        return tuple(subnet.key for zone in self.zones for subnet in zone.subnets)

    @property
    def places(self) -> Mapping[str, str]:
        """The zone of each subnet by key; its id if the zone is unknown."""
        return {subnet.key: zone.title or subnet.key for zone in self.zones for subnet in zone.subnets}


def vpcs_of(view: View, things: Iterable[Thing]) -> tuple[Vpc, ...]:
    """Return the VPCs of the assembly, and the one of existing subnets."""
    made = [_made(view, vpc) for vpc in view.of_type("AWS::EC2::VPC")]
    known = {key for vpc in made for key in vpc.subnets}
    named = sorted({key for thing in things for key in thing.subnets} - known)
    if named:
        zone = Zone(title="", subnets=tuple(Subnet(key=key, title=f"subnet {key}") for key in named))
        made.append(Vpc(key=EXISTING, title="existing VPC", zones=(zone,)))
    return tuple(made)


def _made(view: View, vpc: Resource) -> Vpc:
    blocks = [view.references.text(vpc.properties.get("CidrBlock", "of IPAM"))]
    blocks += [
        view.references.text(one.properties.get("CidrBlock", "of IPAM"))
        for one in view.of_type("AWS::EC2::VPCCidrBlock")
        if vpc in view.named(one, one.properties.get("VpcId"))
    ]
    zones: dict[str, list[Subnet]] = {}
    for subnet in view.of_type("AWS::EC2::Subnet"):
        if vpc in view.named(subnet, subnet.properties.get("VpcId")):
            known = subnet.properties
            zone = known.get("AvailabilityZoneId") or known.get("AvailabilityZone")
            title = f"{_name(subnet)} subnet {view.references.text(known.get('CidrBlock', ''))}"
            zones.setdefault(view.references.text(zone), []).append(Subnet(key=subnet.key, title=title))
    return Vpc(
        key=vpc.key,
        title=f"VPC {' + '.join(blocks)}",
        zones=tuple(Zone(title=title, subnets=tuple(found)) for title, found in zones.items()),
    )


def _name(subnet: Resource) -> str:
    """Return the last part of its tag `Name`: compute, private, public."""
    tags = {tag["Key"]: tag["Value"] for tag in subnet.properties.get("Tags", ())}
    return str(tags.get("Name", subnet.logical_id)).rpartition("/")[2]


_READERS = (network_things, service_things, cluster_things, sagemaker_things, storage_things, watch_things)
_EXISTING = {Verb.MOUNTS: "File system", Verb.NOTIFIES: "SNS topic"}
"""Kind of an existing resource by the link to it; else a bucket."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The elements of a picture, without positions."""

    region: str
    stacks: tuple[str, ...]
    vpcs: tuple[Vpc, ...]
    things: Mapping[str, Thing]
    """By key, in the order of the assembly."""
    links: tuple[Link, ...]
    """Both ends of each link have a card."""

    @classmethod
    def of(cls, assembly: Assembly) -> Self:
        """Return the scene of `assembly`."""
        view = View(assembly)
        things = {thing.key: thing for reader in _READERS for thing in reader(view)}
        links = links_of(view, things)
        for link in links:
            if link.target not in things:
                things[link.target] = _existing(link, things[link.source])
        vpcs = vpcs_of(view, things.values())
        zones = {key: place for vpc in vpcs for key, place in vpc.places.items()}
        things = {key: _with_places(thing, zones) for key, thing in things.items()}
        return cls(
            region=", ".join(dict.fromkeys(stack.region or UNKNOWN_REGION for stack in assembly.stacks)),
            stacks=tuple(stack.name for stack in assembly.stacks),
            vpcs=vpcs,
            things=things,
            links=tuple(links),
        )


def _with_places(thing: Thing, zones: Mapping[str, str]) -> Thing:
    """Return `thing` with another line if it is in several subnets, and therefore in no box."""
    if len(thing.subnets) < 2 or not thing.stack:
        return thing
    places = list(dict.fromkeys(zones[key] for key in thing.subnets))
    return replace(thing, lines=(*thing.lines, *wrapped([f"in {places[0]}", *places[1:]])))


def _existing(link: Link, source: Thing) -> Thing:
    """Return the card of an existing resource; a file system is next to the thing that mounts it."""
    mounted = link.verb is Verb.MOUNTS
    return Thing(
        key=link.target,
        title=_EXISTING.get(link.verb, "S3 bucket"),
        lines=(short(link.target), "existing"),
        tone=Tone.WATCH if link.verb is Verb.NOTIFIES else Tone.STORAGE,
        column=Column.STORAGE if mounted else Column.REGION,
        subnets=source.subnets if mounted else (),
    )
