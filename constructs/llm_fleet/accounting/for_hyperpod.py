"""A database as a HyperPod cluster takes it."""

from llm_fleet.accounting.accounting_database import AccountingDatabase
from llm_fleet.accounting.reachable_database import ReachableSlurmDatabase
from llm_fleet.catalog.hyperpod import hyperpod_facts
from llm_fleet.rules.accounting import check_has_credentials_secret
from llm_fleet.rules.problem import raise_problems


def for_hyperpod(database: ReachableSlurmDatabase, *, database_name: str | None) -> AccountingDatabase:
    """Return `database` as a HyperPod cluster takes it; raise `FleetError` (LF693) without its JSON secret."""
    secret = database.credentials_secret
    raise_problems(check_has_credentials_secret(told=secret is not None), subject="AccountingDatabase")
    assert secret is not None
    return AccountingDatabase(
        endpoint=database.endpoint,
        secret=secret,
        port=None if database.port == hyperpod_facts().accounting_port else database.port,
        database_name=database_name,
        connections=database.guard,
        servers=database.servers,
    )
