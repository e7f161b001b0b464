"""The CIDR blocks of a VPC: valid, of a size that AWS takes, private, apart, and allowed beside each other."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Network

from llm_fleet.catalog.network import address_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


def check_cidrs(cidr: str, compute_cidr: str) -> list[Problem]:
    """Return what is wrong with the primary block and the secondary one, alone and beside each other."""
    problems: list[Problem] = []
    blocks: dict[str, IPv4Network] = {}
    for name, text in (("cidr", cidr), ("compute_cidr", compute_cidr)):
        if is_unresolved(text):
            continue
        block, found = _parse(name, text)
        if block:
            blocks[name] = block
            found = [*_check_size(name, block), *_check_range(name, block)]
        problems += found
    if len(blocks) == 2 and not problems:
        problems += _check_together(blocks["cidr"], blocks["compute_cidr"])
    return problems


def check_vpc_cidrs(cidrs: Sequence[str]) -> list[Problem]:
    """Return which of the blocks that were told of an existing VPC are none."""
    problems = [_parse("vpc_cidrs", text)[1] for text in cidrs if not is_unresolved(text)]
    return [problem for found in problems for problem in found]


def check_subnet_cidrs(cidrs: Mapping[str, str], zones: Collection[str]) -> list[Problem]:
    """Return which blocks of an existing network's compute subnets are none, or are of an AZ without such a subnet."""
    problems: list[Problem] = []
    for zone, text in cidrs.items():
        found = [] if is_unresolved(text) else _parse("compute_cidrs", text)[1]
        if zone not in zones:
            found = [_without_subnet(zone, zones)]
        problems += [replace(problem, path=("compute_cidrs", zone)) for problem in found]
    return problems


def _without_subnet(zone: str, zones: Collection[str]) -> Problem:
    return Problem(
        code=Code.ZONE_WITHOUT_SUBNET,
        message=f"the network has no compute subnet in {zone}, whose block this would be",
        value=zone,
        allowed=", ".join(zones),
        remedy=did_you_mean(zone, zones, otherwise="write an AZ of `subnets`, or remove it"),
    )


def _parse(name: str, text: str) -> tuple[IPv4Network | None, list[Problem]]:
    try:
        block = IPv4Network(text, strict=False) if "/" in text else None
    except ValueError:
        block = None
    if block is None:
        return None, [
            Problem(
                code=Code.CIDR_INVALID,
                path=(name,),
                message=f"{text!r} is no IPv4 CIDR block",
                value=text,
                allowed="an address and a prefix length, e.g. 10.0.0.0/16",
                remedy="write the block with its prefix length, e.g. 10.0.0.0/16",
            )
        ]
    if str(block) != text:
        return None, [
            Problem(
                code=Code.CIDR_INVALID,
                path=(name,),
                message=f"{text!r} does not say where a block begins and how long it is",
                value=text,
                allowed="the first address of the block and its prefix length",
                remedy=f"write {str(block)!r}",
            )
        ]
    return block, []


def _check_size(name: str, block: IPv4Network) -> list[Problem]:
    facts = address_facts()
    if facts.largest_block_prefix <= block.prefixlen <= facts.smallest_block_prefix:
        return []
    sizes = f"/{facts.largest_block_prefix} to /{facts.smallest_block_prefix}"
    return [
        Problem(
            code=Code.CIDR_SIZE,
            path=(name,),
            message=f"a VPC has no CIDR block of /{block.prefixlen}",
            value=str(block),
            allowed=sizes,
            remedy=f"choose a block from {sizes}",
        )
    ]


def _check_range(name: str, block: IPv4Network) -> list[Problem]:
    """Refuse public ranges, and the one that Docker gives its bridge on every node (Amazon VPC User Guide)."""
    facts = address_facts()
    if block.overlaps(IPv4Network(facts.docker_bridge)):
        return [
            Problem(
                code=Code.CIDR_RANGE,
                path=(name,),
                message=f"{block} takes in {facts.docker_bridge}, where Docker puts its bridge on every node",
                value=str(block),
                allowed=f"{_listed(facts.private_ranges)}, without {facts.docker_bridge}",
                remedy="choose another private block, e.g. 10.0.0.0/16",
            )
        ]
    if _home(block, facts.private_ranges):
        return []
    return [
        Problem(
            code=Code.CIDR_RANGE,
            path=(name,),
            message=f"{block} is not private",
            value=str(block),
            allowed=_listed(facts.private_ranges),
            remedy="choose a block inside one of these, e.g. 10.0.0.0/16",
        )
    ]


def _check_together(primary: IPv4Network, secondary: IPv4Network) -> list[Problem]:
    if primary.overlaps(secondary):
        return [
            Problem(
                code=Code.CIDR_OVERLAP,
                path=("compute_cidr",),
                message=f"compute_cidr {secondary} overlaps cidr {primary}",
                value=str(secondary),
                allowed=f"a block without addresses of {primary}",
                remedy="choose a block apart from it, e.g. the next of the same size",
            )
        ]
    facts = address_facts()
    for rule in facts.association_rules:
        if primary.subnet_of(IPv4Network(rule.primary)) and _home(secondary, rule.refused):
            return [
                Problem(
                    code=Code.CIDR_ASSOCIATION,
                    path=("compute_cidr",),
                    message=f"AWS refuses {secondary} as a second block of a VPC whose first one is {primary}",
                    value=str(secondary),
                    allowed=f"nothing from {_listed(rule.refused)}",
                    remedy=f"choose compute_cidr from {rule.instead}",
                )
            ]
    return []


def _home(block: IPv4Network, ranges: Iterable[str]) -> bool:
    return any(block.subnet_of(IPv4Network(outer)) for outer in ranges)


def _listed(ranges: Iterable[str]) -> str:
    return ", ".join(ranges)
