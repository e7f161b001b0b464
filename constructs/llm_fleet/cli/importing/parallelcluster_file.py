"""Converts a configuration file of ParallelCluster to a fleet file."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from llm_fleet.catalog.network import regions
from llm_fleet.catalog.parallelcluster import DEFAULT_VERSION, gone
from llm_fleet.cli.importing.parallelcluster_queues import accounting, head_node, login_pool, queue, slurm
from llm_fleet.cli.importing.parallelcluster_values import Buckets, Section, shared_storage, tags
from llm_fleet.cli.importing.translation import (
    Notes,
    Requested,
    Translation,
    amount,
    ask_for_zones,
    number,
    report_region,
    truth,
    unless,
    without_none,
)
from llm_fleet.fleet_file.check_fleet import fleet_name_of
from llm_fleet.fleet_file.clusters import is_parallelcluster
from llm_fleet.fleet_file.document import parse, read_text
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.overrides import Place as Where
from llm_fleet.rules.problem import FleetError, Problem

_NOUN = "configuration"
_LOOKS_LIKE_ONE = re.compile(r"^(HeadNode|Scheduling|SharedStorage|LoginNodes)[ \t]*:", re.M)


def read_parallelcluster(path: Path, notes: Notes) -> dict[str, Any] | None:
    """Return the configuration in the file at `path`; `None` for another file, e.g. a request for HyperPod.

    Raises `FleetError` (LF101 to LF103; LF104 to LF109 for a text that is neither valid YAML nor JSON).
    """
    text = read_text(path, noun="request")
    given = _json(text)
    if given is not None:
        return cast("dict[str, Any]", given) if is_parallelcluster(given) else None
    if not _LOOKS_LIKE_ONE.search(text):  # The reader of requests has better messages.
        return None
    document = parse(text, subject=str(path), noun=_NOUN)
    if not is_parallelcluster(document.data):
        return None
    for problem in document.problems:
        if problem.code is not Code.EMPTY_VALUE:
            raise FleetError([document.locate(problem)], subject=str(path))
        notes.left_out(f"{problem.where}: it has no value")
    return document.data


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The network, and the AZ of each of its subnets."""

    network: dict[str, Any]
    """The key `network` of the fleet."""
    zones: dict[str, str]
    """AZ ids by the ids of the network's subnets, the first one first."""

    def of_queue(self, subnets: Sequence[str]) -> dict[str, Any]:
        """Return the keys for a queue's subnets; empty for the fleet's first subnet."""
        if not subnets:
            return {}
        if len(subnets) == 1 and subnets[0] in self.zones:
            zone = self.zones[subnets[0]]
            return {} if zone == next(iter(self.zones.values())) else {"az": zone}
        return {"subnets": list(subnets)}

    def of_node(self, subnet: str | None) -> str | None:
        """Return the subnet of a head node or login pool; `None` for the fleet's first subnet."""
        return None if subnet is None or subnet == next(iter(self.zones), None) else subnet


def report_place(
    subnets: Sequence[str],
    *,
    region: str,
    zones: Sequence[str],
    vpc: str | None,
    notes: Notes,
    problems: list[Problem],
) -> Place:
    """Return the network. `subnets`: those of all queues without placeholders; else the head node's."""
    distinct = list(dict.fromkeys(subnets))
    if not distinct:
        return _made(region, zones, notes)
    if vpc is None or len(zones) != len(distinct):
        problems.append(ask_for_zones(distinct, "the configuration", ("Scheduling", "SlurmQueues")))
        return Place(network={}, zones={})
    notes.chosen(f"the subnets are used unchanged, under network.vpc, in {vpc}")
    by_zone = dict(zip(zones, distinct, strict=True))
    return Place(
        network={"vpc": {"id": vpc, "subnets": by_zone}}, zones={subnet: zone for zone, subnet in by_zone.items()}
    )


