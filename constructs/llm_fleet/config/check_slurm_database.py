"""The fleet's database for accounting, and who uses it, judged by the rules that judge the constructs."""

from collections.abc import Iterator

from llm_fleet.config.accounting import FLEET_DATABASE
from llm_fleet.config.fleet import Fleet
from llm_fleet.rules.codes import Code
from llm_fleet.rules.file_systems import check_has_network
from llm_fleet.rules.network_layout import database_slots
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.slurm_database import check_slurm_database, check_subnets

_WHERE = ("storage", FLEET_DATABASE)


def check_slurm_database_config(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the database, by attribute names, and with clusters that name one that is not there."""
    database = fleet.storage.slurm_database
    if database is None:
        yield from _check_users(fleet)
        return
    for problem in check_slurm_database(database.settings):
        yield problem.under(*_WHERE)
    found = check_has_network(fleet.network, "a database") or _check_subnets(fleet, len(database.subnets))
    # Like a file system, it is told where it stands, not in every network.
    yield from (problem.under(*_WHERE) if problem.code is not Code.MOUNT_WITHOUT_VPC else problem for problem in found)


def _check_subnets(fleet: Fleet, told: int) -> list[Problem]:
    network = fleet.network
    assert network is not None
    if told:
        return check_subnets(told, remedy="name another one, in another AZ")
    zones = len(network.availability_zone_ids)
    if network.vpc is not None:
        return check_subnets(zones, remedy="name two as `subnets`: the existing network has told of one AZ only")
    # A network that is made has room for two of its own, unless it has nearly all AZs that there can be.
    remedy = "name two of your own as `subnets`: the network's AZs take all its room"
    return check_subnets(2 if zones <= database_slots()[0] else 0, remedy=remedy)


def _check_users(fleet: Fleet) -> Iterator[Problem]:
    named = [
        ("accounting_database", name, cluster.accounting_database) for name, cluster in fleet.hyperpod_clusters.items()
    ]
    for attribute, name, accounting in named:
        if accounting is not None and accounting.of_fleet:
            yield Problem(
                code=Code.UNKNOWN_REFERENCE,
                path=("clusters", name, attribute),
                value=FLEET_DATABASE,
                message=f"there is no `{FLEET_DATABASE}` under `storage`",
                remedy=f"add `{FLEET_DATABASE}: {{}}` there",
            )
