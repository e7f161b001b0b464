"""Plans of upgrades of clusters and services: their effects and commands."""

import json
import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from llm_fleet.catalog.hyperpod import Effect, software_update
from llm_fleet.catalog.nodes import node_steps
from llm_fleet.cli.clients import AwsClients, aws_errors_reported
from llm_fleet.cli.nodes.list_nodes import living_services, refuse_gone
from llm_fleet.cli.place import Place
from llm_fleet.cli.screen import Screen, Tone, Toned, painted, plain_text
from llm_fleet.cli.table import Cell, Column, Table
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.feature_codes import LogsCode
from llm_fleet.rules.problem import FleetError

if TYPE_CHECKING:
    from llm_fleet.fleet_file.clusters import HyperPodConfig
    from llm_fleet.fleet_file.fleet import Fleet
    from llm_fleet.named_files.deployed_configuration import DeployedConfiguration


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupUpgrade:
    """One group of nodes."""

    name: str
    role: str | None = None
    instance_type: str = ""
    nodes: int = 0
    current: str
    """Release or id of the current image; `unknown` if HyperPod does not return it."""
    wanted: str
    """Image after the update."""
    status: str | None = None
    """`UpToDate`, `UpdateAvailable`, `SecurityUpdateRequired`, `EndOfLife`."""  # codespell:ignore uptodate
    hook: str | None = None
    """Hook that runs its lifecycle script; `None` for none."""
    script: str | None = None
    """Its lifecycle script."""
    steps: tuple[str, ...] = ()
    """Steps of llm-fleet that would run again, at most: a node skips steps that it does not need."""
    rolling: dict[str, Any] | None = None
    """Deployment configuration in the API's form; `None`: all nodes together."""


@dataclass(slots=True, kw_only=True)
class UpgradePlan:
    """The plan."""

    about: str
    groups: list[GroupUpgrade] = field(default_factory=list[GroupUpgrade])
    lost: list[str] = field(default_factory=list[str])
    kept: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    before: list[str] = field(default_factory=list[str])
    """Commands to run before the update."""
    commands: list[str] = field(default_factory=list[str])
    """Commands of the update in their order; they are not run."""
    after: list[str] = field(default_factory=list[str])
    not_checked: str | None = None
    """Why Slurm could not be queried."""
    jobs: list[str] | None = None
    """Running jobs in Slurm; `None` if it was not queried."""


_COLUMNS = (
    Column(key="name", title="GROUP"),
    Column(key="role", title="ROLE"),
    Column(key="nodes", title="NODES", right=True),
    Column(key="current", title="IMAGE"),
    Column(key="status", title="STATUS"),
    Column(key="wanted", title="NEW IMAGE"),
    Column(key="order", title="HOW"),
    Column(key="steps", title="STEPS THAT RUN AGAIN", wraps=True),
)
_TONES = {"UpToDate": Tone.GOOD, "SecurityUpdateRequired": Tone.BAD, "EndOfLife": Tone.BAD}  # codespell:ignore uptodate


def show_plan(plan: UpgradePlan, screen: Screen) -> None:
    """Print the plan."""
    print(f"{plan.about}: effects of an update; nothing is changed\n")
    print(Table(columns=_COLUMNS, rows=[_row(group) for group in plan.groups]).text(screen), end="")
    _part("lost", plan.lost, screen, Tone.BAD)
    _part("kept", plan.kept, screen, Tone.GOOD)
    _part("note", plan.warnings, screen, Tone.WARNING)
    if plan.jobs is not None:
        _part("running jobs", plan.jobs or ["none"], screen, Tone.WARNING)
    _part("before", plan.before, screen, Tone.STRONG)
    _part("the update", plan.commands, screen, Tone.STRONG)
    _part("after", plan.after, screen, Tone.STRONG)


def _part(title: str, lines: Iterable[str], screen: Screen, tone: Tone) -> None:
    reported = list(lines)
    if reported:
        print(f"\n{painted(title, tone, color=screen.color)}")
        print("".join(f"  {plain_text(line)}\n" for line in reported), end="")


def _row(group: GroupUpgrade) -> dict[str, Cell]:
    return {
        "name": group.name,
        "role": group.role,
        "nodes": group.nodes or None,
        "current": group.current,
        "status": Toned(group.status, _TONES.get(group.status, Tone.WARNING)) if group.status else None,
        "wanted": group.wanted,
        "order": _how(group),
        "steps": ", ".join(group.steps) or group.script,
    }


