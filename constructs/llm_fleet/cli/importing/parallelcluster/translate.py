"""Turns a whole ParallelCluster configuration into the values of a fleet file."""

from collections.abc import Mapping
from typing import Any, cast

from llm_fleet.catalog.parallelcluster import DEFAULT_VERSION, gone
from llm_fleet.cli.importing.notes import Notes
from llm_fleet.cli.importing.parallelcluster.buckets import Buckets
from llm_fleet.cli.importing.parallelcluster.nodes import head_node, login_pool
from llm_fleet.cli.importing.parallelcluster.place import Place, tell_place
from llm_fleet.cli.importing.parallelcluster.queues import queue
from llm_fleet.cli.importing.parallelcluster.section import Section
from llm_fleet.cli.importing.parallelcluster.shared_storage import shared_storage
from llm_fleet.cli.importing.parallelcluster.slurm import accounting, slurm
from llm_fleet.cli.importing.parallelcluster.values import amount, number, tags, told, truth, unless
from llm_fleet.cli.importing.place import tell_region
from llm_fleet.cli.importing.translate import Asked, Translation
from llm_fleet.config.check_names import fleet_name_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.typed_keys import Place as Where
from llm_fleet.rules.problem import Problem


def translate_parallelcluster(configuration: Mapping[str, Any], asked: Asked, notes: Notes) -> Translation:
    """Return the fleet file's values for a ParallelCluster configuration; `notes` say what became of each key."""
    result = Translation()
    whole = Section(configuration, "", notes)
    name = asked.cluster_name("", notes)
    image = _image(whole, notes)
    region = _region(whole, configuration, asked, notes, result.problems)
    queues = _named(whole.items("Scheduling/SlurmQueues"), "SlurmQueues", notes, result.problems)
    pools = _named(whole.items("LoginNodes/Pools"), "LoginNodes.Pools", notes, result.problems)
    storages = _named(whole.items("SharedStorage"), "SharedStorage", notes, result.problems, keep_name=True)
    head = Section(whole.take("HeadNode"), "HeadNode", notes)
    head_subnet = head.take("Networking/SubnetId")
    subnets = {each: [str(id) for id in section.items("Networking/SubnetIds")] for each, section in queues.items()}
    place = tell_place(
        [id for ids in subnets.values() for id in ids] or ([str(head_subnet)] if head_subnet else []),
        region=region,
        zones=asked.zones,
        vpc=asked.vpc,
        notes=notes,
        problems=result.problems,
    )
    if result.problems:
        return result
    stored = shared_storage(storages.values())
    buckets = Buckets()
    cluster = {
        "kind": "parallelcluster",
        **image,
        "head": head_node(head, place.of_node(head_subnet), buckets),
        "queues": {each: _queue(section, subnets[each], place, buckets) for each, section in queues.items()},
        **told(login={each: _pool(section, place) for each, section in pools.items()}, storage=stored.cluster),
        **_rest(whole, notes),
        **buckets.keys,
        **whole.overrides(Where.CLUSTER),
    }
    result.fleet = {
        "fleet": fleet_name_of(name) or "fleet",
        "region": region,
        "network": place.network,
        **({"storage": stored.fleet} if stored.fleet else {}),
        "clusters": {name: cluster},
    }
    return result


def _region(
    whole: Section, configuration: Mapping[str, Any], asked: Asked, notes: Notes, problems: list[Problem]
) -> str:
    written = whole.take("Region")
    if asked.region is None and written is not None:
        return str(written)
    if written not in (None, asked.region):
        notes.mended(f"Region {written} is {asked.region}, as asked")
    return tell_region(configuration, asked.region, asked.zones, notes, problems)


def _named(
    items: list[Any], where: str, notes: Notes, problems: list[Problem], *, keep_name: bool = False
) -> dict[str, Section]:
    """Return the items of a list by name, with a problem for each that has none of its own."""
    named: dict[str, Section] = {}
    for index, item in enumerate(items):
        name: Any = cast("Mapping[str, Any]", item).get("Name") if isinstance(item, Mapping) else None
        if not isinstance(name, str) or name in named:
            message = "it has no Name" if not isinstance(name, str) else f"two are called {name}"
            remedy = "give each a Name of its own"
            path = (*where.split("."), index)
            problems.append(Problem(code=Code.REQUEST_SHAPE, message=message, remedy=remedy, path=path, value=name))
            continue
        named[name] = Section(item, f"{where} {name}", notes)
        if not keep_name:
            named[name].take("Name")
    return named


def _image(whole: Section, notes: Notes) -> dict[str, Any]:
    os, image = whole.take("Image/Os"), whole.take("Image/CustomAmi")
    died = gone("oses").get(str(os).casefold())
    if died is not None:
        notes.mended(
            f"Image.Os {os} is {died.instead}: ParallelCluster has had no {os} since {died.since}; "
            f"software that was built for {os} is to be built anew"
        )
        os = died.instead
    if image is not None and died is not None:
        notes.left_out(f"Image.CustomAmi {image}: it was built from an operating system that is gone")
        image = None
    if image is not None:
        notes.chosen(f"Image.CustomAmi {image} stays: it must have been built by ParallelCluster {DEFAULT_VERSION}")
    return told(os=unless(os, "alinux2023"), image=image, scheduler=unless(whole.take("Scheduling/Scheduler"), "slurm"))


def _queue(section: Section, subnets: list[str], place: Place, buckets: Buckets) -> dict[str, Any]:
    resources = [
        Section(item, f"{section.where}.ComputeResources", section.notes) for item in section.items("ComputeResources")
    ]
    return queue(section, resources, place.of_queue(subnets), buckets)


def _pool(section: Section, place: Place) -> dict[str, Any]:
    subnets = section.items("Networking/SubnetIds")
    return login_pool(section, place.of_node(str(subnets[0]) if subnets else None))


def _rest(whole: Section, notes: Notes) -> dict[str, Any]:
    """Return the keys of the cluster itself."""
    scaling = whole.take("Scheduling/ScalingStrategy")
    settings = Section(whole.take("Scheduling/SlurmSettings"), "SlurmSettings", notes)
    return told(
        accounting=accounting(settings),
        slurm=slurm(settings, scaling),
        permissions_boundary=whole.take("Iam/PermissionsBoundary"),
        iam_prefix=whole.take("Iam/ResourcePrefix"),
        detailed_monitoring=unless(truth(whole.take("Monitoring/DetailedMonitoring")), False),
        logs=amount(unless(number(whole.take("Monitoring/Logs/CloudWatch/RetentionInDays")), 180), "days"),
        tags=tags(whole),
    )
