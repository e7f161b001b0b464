"""How the starts of a cluster's nodes went, as far as it could be found out."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from llm_fleet.cli.exit_codes import ExitCode
from llm_fleet.cli.logs.node_run import NodeRun
from llm_fleet.cli.terminal.plain_text import plain_text
from llm_fleet.rules.problem import Problem


@dataclass(slots=True)
class Gathered:
    """What was found out, and what could not be."""

    runs: list[NodeRun] = field(default_factory=list[NodeRun])
    remarks: list[str] = field(default_factory=list[str])
    """For people: where something was read in place of something else, or is missing."""
    problems: list[Problem] = field(default_factory=list[Problem])
    """What AWS would not tell."""

    def exit_code(self, runs: Sequence[NodeRun]) -> ExitCode:
        """Return 1 where one of `runs` failed, 3 where AWS kept something."""
        if any(run.failed for run in runs):
            return ExitCode.PROBLEMS
        return ExitCode.NOT_ASKED if self.problems else ExitCode.FINE

    def tell(self) -> None:
        """Print remarks and problems on standard error."""
        for remark in self.remarks:
            print(f"note: {plain_text(remark)}", file=sys.stderr)
        for problem in self.problems:
            print(problem, file=sys.stderr)
