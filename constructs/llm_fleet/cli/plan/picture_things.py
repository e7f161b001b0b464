"""The things of each part of a fleet: clusters, network, storage, services, SageMaker."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from llm_fleet.cli.plan.picture_assembly import (
    Column,
    Resource,
    Thing,
    Tone,
    View,
    card_of,
    construct_name,
    count,
    short,
    some,
    wrapped,
)

HYPERPOD, PARALLELCLUSTER = "AWS::SageMaker::Cluster", "Custom::PclusterCluster"
_MOST_LINES = 12


def cluster_things(view: View) -> Iterator[Thing]:
    """Yield every cluster with its groups."""
    for cluster in view.of_type(HYPERPOD):
        yield _cluster_card(view, cluster, "HyperPod", _groups(cluster.properties))
    for cluster in view.of_type(PARALLELCLUSTER):
        yield _cluster_card(view, cluster, "ParallelCluster", _nodes(cluster.properties["ClusterConfiguration"]))


def _cluster_card(view: View, cluster: Resource, kind: str, lines: Iterable[str]) -> Thing:
    title = f"{kind} {view.references.text(cluster.properties.get('ClusterName', ''))}"
    places = view.places(cluster, cluster.properties)
    return card_of(cluster, title, some(lines, _MOST_LINES), Tone.COMPUTE, subnets=places)


def _groups(properties: Mapping[str, Any]) -> Iterator[str]:
    for group in properties.get("InstanceGroups", ()):
        several = group.get("InstanceRequirements", {}).get("InstanceTypes", ())
        kind = group.get("InstanceType") or " or ".join(several)
        amount = count(group["InstanceCount"], kind, group.get("MinInstanceCount"))
        yield short(f"{group['InstanceGroupName']}: {amount}")


def _nodes(config: Mapping[str, Any]) -> Iterator[str]:
    yield short(f"head node: {count(1, config['HeadNode']['InstanceType'])}")
    for pool in config.get("LoginNodes", {}).get("Pools", ()):
        yield short(f"{pool['Name']}: {count(pool['Count'], pool['InstanceType'])}")
    for queue in config["Scheduling"].get("SlurmQueues", ()):
        for compute in queue["ComputeResources"]:
            yield _compute(queue["Name"], compute)


def _compute(queue: str, compute: Mapping[str, Any]) -> str:
    several = " or ".join(one["InstanceType"] for one in compute.get("Instances", ()))
    kind = compute.get("InstanceType") or several
    # Defaults of ParallelCluster.
    return short(f"{queue}: {count(compute.get('MaxCount', 10), kind, compute.get('MinCount', 0))}")


def network_things(view: View) -> Iterator[Thing]:
    """Yield the gateways of each VPC, and its endpoints as one card."""
    for attachment in view.of_type("AWS::EC2::VPCGatewayAttachment"):
        yield card_of(attachment, "Internet gateway", (), Tone.NETWORK, vpc=_vpc(view, attachment))
    for gateway in view.of_type("AWS::EC2::NatGateway"):
        places = view.places(gateway, gateway.properties.get("SubnetId"))
        yield card_of(gateway, "NAT gateway", (), Tone.NETWORK, subnets=places)
    for vpc in view.of_type("AWS::EC2::VPC"):
        ends = [one for one in view.of_type("AWS::EC2::VPCEndpoint") if _vpc(view, one) == vpc.key]
        if ends:
            yield _endpoints(vpc, ends)


def _endpoints(vpc: Resource, ends: list[Resource]) -> Thing:
    gateways = {one.key for one in ends if one.properties.get("VpcEndpointType") == "Gateway"}
    names = [_service(one) + (" (gateway)" if one.key in gateways else "") for one in ends]
    title = f"{len(ends)} VPC endpoints" if len(ends) > 1 else "VPC endpoint"
    return card_of(ends[0], title, some(wrapped(names), 7), Tone.NETWORK, vpc=vpc.key)


def _service(endpoint: Resource) -> str:
    """Return e.g. `ecr.dkr` of `com.amazonaws.us-west-2.ecr.dkr`."""
    return ".".join(str(endpoint.properties.get("ServiceName", "")).split(".")[3:])


def _vpc(view: View, resource: Resource) -> str | None:
    found = view.named(resource, resource.properties.get("VpcId"), "AWS::EC2::VPC")
    return found[0].key if found else None


_MACHINES = re.compile(r'"InstanceType":"([^"]+)","InstanceCount":(\d+)')
"""A text in the definition of a state machine, which is JSON with references."""


def sagemaker_things(view: View) -> Iterator[Thing]:
    """Yield the card of each."""
    for type, reader in _READERS.items():
        for resource in view.of_type(type):
            if (thing := reader(view, resource)) is not None:
                yield thing


def _endpoint(view: View, endpoint: Resource) -> Thing:
    parts = view.body(endpoint)
    variants = [one for part in parts for one in part.properties.get("ProductionVariants", ())]
    lines = [
        count(one.get("InitialInstanceCount", 1), one["InstanceType"]) for one in variants if "InstanceType" in one
    ]
    subnets = tuple(key for part in parts for key in view.places(part, part.properties.get("VpcConfig")))
    return _sagemaker_card(view, endpoint, "Endpoint", "EndpointName", lines, subnets)


def _notebook(view: View, notebook: Resource) -> Thing:
    places = view.places(notebook, notebook.properties.get("SubnetId"))
    return _sagemaker_card(
        view, notebook, "Notebook", "NotebookInstanceName", (notebook.properties["InstanceType"],), places
    )


def _studio(view: View, domain: Resource) -> Thing:
    profiles = [
        view.references.text(one.properties["UserProfileName"])
        for one in view.of_type("AWS::SageMaker::UserProfile")
        if domain in view.named(one, one.properties.get("DomainId"))
    ]
    lines = (str(domain.properties.get("AppNetworkAccessType", "")), *wrapped(profiles)[:3])
    return _sagemaker_card(
        view, domain, "Studio", "DomainName", lines, view.places(domain, domain.properties.get("SubnetIds"))
    )


def _training_job(view: View, machine: Resource) -> Thing | None:
    """Return the card of a state machine that creates training jobs; `None` for others."""
    definition = machine.properties.get("DefinitionString")
    found = _MACHINES.search(view.references.text(definition))
    if found is None:
        return None
    lines = (count(found.group(2), found.group(1)),)
    return _sagemaker_card(view, machine, "Training job", "StateMachineName", lines, view.places(machine, definition))


def _sagemaker_card(
    view: View, resource: Resource, kind: str, name: str, lines: Iterable[str], subnets: Iterable[str]
) -> Thing:
    title = f"{kind} {view.references.text(resource.properties.get(name, ''))}".strip()
    return card_of(resource, title, (line for line in lines if line), Tone.COMPUTE, subnets=subnets)


_READERS: Mapping[str, Callable[[View, Resource], Thing | None]] = {
    "AWS::SageMaker::Endpoint": _endpoint,
    "AWS::SageMaker::NotebookInstance": _notebook,
    "AWS::SageMaker::Domain": _studio,
    "AWS::StepFunctions::StateMachine": _training_job,
}


def service_things(view: View) -> Iterator[Thing]:
    """Yield load balancers, their services, and tasks without a service."""
    for balancer in view.of_type("AWS::ElasticLoadBalancingV2::LoadBalancer"):
        yield _balancer(view, balancer)
    kept: set[str] = set()
    for service in view.of_type("AWS::ECS::Service"):
        kept.update(one.key for one in view.named(service, service.properties.get("TaskDefinition")))
        if service.properties.get("LoadBalancers"):
            yield _inference_service(view, service)
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
    return card_of(
        balancer,
        "Application Load Balancer",
        (scheme, ", ".join(listeners), *(["WAF web ACL"] if guarded else [])),
        Tone.FRONT,
        subnets=view.places(balancer, balancer.properties.get("Subnets")),
    )


def _inference_service(view: View, service: Resource) -> Thing:
    name = view.references.text(service.properties.get("ServiceName", ""))
    network = service.properties.get("NetworkConfiguration")
    desired = service.properties.get("DesiredCount", 1)
    hosts = tuple(line for one in view.body(service) for line in _hosts(view, one, desired))
    tasks = f"{desired} {'task' if desired == 1 else 'tasks'}"
    return card_of(service, f"ECS service {name}", (tasks, *hosts), Tone.COMPUTE, subnets=view.places(service, network))


def _task(view: View, task: Resource) -> Thing:
    """Return the card of a task without a service, on the hosts of the ECS cluster of its stack."""
    hosts = [one for one in view.of_type("AWS::AutoScaling::AutoScalingGroup") if one.stack == task.stack]
    lines = tuple(line for one in hosts for line in _hosts(view, one, 0))
    places = tuple(key for one in hosts for key in view.places(one, one.properties.get("VPCZoneIdentifier")))
    return card_of(task, f"ECS task {task.stack}", (*lines, "started manually"), Tone.COMPUTE, subnets=places)


def _hosts(view: View, resource: Resource, tasks: int) -> Iterator[str]:
    """Yield the text for the hosts of `resource`, if it creates hosts: at least as many as there are tasks."""
    known = resource.properties
    if resource.type == "AWS::AutoScaling::AutoScalingGroup":
        templates = view.named(resource, known.get("LaunchTemplate"), "AWS::EC2::LaunchTemplate")
        types = [one.properties["LaunchTemplateData"]["InstanceType"] for one in templates]
        yield short(count(known["MaxSize"], " or ".join(types), tasks))
    elif managed := known.get("ManagedInstancesProvider"):
        allowed = managed["InstanceLaunchTemplate"]["InstanceRequirements"].get("AllowedInstanceTypes", ["any type"])
        yield short(f"Managed Instances: {' or '.join(allowed)}")


FILE_SYSTEM, DATABASE, BUCKET = "AWS::FSx::FileSystem", "AWS::RDS::DBCluster", "AWS::S3::Bucket"
_STORAGE_KINDS = {"LUSTRE": "FSx for Lustre", "OPENZFS": "FSx for OpenZFS"}


def storage_things(view: View) -> Iterator[Thing]:
    """Yield the card of each."""
    for system in view.of_type(FILE_SYSTEM):
        kind = system.properties["FileSystemType"]
        title = _STORAGE_KINDS.get(kind, f"FSx {kind}")
        places = view.places(system, system.properties.get("SubnetIds"))
        yield card_of(system, title, _of_file_system(system.properties), Tone.STORAGE, subnets=places)
    for database in view.of_type(DATABASE):
        groups = view.named(database, database.properties.get("DBSubnetGroupName"))
        places = (key for one in groups for key in view.places(one, one.properties.get("SubnetIds")))
        title = f"Database {database.properties['Engine']}"
        yield card_of(database, title, _of_database(database.properties), Tone.STORAGE, subnets=places)
    for bucket in view.of_type(BUCKET):
        yield card_of(bucket, "S3 bucket", (_bucket_name(view, bucket),), Tone.STORAGE, column=Column.REGION)


def _of_file_system(known: Mapping[str, Any]) -> Iterator[str]:
    yield f"{known['StorageCapacity']:,} GiB {known.get('StorageType', '')}".strip()
    lustre, zfs = known.get("LustreConfiguration", {}), known.get("OpenZFSConfiguration", {})
    deployment = (lustre or zfs).get("DeploymentType")
    if deployment:
        yield deployment
    if "PerUnitStorageThroughput" in lustre:
        yield f"{lustre['PerUnitStorageThroughput']} MB/s/TiB"
    if "ThroughputCapacity" in zfs:
        yield f"{zfs['ThroughputCapacity']} MB/s"


def _of_database(known: Mapping[str, Any]) -> Iterator[str]:
    scaling = known.get("ServerlessV2ScalingConfiguration")
    if scaling:
        yield f"{scaling['MinCapacity']:g}-{scaling['MaxCapacity']:g} ACU"
    yield f"port {known.get('Port', 3306)}"


def _bucket_name(view: View, bucket: Resource) -> str:
    """Return its name, with `…` for parts that are resolved at deployment; the construct's name if it has none."""
    name = bucket.properties.get("BucketName")
    if name is not None:
        return short(view.references.text(name))
    return construct_name(bucket.path, bucket.logical_id).removeprefix("Bucket-")