def _made(region: str, zones: Sequence[str], notes: Notes) -> Place:
    if zones:
        notes.chosen(f"a VPC is created, with a compute subnet in {', '.join(zones)}: the configuration has no subnet")
        return Place(network={"az": zones[0]} if len(zones) == 1 else {"azs": list(zones)}, zones={})
    known = regions().get(region)
    zone = f"{known.az_id_prefix if known else 'use1'}-az1"
    notes.chosen(
        f"a VPC is created, with a compute subnet in {zone}: the configuration has no subnet; replace it by the AZ "
        "of your capacity, or import with `--az ID`"
    )
    return Place(network={"az": zone}, zones={})


def translate_parallelcluster(configuration: Mapping[str, Any], requested: Requested, notes: Notes) -> Translation:
    """Return the fleet file's values for a ParallelCluster configuration; `notes` get the result of each key."""
    result = Translation()
    whole = Section(configuration, "", notes)
    name = requested.cluster_name("", notes)
    image = _image(whole, notes)
    region = _region(whole, configuration, requested, notes, result.problems)
    queues = _named(whole.items("Scheduling/SlurmQueues"), "SlurmQueues", notes, result.problems)
    pools = _named(whole.items("LoginNodes/Pools"), "LoginNodes.Pools", notes, result.problems)
    storages = _named(whole.items("SharedStorage"), "SharedStorage", notes, result.problems, keep_name=True)
    head = Section(whole.take("HeadNode"), "HeadNode", notes)
    head_subnet = head.take("Networking/SubnetId")
    subnets = {each: [str(id) for id in section.items("Networking/SubnetIds")] for each, section in queues.items()}
    place = report_place(
        [id for ids in subnets.values() for id in ids] or ([str(head_subnet)] if head_subnet else []),
        region=region,
        zones=requested.zones,
        vpc=requested.vpc,
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
        **without_none(login={each: _pool(section, place) for each, section in pools.items()}, storage=stored.cluster),
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
    whole: Section, configuration: Mapping[str, Any], requested: Requested, notes: Notes, problems: list[Problem]
) -> str:
    written = whole.take("Region")
    if requested.region is None and written is not None:
        return str(written)
    if written not in (None, requested.region):
        notes.repaired(f"Region {written} is replaced by {requested.region} of --region")
    return report_region(configuration, requested.region, requested.zones, notes, problems)


def _named(
    items: list[Any], where: str, notes: Notes, problems: list[Problem], *, keep_name: bool = False
) -> dict[str, Section]:
    """Return the items of a list by name, with a problem for each missing or duplicate name."""
    named: dict[str, Section] = {}
    for index, item in enumerate(items):
        name: Any = cast("Mapping[str, Any]", item).get("Name") if isinstance(item, Mapping) else None
        if not isinstance(name, str) or name in named:
            message = "Name is required" if not isinstance(name, str) else f"duplicate Name {name}"
            remedy = "set a unique Name for each"
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
        notes.repaired(
            f"Image.Os {os} is replaced by {died.instead}: ParallelCluster has not supported {os} since {died.since}; "
            f"rebuild software that was built for {os}"
        )
        os = died.instead
    if image is not None and died is not None:
        notes.left_out(f"Image.CustomAmi {image}: it was built from an unsupported operating system")
        image = None
    if image is not None:
        notes.chosen(f"Image.CustomAmi {image} is kept: it must be built with ParallelCluster {DEFAULT_VERSION}")
    return without_none(
        os=unless(os, "alinux2023"), image=image, scheduler=unless(whole.take("Scheduling/Scheduler"), "slurm")
    )


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
    return without_none(
        accounting=accounting(settings),
        slurm=slurm(settings, scaling),
        permissions_boundary=whole.take("Iam/PermissionsBoundary"),
        iam_prefix=whole.take("Iam/ResourcePrefix"),
        detailed_monitoring=unless(truth(whole.take("Monitoring/DetailedMonitoring")), False),
        logs=amount(unless(number(whole.take("Monitoring/Logs/CloudWatch/RetentionInDays")), 180), "days"),
        tags=tags(whole),
    )
