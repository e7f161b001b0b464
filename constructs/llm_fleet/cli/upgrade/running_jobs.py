"""Asks Slurm by Session Manager what runs, where this machine can."""

from typing import TYPE_CHECKING

from llm_fleet.cli.place.place import Place
from llm_fleet.rules.problem import FleetError

if TYPE_CHECKING:
    from llm_fleet.config.fleet import Fleet

ASK = "squeue --noheader --states=RUNNING,PENDING --format='%i %t %P %u %D %M %j'"
_SCRIPT = f"export PATH=/opt/slurm/bin:$PATH\n{ASK}\n"


def running_jobs(fleet: "Fleet | None", place: Place) -> tuple[list[str] | None, str]:
    """Return the lines of `squeue`, `None` where nobody could be asked, and then why."""
    cluster = None if fleet is None or place.key is None else fleet.clusters.get(place.key)
    if cluster is None:
        return None, "the fleet file (-f) tells which node to ask"
    from llm_fleet.cli.session.session import Session
    from llm_fleet.cli.session.target import find_target

    try:
        done = Session(find_target(cluster, place.region or ""), user="root").run(_SCRIPT)
    except FleetError as error:
        return None, error.problems[0].message
    return list(done.lines) if done.code == 0 else None, "\n".join(done.lines)