ALARM, TOPIC, QUEUE, FUNCTION = "AWS::CloudWatch::Alarm", "AWS::SNS::Topic", "AWS::SQS::Queue", "AWS::Lambda::Function"
_WATCH_KINDS = {
    TOPIC: "SNS topic",
    QUEUE: "SQS queue",
    "AWS::DynamoDB::Table": "DynamoDB table",
    "AWS::Budgets::Budget": "Budget",
    "AWS::APS::Workspace": "Managed Prometheus",
    "AWS::Grafana::Workspace": "Managed Grafana",
}
_STARTERS = ("AWS::Events::Rule", "AWS::Lambda::EventSourceMapping", "AWS::Scheduler::Schedule")
_MOST_ALARMS = 4


def watch_things(view: View) -> Iterator[Thing]:
    """Yield them; all alarms of a stack are one card."""
    for resources in view.assembly.by_stack.values():
        alarms = [one for one in resources.values() if one.type == ALARM]
        dashboards = sum(one.type == "AWS::CloudWatch::Dashboard" for one in resources.values())
        if alarms:
            yield _alarms(view, alarms, dashboards)
    for resource in view.of_type(*_WATCH_KINDS):
        yield card_of(resource, _WATCH_KINDS[resource.type], (_name(resource),), Tone.WATCH)
    started = {
        one.key for starter in view.of_type(*_STARTERS) for one in view.named(starter, starter.properties, FUNCTION)
    }
    for function in view.of_type(FUNCTION):
        if function.key in started:
            yield card_of(function, "Lambda function", (_name(function),), Tone.WATCH)


def _alarms(view: View, alarms: list[Resource], dashboards: int) -> Thing:
    names = [_alarm_name(view, one) for one in alarms]
    title = "1 alarm" if len(alarms) == 1 else f"{len(alarms)} alarms"
    also = "" if not dashboards else ", 1 dashboard" if dashboards == 1 else f", {dashboards} dashboards"
    return card_of(alarms[0], title + also, some((short(name) for name in names), _MOST_ALARMS), Tone.WATCH)


def _alarm_name(view: View, alarm: Resource) -> str:
    """Return its name without the prefix of the stack, which is on the card."""
    name = alarm.properties.get("AlarmName")
    reported = view.references.text(name) if name is not None else _name(alarm)
    return reported.removeprefix(f"{alarm.stack}-")


def _name(resource: Resource) -> str:
    """Return the name of its construct."""
    return construct_name(resource.path, resource.logical_id)