def _how(group: GroupUpgrade) -> str | None:
    if group.rolling is None:
        return "all together" if group.nodes > 1 else None
    size = group.rolling.get("RollingUpdatePolicy", {}).get("MaximumBatchSize", {})
    unit = "%" if size.get("Type") == "CAPACITY_PERCENTAGE" else " nodes"
    return f"{size.get('Value', '?')}{unit} at a time"


ASK = "squeue --noheader --states=RUNNING,PENDING --format='%i %t %P %u %D %M %j'"
_SCRIPT = f"export PATH=/opt/slurm/bin:$PATH\n{ASK}\n"


def running_jobs(fleet: "Fleet | None", place: Place) -> tuple[list[str] | None, str]:
    """Return the lines of `squeue`, or `None` and why it could not be run."""
    cluster = None if fleet is None or place.key is None else fleet.clusters.get(place.key)
    if cluster is None:
        return None, "a fleet file (-f FILE) is required: it names the node that runs squeue"
    from llm_fleet.cli.nodes.slurm_view import find_target
    from llm_fleet.cli.session import Session

    try:
        done = Session(find_target(cluster, place.region or ""), user="root").run(_SCRIPT)
    except FleetError as error:
        return None, error.problems[0].message
    return list(done.lines) if done.code == 0 else None, "\n".join(done.lines)


_AMI = re.compile(r"ami-[0-9a-f]{8}(?:[0-9a-f]{9})?")
_RELEASE = re.compile(r"\d+\.\d+\.\d+")
_LATEST = "the newest"
_NOTHING: Mapping[str, Any] = {}
_OLD = ("SecurityUpdateRequired", "EndOfLife")


def hyperpod_upgrade(
    clients: AwsClients, place: Place, *, image: str | None, only: Sequence[str], fleet: "Fleet | None"
) -> UpgradePlan:
    """Return the plan, without changes. `image`: an AMI id or a release; `None`: the newest HyperPod AMI.

    Raises `FleetError` (LF1130, LF1131), `AwsRefusal`.
    """
    check_image(image)
    config = None if fleet is None or place.key is None else fleet.hyperpod_clusters.get(place.key)
    with aws_errors_reported(str(place)):
        cluster: Any = clients.sagemaker.describe_cluster(ClusterName=place.name)
    groups = [_group(one, image, config) for one in cluster["InstanceGroups"]]
    _check_groups(only, groups, place)
    order = software_update().order
    chosen = [group for group in groups if not only or group.name in only]
    chosen.sort(key=lambda group: order.index(group.role) if group.role in order else len(order))
    plan = UpgradePlan(about=str(place), groups=chosen)
    plan.lost = [_effect_text(effect) for effect in software_update().lost]
    plan.kept = [_effect_text(effect) for effect in software_update().kept]
    _of_file(plan, fleet, config)
    _of_groups(plan, image)
    _of_accounting(plan, cluster)
    plan.commands = _commands(place, chosen, image, clients.region, all_groups=len(chosen) == len(groups))
    name = place.key or place.name
    plan.after = [f"llm-fleet events {name} --follow", f"llm-fleet logs {name} --failed"]
    return plan


def check_image(image: str | None) -> None:
    """Refuse a text that is neither an AMI id nor a release (LF1131)."""
    if image is None or _AMI.fullmatch(image) or _RELEASE.fullmatch(image):
        return
    refuse(
        LogsCode.IMAGE_FORM,
        "neither an AMI id nor a release of the HyperPod AMI",
        "write `ami-` and 8 or 17 hexadecimal digits, or a release such as `1.2.3`, or `--latest`",
        subject="--image",
        value=image,
    )


def _check_groups(only: Sequence[str], groups: Sequence[GroupUpgrade], place: Place) -> None:
    from llm_fleet.rules.values import did_you_mean

    names = [group.name for group in groups]
    for name in only:
        if name not in names:
            remedy = did_you_mean(name, names, otherwise=f"name one of {', '.join(names)}")
            refuse(LogsCode.GROUP_UNKNOWN, "unknown group of the cluster", remedy, subject=str(place), value=name)


