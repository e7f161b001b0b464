"""What `llm-fleet nodes` has found at one moment."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llm_fleet.cli.exit_codes import ExitCode
from llm_fleet.cli.nodes.listing import Listing
from llm_fleet.cli.nodes.node_row import NodeRow, rows_of
from llm_fleet.cli.nodes.nodes_table import nodes_table, summary
from llm_fleet.cli.nodes.slurm_view import SlurmView
from llm_fleet.cli.terminal.plain_text import plain_text
from llm_fleet.cli.terminal.screen import Screen
from llm_fleet.cli.terminal.told_problem import told_problem
from llm_fleet.cli.terminal.tone import Tone, painted
from llm_fleet.rules.problem import FleetError, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The nodes as AWS and Slurm see them."""

    listing: Listing
    rows: Sequence[NodeRow]
    """Those that were asked for."""
    unseen: Sequence[Problem] = ()
    """Why Slurm's view is not in it."""

    @property
    def exit_code(self) -> ExitCode:
        """1 when somebody should look at a node, 3 when Slurm should have been asked and could not be."""
        if any(row.is_bad for row in self.rows):
            return ExitCode.PROBLEMS
        return ExitCode.NOT_ASKED if self.unseen else ExitCode.FINE

    def text(self, screen: Screen) -> str:
        """Return the table with the summary below."""
        lines = [painted(plain_text(line), Tone.STRONG, colour=screen.colour) for line in self._summary()]
        return nodes_table(self.rows, screen).text(screen) + "".join(f"{line}\n" for line in lines)

    def top(self, screen: Screen) -> str:
        """Return the summary, then the table with those first that somebody should look at: the end may be cut."""
        lines = [painted(plain_text(line), Tone.STRONG, colour=screen.colour) for line in self._summary()]
        rows = sorted(self.rows, key=lambda row: not row.is_bad)
        return "".join(f"{line}\n" for line in lines) + nodes_table(rows, screen).text(screen)

    def told(self) -> dict[str, Any]:
        """Return it for `--json`."""
        return {
            "name": self.listing.name,
            "status": self.listing.status,
            "nodes": [row.told() for row in self.rows],
            "summary": list(summary(self.listing, self.rows)),
            "not_asked": [told_problem(problem) for problem in self.unseen],
        }

    def _summary(self) -> list[str]:
        unseen = [f"Slurm is not in the table: {one.message}; {_remedy(one)}" for one in self.unseen]
        return summary(self.listing, self.rows) + unseen


def look(listing: Listing, ask: Callable[[Listing], SlurmView] | None) -> Sight:
    """Return all nodes, with Slurm's view of them where `ask` gets it; `None`: it is not wanted."""
    view: SlurmView | None = None
    unseen: Sequence[Problem] = ()
    if ask is not None and listing.has_slurm:
        try:
            view = ask(listing)
        except FleetError as error:
            unseen = tuple(error.problems)
    return Sight(listing=listing, rows=rows_of(listing, view), unseen=unseen)


def _remedy(unseen: Problem) -> str:
    """Return what to do, or how to do without."""
    return unseen.remedy if "--no-slurm" in unseen.remedy else f"{unseen.remedy}; --no-slurm leaves Slurm out"
