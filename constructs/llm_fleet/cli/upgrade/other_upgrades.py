"""What another image or version would do to a cluster of ParallelCluster, and to an inference service."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from llm_fleet.catalog.hyperpod import Effect, software_update
from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.aws.refusals import told_of_aws
from llm_fleet.cli.failure import refuse
from llm_fleet.cli.nodes.service_nodes import living_services, refuse_gone
from llm_fleet.cli.place.place import Place
from llm_fleet.cli.upgrade.upgrade_plan import GroupUpgrade, UpgradePlan
from llm_fleet.rules.day_two.logs_codes import LogsCode

if TYPE_CHECKING:
    from llm_fleet.config.fleet import Fleet
    from llm_fleet.named_files.deployed_configuration import DeployedConfiguration


def parallelcluster_upgrade(
    clients: AwsClients, place: Place, *, image: str | None, fleet: "Fleet | None"
) -> UpgradePlan:
    """Return what the fleet file's version and image, or `image`, would change, by ParallelCluster's own policies.

    Raises `FleetError` (LF1132) without a fleet file, `AwsRefusal`.
    """
    from llm_fleet.rules.parallelcluster.update.plan import plan_update
    from llm_fleet.rules.parallelcluster.update.plan_text import plan_text

    config = None if fleet is None or place.key is None else fleet.parallelclusters.get(place.key)
    if config is None or place.stack is None:
        _need_file(place)
    old = _deployed(clients, place.stack, place.name)
    wanted = image or config.image_id
    new = dict(old.configuration)
    new["Image"] = {**_section(new.get("Image")), **({"CustomAmi": wanted} if wanted else {})}
    changes = plan_update(old.configuration, new, version_old=old.version, version_new=config.version)
    plan = UpgradePlan(about=str(place))
    plan.groups = [_head(old, config.version, wanted)]
    if not changes.changes:
        plan.warnings.append("nothing changes: it runs this version, on this image")
        return plan
    plan.warnings += plan_text(changes).rstrip().splitlines()
    plan.lost = [_told(effect) for effect in software_update().parallelcluster_lost]
    plan.kept = ["shared file systems and buckets: they are no part of the cluster"]
    plan.commands = [f"cdk deploy {place.stack}   # with `immutable_changes: new-cluster` where it is another cluster"]
    plan.before = ["llm-fleet update-plan --deployed OLD --planned NEW   # tells of every other change, too"]
    return plan


def service_upgrade(clients: AwsClients, place: Place, *, image: str | None, fleet: "Fleet | None") -> UpgradePlan:
    """Return which image the hosts of a service run, and which one they would.

    Raises `AwsRefusal`, or `FleetError` (LF1008) when there is no such service.
    """
    with told_of_aws(str(place)):
        answer = clients.ecs.list_container_instances(cluster=place.name)
        arns = answer["containerInstanceArns"]
        hosts: list[Any] = []
        if arns:
            hosts = list(
                clients.ecs.describe_container_instances(cluster=place.name, containerInstances=arns)[
                    "containerInstances"
                ]
            )
    if not hosts and not living_services(clients, place):
        refuse_gone(place)
    running: dict[str, int] = {}
    for host in hosts:
        attributes = {one["name"]: one.get("value") for one in host.get("attributes", [])}
        name = str(attributes.get("ecs.ami-id") or "unknown")
        running[name] = running.get(name, 0) + 1
    wanted = image or _ami(fleet, place) or "the newest that the catalog has for the server's driver"
    plan = UpgradePlan(about=str(place))
    plan.groups = [_hosts(name, number, wanted) for name, number in (running or {"unknown": 0}).items()]
    plan.lost = [_told(effect) for effect in software_update().service_lost]
    plan.kept = ["the model: in its bucket, or on its shared cache; the load balancer's name and certificate"]
    plan.warnings = [
        "a host of the new image comes before one of the old goes; tasks on the old finish their requests first"
    ]
    plan.commands = [f"cdk deploy {place.stack or place.name}   # with `hosts: {{ami: …}}` of the service set"]
    return plan


def _need_file(place: Place) -> NoReturn:
    refuse(
        LogsCode.UPGRADE_NEEDS_FILE,
        "the version and image that it would have are in the fleet file",
        "name the file with -f",
        subject=str(place),
    )


def _deployed(clients: AwsClients, stack: str, name: str) -> "DeployedConfiguration":
    from llm_fleet.named_files.deployed_configuration import DeployedConfiguration

    with told_of_aws(f"stack {stack}"):
        body: Any = clients.cloudformation.get_template(StackName=stack, TemplateStage="Original")["TemplateBody"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "deployed.json"
        file.write_text(body if isinstance(body, str) else json.dumps(body), encoding="utf-8")
        return DeployedConfiguration.from_file(file, cluster=name)


def _section(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}  # pyright: ignore[reportUnknownArgumentType]


def _head(old: "DeployedConfiguration", version: str, image: str | None) -> GroupUpgrade:
    current: Any = _section(old.configuration.get("Image")).get("CustomAmi")
    return GroupUpgrade(
        name="the cluster",
        role=None,
        instance_type="",
        nodes=0,
        current=f"{old.version or 'unknown'}{f' on {current}' if current else ''}",
        wanted=f"{version}{f' on {image}' if image else ''}",
        status=None,
        hook="OnNodeConfigured",
        script="on_node_configured.sh",
    )


def _hosts(current: str, number: int, wanted: str) -> GroupUpgrade:
    return GroupUpgrade(
        name="hosts",
        role=None,
        instance_type="",
        nodes=number,
        current=current,
        wanted=wanted,
        status=None,
        hook=None,
        script=None,
    )


def _ami(fleet: "Fleet | None", place: Place) -> str | None:
    service: Any = None if fleet is None or place.key is None else fleet.services.get(place.key)
    return getattr(getattr(service, "hosts", None), "ami", None)


def _told(effect: Effect) -> str:
    return f"{effect.what} ({effect.on}): {effect.where}"