def _group(reported: Mapping[str, Any], image: str | None, config: "HyperPodConfig | None") -> GroupUpgrade:
    name, scripts = reported["InstanceGroupName"], _within(reported, "LifeCycleConfig")
    hook = next((one for one in ("OnInitComplete", "OnCreate") if scripts.get(one)), None)
    role = _within(reported, "SlurmConfig").get("NodeType") or _role(name, config)
    several: Sequence[str] = _within(reported, "InstanceRequirements").get("CurrentInstanceTypes", ())
    release, current = reported.get("CurrentImageReleaseVersion"), reported.get("CurrentImageId")
    return GroupUpgrade(
        name=name,
        role=role,
        instance_type=reported.get("InstanceType") or ", ".join(several),
        nodes=reported.get("CurrentCount", 0),
        current=" ".join(filter(None, [release, current])) or "unknown",
        wanted=image or _LATEST,
        status=reported.get("ImageVersionStatus"),
        hook=hook,
        script=scripts.get(hook) if hook else None,
        steps=_steps(role, hook, scripts.get(hook or ""), config),
        rolling=_within(reported, "ScheduledUpdateConfig").get("DeploymentConfig"),
    )


def _within(reported: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the value of `key`; empty if it is missing."""
    found: Any = reported.get(key)
    return found or _NOTHING


def _role(name: str, config: "HyperPodConfig | None") -> str | None:
    group = None if config is None else config.by_name.get(name)
    return None if group is None else group.node_type.value


def _steps(role: str | None, hook: str | None, script: str | None, config: "HyperPodConfig | None") -> tuple[str, ...]:
    """Return the steps of llm-fleet and of the fleet that run again; none of another lifecycle script."""
    if hook is None or (script or "").rpartition("/")[2] not in ("on_init_complete.sh", "on_create.sh"):
        return ()
    skipped = () if config is None else config.scripts.skip_steps
    own = [] if config is None else [one.name for one in config.scripts.own_steps if role in {*one.roles, None}]
    shipped = [name for name, one in node_steps().items() if hook in one.hooks and (role is None or role in one.roles)]
    return (*(name for name in shipped if name not in skipped), *own)


def _effect_text(effect: Effect) -> str:
    where = f"{effect.what} ({effect.on})" if effect.on else effect.what
    return f"{where}: {effect.where}" + ("" if effect.assumption is None else f" [assumption: {effect.assumption}]")


def _of_file(plan: UpgradePlan, fleet: "Fleet | None", config: "HyperPodConfig | None") -> None:
    """Add the effects that depend on the fleet file."""
    if fleet is None or config is None:
        plan.warnings.append(
            "homes, training environments and custom steps are not included: name the fleet file with -f FILE"
        )
        return
    if fleet.storage.home is None:
        plan.warnings.append(
            "the fleet has no `storage.home`: home directories on a node's root volume are lost; those below the "
            "mount of `fsx` are kept"
        )
    if config.training is not None:
        plan.kept.append("training environments: in their directory on shared storage; jobs find them as before")


def _of_groups(plan: UpgradePlan, image: str | None) -> None:
    for group in plan.groups:
        if group.status in _OLD:
            plan.warnings.append(f"{group.name}: the status of its image in HyperPod is {group.status}")
        if image is None and _AMI.fullmatch(group.current):  # HyperPod AMIs have a release.
            plan.warnings.append(
                f"{group.name} runs a custom image, {group.current}, which the newest HyperPod AMI would replace; "
                "build it again from that AMI, and name it with --image"
            )
        if group.rolling is None and group.nodes > 1:
            plan.warnings.append(
                f"{group.name}: all {group.nodes} nodes are updated together; set "
                "`schedule: {rolling: {batch: 1 node}}` in the fleet file to update node by node"
            )
        if group.hook and not group.steps:
            plan.warnings.append(f"{group.name}: runs your script {group.script} again; check that it can run twice")
    plan.warnings.append(software_update().tries)


def _of_accounting(plan: UpgradePlan, cluster: Mapping[str, Any]) -> None:
    """Add Slurm's accounting records: a local database is on the controller's root volume."""
    if not any(group.role == "Controller" for group in plan.groups):
        return
    if _within(_within(cluster, "Orchestrator"), "Slurm").get("AccountingDatabase"):
        plan.kept.append("Slurm accounting: in its database outside the cluster")
    else:
        plan.lost.append("Slurm accounting (controller): MariaDB on its root volume, with all accounts and records")
        plan.before.append(
            "sudo mysqldump --single-transaction --databases slurm_acct_db | gzip > "
            "/fsx/slurm_acct_db-$(date +%F).sql.gz   # on the controller: `llm-fleet connect`; "
            "the AMI's database may have another name: `sudo mysql -e 'show databases'`"
        )
    plan.lost += [_effect_text(effect) for effect in software_update().controller_lost]


def _commands(
    place: Place, groups: Sequence[GroupUpgrade], image: str | None, region: str, *, all_groups: bool
) -> list[str]:
    """Return the commands of the update, one for adjacent groups with the same deployment configuration."""
    parts: list[list[GroupUpgrade]] = []
    for group in groups:
        if parts and parts[-1][-1].rolling == group.rolling:
            parts[-1].append(group)
        else:
            parts.append([group])
    return [_command(place, part, image, region, named=len(parts) > 1 or not all_groups) for part in parts]


def _command(place: Place, groups: Sequence[GroupUpgrade], image: str | None, region: str, *, named: bool) -> str:
    release = image if image and _RELEASE.fullmatch(image) else None
    words = ["aws", "sagemaker", "update-cluster-software", "--cluster-name", place.name, "--region", region]
    if named or release:
        reported = [
            {"InstanceGroupName": group.name} | ({"ImageReleaseVersion": release} if release else {})
            for group in groups
        ]
        words += ["--instance-groups", json.dumps(reported)]
    if groups[0].rolling:
        words += ["--deployment-config", json.dumps(groups[0].rolling)]
    if image and not release:
        words += ["--image-id", image]
    return shlex.join(words)


def parallelcluster_upgrade(
    clients: AwsClients, place: Place, *, image: str | None, fleet: "Fleet | None"
) -> UpgradePlan:
    """Return the changes for the fleet file's version and image, or for `image`, by ParallelCluster's update policies.

    Raises `FleetError` (LF1132) without a fleet file, `AwsRefusal`.
    """
    from llm_fleet.rules.parallelcluster.update_plan import plan_text, plan_update

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
        plan.warnings.append("nothing changes: it has this version and this image")
        return plan
    plan.warnings += plan_text(changes).rstrip().splitlines()
    plan.lost = [_effect_text(effect) for effect in software_update().parallelcluster_lost]
    plan.kept = ["shared file systems and buckets: they are not part of the cluster"]
    plan.commands = [f"cdk deploy {place.stack}   # with `immutable_changes: new-cluster` if it creates a new cluster"]
    plan.before = ["llm-fleet parallelcluster update-plan --deployed OLD --planned NEW   # shows all changes"]
    return plan


def service_upgrade(clients: AwsClients, place: Place, *, image: str | None, fleet: "Fleet | None") -> UpgradePlan:
    """Return the current image of the hosts of a service, and the image after the update.

    Raises `AwsRefusal`, or `FleetError` (LF1008) if the service does not exist.
    """
    with aws_errors_reported(str(place)):
        arns = clients.ecs.list_container_instances(cluster=place.name)["containerInstanceArns"]
        hosts: list[Any] = []
        if arns:
            reported = clients.ecs.describe_container_instances(cluster=place.name, containerInstances=arns)
            hosts = list(reported["containerInstances"])
    if not hosts and not living_services(clients, place):
        refuse_gone(place)
    running = Counter(
        next((one.get("value") for one in host.get("attributes", []) if one["name"] == "ecs.ami-id"), None) or "unknown"
        for host in hosts
    )
    wanted = image or _ami(fleet, place) or "the newest in the catalog for the server's driver"
    plan = UpgradePlan(about=str(place))
    plan.groups = [
        GroupUpgrade(name="hosts", nodes=number, current=name, wanted=wanted)
        for name, number in (running or {"unknown": 0}).items()
    ]
    plan.lost = [_effect_text(effect) for effect in software_update().service_lost]
    plan.kept = ["the model, in its bucket or in the shared cache; the load balancer's name and certificate"]
    plan.warnings = [
        "a host with the new image starts before an old one ends; tasks on the old host finish their requests first"
    ]
    plan.commands = [f"cdk deploy {place.stack or place.name}   # with `hosts: {{ami: …}}` of the service set"]
    return plan


def _need_file(place: Place) -> NoReturn:
    refuse(
        LogsCode.UPGRADE_NEEDS_FILE,
        "no fleet file, which has the new version and image",
        "name the fleet file with -f FILE",
        subject=str(place),
    )


def _deployed(clients: AwsClients, stack: str, name: str) -> "DeployedConfiguration":
    from llm_fleet.named_files.deployed_configuration import DeployedConfiguration

    with aws_errors_reported(f"stack {stack}"):
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
        current=f"{old.version or 'unknown'}{f' on {current}' if current else ''}",
        wanted=f"{version}{f' on {image}' if image else ''}",
        hook="OnNodeConfigured",
        script="on_node_configured.sh",
    )


def _ami(fleet: "Fleet | None", place: Place) -> str | None:
    service: Any = None if fleet is None or place.key is None else fleet.services.get(place.key)
    return getattr(getattr(service, "hosts", None), "ami", None)
