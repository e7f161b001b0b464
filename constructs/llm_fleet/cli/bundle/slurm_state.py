"""What Slurm says on the controller, by Session Manager."""

from typing import TYPE_CHECKING

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.place.place import Place
from llm_fleet.rules.day_two.command_codes import CommandCode

if TYPE_CHECKING:
    from llm_fleet.config.fleet import Fleet

_SCRIPT = """export PATH=/opt/slurm/bin:$PATH
for what in "sinfo -N -l" "sinfo -R" "squeue -l" "scontrol show config" "systemctl --failed --no-pager"; do
  echo "== ${what}"
  timeout 20 ${what} 2>&1 | tail -n 400
done
"""


def slurm_state(fleet: "Fleet | None", place: Place) -> str:
    """Return what a few commands say that change nothing. Raises `FleetError` where no node can be asked."""
    cluster = None if fleet is None or place.key is None else fleet.clusters.get(place.key)
    if cluster is None:
        refuse(
            CommandCode.FILE_OR_NAME,
            "the fleet file tells which node to ask",
            "name the file with -f, or leave this out with --no-session",
            subject=str(place),
        )
    from llm_fleet.cli.session.session import Session
    from llm_fleet.cli.session.target import find_target

    done = Session(find_target(cluster, place.region or ""), user="root").run(_SCRIPT)
    return "\n".join(done.lines) + "\n"
