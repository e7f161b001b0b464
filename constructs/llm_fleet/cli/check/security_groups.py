"""Reads security groups as the rules want them, and which rules the deployment adds to existing ones."""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from llm_fleet.catalog.hyperpod import hyperpod_facts
from llm_fleet.catalog.lustre import lustre_limits
from llm_fleet.catalog.openzfs import open_zfs_limits
from llm_fleet.catalog.slurm import slurm_database_facts
from llm_fleet.cli.aws.refusals import AwsRefusal
from llm_fleet.cli.check.account import Account
from llm_fleet.config.fleet import Fleet
from llm_fleet.rules.account.security_group import NewRule, SecurityGroup
from llm_fleet.rules.day_two.command_codes import CommandCode
from llm_fleet.rules.problem import PathPart

_Range = tuple[str, tuple[int, int] | None]
"""Protocol and ports."""
_ALL: _Range = ("-1", None)


def security_group(account: Account, group_id: str) -> SecurityGroup | None:
    """Return a security group; `None` when there is none. Raises `AwsRefusal` when EC2 refuses to answer."""
    try:
        found = account.ask("ec2", "describe_security_groups", GroupIds=[group_id])["SecurityGroups"]
    except AwsRefusal as refusal:
        if refusal.code is not CommandCode.GONE:
            raise
        return None
    if not found:
        return None
    told = found[0]
    return SecurityGroup(
        group_id=group_id,
        vpc_id=told["VpcId"],
        ingress=told["IpPermissions"],
        egress=told["IpPermissionsEgress"],
    )


def new_rules(fleet: Fleet) -> list[NewRule]:
    """Return the rules inward that the deployment makes between groups that exist already, each once."""
    found = (*_of_file_systems(fleet), *_of_accounting(fleet), *_of_groups(fleet))
    return list({(one.group_id, one.peer_id, one.protocol, one.ports): one for one in reversed(found)}.values())[::-1]


def _of_file_systems(fleet: Fleet) -> Iterator[NewRule]:
    fsx = fleet.storage.fsx.existing if fleet.storage.fsx is not None else None
    home = fleet.storage.home.existing if fleet.storage.home is not None else None
    if fsx is not None and fsx.security_group_id is not None:
        ranges = [_ALL] if fsx.efa_enabled else [("tcp", ports) for ports in lustre_limits().ports]
        for client in _nodes(fleet):
            yield from _let_in(fsx.security_group_id, client, ranges, ("storage", "fsx", "existing"))
            yield from _let_in(client, fsx.security_group_id, ranges, ("storage", "fsx", "existing"))
    if home is not None and home.security_group_id is not None:
        ranges = [(protocol, ports) for protocol in ("tcp", "udp") for ports in open_zfs_limits().ports]
        for client in _nodes(fleet):
            yield from _let_in(home.security_group_id, client, ranges, ("storage", "home", "existing"))


def _of_accounting(fleet: Fleet) -> Iterator[NewRule]:
    for name, hyperpod in fleet.hyperpod_clusters.items():
        database = hyperpod.accounting_database
        if database is not None and not database.of_fleet and database.security_group_id is not None:
            port = database.port or hyperpod_facts().accounting_port
            for client in _nodes(fleet, name):
                ranges = [("tcp", (port, port))]
                yield from _let_in(database.security_group_id, client, ranges, ("clusters", name, "accounting"))
    for name, cluster in fleet.parallelclusters.items():
        accounting = cluster.accounting
        if accounting is not None and not accounting.of_fleet and accounting.security_group_id is not None:
            facts = slurm_database_facts()
            port = accounting.port or (facts.port if accounting.slurmdbd_host is None else facts.slurmdbd_port)
            for client in _nodes(fleet)[:1] if _of_network(fleet) else ():
                ranges = [("tcp", (port, port))]
                yield from _let_in(accounting.security_group_id, client, ranges, ("clusters", name, "accounting"))


def _of_groups(fleet: Fleet) -> Iterator[NewRule]:
    for name, cluster in fleet.hyperpod_clusters.items():
        places = {
            group_id: ("clusters", name, "groups", key, "security_groups")
            for key, group in cluster.groups.items()
            for group_id in group.security_group_ids
        }
        for pair in combinations(_nodes(fleet, name), 2):
            path = places.get(pair[1], places.get(pair[0], ()))
            for group_id, peer in permutations(pair):
                yield NewRule(group_id=group_id, peer_id=peer, protocol="-1", path=path)


def _let_in(group_id: str, peer: str, ranges: Sequence[_Range], path: tuple[PathPart, ...]) -> Iterator[NewRule]:
    if group_id != peer:
        for protocol, ports in ranges:
            yield NewRule(
                group_id=group_id, peer_id=peer, protocol=protocol, ports=ports, path=(*path, "security_group")
            )


def _nodes(fleet: Fleet, cluster: str | None = None) -> list[str]:
    """Return the existing groups of nodes, the network's first; of all clusters unless one is named."""
    clusters = fleet.hyperpod_clusters
    chosen = clusters.values() if cluster is None else [clusters[cluster]]
    own = [one for each in chosen for group in each.groups.values() for one in group.security_group_ids]
    return list(dict.fromkeys([*_of_network(fleet), *own]))


def _of_network(fleet: Fleet) -> list[str]:
    existing = fleet.network.vpc if fleet.network is not None else None
    return [existing.security_group_id] if existing is not None and existing.security_group_id else []
