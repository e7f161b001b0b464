"""What file systems and the database for accounting cost."""

from collections.abc import Iterator
from decimal import Decimal

from llm_fleet.catalog.prices import PriceTable
from llm_fleet.config.fleet import Fleet
from llm_fleet.needs.cost_line import CostLine
from llm_fleet.rules.lustre_settings import LustreSettings

_INSTANCE_CLASS = "db.t4g.medium"
"""The construct's default, as `SlurmDatabaseSettings` tells."""


def storage_costs(fleet: Fleet, table: PriceTable) -> Iterator[CostLine]:
    """Return a line for each kind of storage that is made; what exists already is paid for elsewhere."""
    storage = fleet.storage
    if storage.fsx is not None and storage.fsx.existing is None:
        yield _lustre(storage.fsx.settings, fleet.region, table)
    if storage.home is not None and storage.home.existing is None:
        home = storage.home.settings
        kind = home.deployment_type
        yield _line(
            "storage.home", f"OpenZFS {kind}, storage", f"{kind}/storage", home.storage_capacity_gib, table, fleet
        )
        throughput = home.effective_throughput_capacity
        yield _line("storage.home", f"OpenZFS {kind}, MB/s", f"{kind}/throughput", throughput, table, fleet)
    yield from _database(fleet, table)


def _lustre(settings: LustreSettings, region: str, table: PriceTable) -> CostLine:
    throughput = settings.effective_throughput
    kind, storage = settings.deployment_type, settings.storage_type
    item = f"{kind}/{storage}" + (f"/{throughput}" if throughput is not None else "")
    size = settings.effective_capacity_gib
    elastic = "" if size is not None else "elastic: paid by what lies in it, and by the throughput"
    return CostLine(
        owner="storage.fsx",
        what=f"Lustre {kind} {storage}" + (f", {throughput} MB/s/TiB" if throughput is not None else ""),
        services=("lustre",),
        item=item,
        minimum=Decimal(size or 1),
        maximum=Decimal(size or 1),
        price=None if size is None else table.find(("lustre",), item, region),
        note=elastic,
    )


def _line(owner: str, what: str, item: str, quantity: int, table: PriceTable, fleet: Fleet) -> CostLine:
    return CostLine(
        owner=owner,
        what=what,
        services=("openzfs",),
        item=item,
        minimum=Decimal(quantity),
        maximum=Decimal(quantity),
        price=table.find(("openzfs",), item, fleet.region),
    )


def _database(fleet: Fleet, table: PriceTable) -> Iterator[CostLine]:
    if fleet.storage.slurm_database is None:
        return
    database = fleet.storage.slurm_database.settings
    servers = 2 if database.standby else 1
    if database.serverless:
        low, high = database.effective_capacity
        what, item = "Aurora capacity units", "acu"
    else:
        low = high = 1.0
        what = item = f"{database.engine} on {database.instance_class or _INSTANCE_CLASS}"
    yield CostLine(
        owner="storage.slurm_database",
        what=what,
        services=("rds",),
        item=item,
        minimum=Decimal(str(low)) * servers,
        maximum=Decimal(str(high)) * servers,
        price=table.find(("rds",), item, fleet.region),
    )
