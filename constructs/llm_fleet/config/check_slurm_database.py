"""The fleet's database for accounting, and who uses it, judged by the rules that judge the constructs."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.accounting import FLEET_DATABASE
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import NetworkConfig
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
    yield from (problem.under(*_WHERE) for problem in _check_place(fleet.network, len(database.subnets)))


def _check_place(network: NetworkConfig | None, told: int) -> list[Problem]:
    if network is None:
        remedy = "say where the fleet stands, e.g. `network: {az: usw2-az4}`"
        return [replace(problem, path=(), remedy=remedy) for problem in check_has_network(network, "a database")]
    if told:
        return check_subnets(told, remedy="name another one, in another AZ")
    zones = len(network.zones)
    if network.vpc is not None:
        return check_subnets(zones, remedy="name two as `subnets`: the existing network has told of one AZ only")
    # A network that is made has room for two of its own, unless it has nearly all AZs that there can be.
    remedy = "name two of your own as `subnets`: the network's AZs take all its room"
    return check_subnets(2 if zones <= database_slots()[0] else 0, remedy=remedy)


def _check_users(fleet: Fleet) -> Iterator[Problem]:
    named = [
        *(("accounting_database", name, own.accounting_database) for name, own in fleet.hyperpod_clusters.items()),
        *(("accounting", name, own.accounting) for name, own in fleet.parallelclusters.items()),
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
