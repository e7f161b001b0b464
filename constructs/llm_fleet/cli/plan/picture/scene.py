"""Everything that the picture shows of one assembly: cards, lines, and the boxes around them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from llm_fleet.cli.plan.picture.assembly import Assembly
from llm_fleet.cli.plan.picture.cluster_things import cluster_things
from llm_fleet.cli.plan.picture.links import links_of
from llm_fleet.cli.plan.picture.names import short, wrapped
from llm_fleet.cli.plan.picture.network_things import network_things
from llm_fleet.cli.plan.picture.sagemaker_things import sagemaker_things
from llm_fleet.cli.plan.picture.service_things import service_things
from llm_fleet.cli.plan.picture.storage_things import storage_things
from llm_fleet.cli.plan.picture.terms import Column, Tone, Verb
from llm_fleet.cli.plan.picture.thing import Link, Thing
from llm_fleet.cli.plan.picture.view import View
from llm_fleet.cli.plan.picture.vpc import Vpc, vpcs_of
from llm_fleet.cli.plan.picture.watch_things import watch_things

_READERS = (network_things, service_things, cluster_things, sagemaker_things, storage_things, watch_things)

_EXISTING = {Verb.MOUNTS: "File system", Verb.TELLS: "SNS topic"}
"""What it is that exists already, by what leads to it; else a bucket."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What there is to draw, without a place yet."""

    region: str
    stacks: tuple[str, ...]
    vpcs: tuple[Vpc, ...]
    things: Mapping[str, Thing]
    """By key, in the order in which stacks and resources stand in the assembly."""
    links: tuple[Link, ...]
    """Both ends of each have a card."""

    @classmethod
    def of(cls, assembly: Assembly) -> Self:
        """Return what there is to draw of `assembly`."""
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
            region=", ".join(dict.fromkeys(stack.region for stack in assembly.stacks)),
            stacks=tuple(stack.name for stack in assembly.stacks),
            vpcs=vpcs,
            things=things,
            links=tuple(links),
        )


def _with_places(thing: Thing, zones: Mapping[str, str]) -> Thing:
    """Return `thing` with a line more if it stands in several subnets, and so in none of the boxes."""
    if len(thing.subnets) < 2 or not thing.stack:
        return thing
    places = list(dict.fromkeys(zones[key] for key in thing.subnets))
    return replace(thing, lines=(*thing.lines, *wrapped([f"in {places[0]}", *places[1:]])))


def _existing(link: Link, source: Thing) -> Thing:
    """Return the card of what the assembly names and does not make; of a file system beside what mounts it."""
    mounted = link.verb is Verb.MOUNTS
    return Thing(
        key=link.target,
        title=_EXISTING.get(link.verb, "S3 bucket"),
        lines=(short(link.target), "exists already"),
        tone=Tone.WATCH if link.verb is Verb.TELLS else Tone.STORAGE,
        column=Column.STORAGE if mounted else Column.REGION,
        subnets=source.subnets if mounted else (),
    )
