"""Where things stand that the fleet file gives no AZ."""

from llm_fleet.config.fleet import Fleet


def first_zone(fleet: Fleet) -> str | None:
    """Return the AZ id where things go unless told otherwise."""
    zones = fleet.network.availability_zone_ids if fleet.network is not None else ()
    return zones[0] if zones else None


def zone_of_fsx(fleet: Fleet) -> str | None:
    """Return the AZ id of the Lustre file system; `None` when there is none, or nobody told."""
    fsx = fleet.storage.fsx
    if fsx is None:
        return None
    return fsx.existing.availability_zone_id if fsx.existing else fsx.availability_zone_id or first_zone(fleet)


def zone_of_home(fleet: Fleet) -> str | None:
    """Return the AZ id of the OpenZFS file system; `None` when there is none, or nobody told."""
    home = fleet.storage.home
    if home is None:
        return None
    return home.existing.availability_zone_id if home.existing else home.availability_zone_id or first_zone(fleet)
