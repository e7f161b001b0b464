"""ParallelCluster's verdict of an update, queried in each state to find what the update requires."""

import re
from collections import Counter
from collections.abc import Iterable

from llm_fleet.rules.parallelcluster.update_changes import Verdict, normal
from llm_fleet.rules.parallelcluster.update_plan import LOST_DATA, PlannedChange
from llm_fleet_local.parallelcluster.answers import Change
from llm_fleet_local.parallelcluster.client import Oracle
from tests.rules.parallelcluster.update.configurations import Configuration

PASSES = "passes"
NEVER = "never"
FLEET = "stop the fleet"
LOGIN_NODES = "stop the login nodes"
_OURS = {
    Verdict.NEEDS_STOPPED_FLEET: FLEET,
    Verdict.NEEDS_STOPPED_LOGIN_NODES: LOGIN_NODES,
    Verdict.NEEDS_NEW_CLUSTER: NEVER,
    Verdict.NEEDS_NEW_NAME: NEVER,
}
Requirements = Counter[tuple[str, bool, bool, str, str]]


def ours(changes: Iterable[PlannedChange]) -> Requirements:
    """Return each change of our plan with what it requires."""
    return Counter(
        (_place(change.where), change.old is None, change.new is None, change.policy, _OURS.get(change.verdict, PASSES))
        for change in changes
        if change.policy != LOST_DATA  # ParallelCluster does not have this verdict; see test_plan.py.
    )


class ParallelClusterVerdict:
    """ParallelCluster's verdict of one update, with the fleet or login nodes stopped."""

    def __init__(self, oracle: Oracle, old: Configuration, new: Configuration) -> None:
        """Query the verdicts; configurations are passed as the provider receives them, with all scalars as text."""
        before, after = normal(old), normal(new)
        self._answers = {
            (fleet, login): oracle.update(before, after, fleet_stopped=fleet, login_nodes_stopped=login)
            for fleet in (False, True)
            for login in (False, True)
        }

    def requirements(self, *, stopped: bool, login_nodes: bool) -> Requirements:
        """Return each change with what it requires if the fleet is `stopped` or not, and login nodes run or not."""
        requested = ((stopped, not login_nodes), (True, not login_nodes), (stopped, True), (True, True))
        return Counter(_taken(rows) for rows in zip(*(self._answers[one] for one in requested), strict=True))


def _taken(rows: tuple[Change, ...]) -> tuple[str, bool, bool, str, str]:
    now, without_fleet, without_login, without_both = (row.verdict == "SUCCEEDED" for row in rows)
    takes = NEVER
    if now:
        takes = PASSES
    elif without_login and not without_fleet:
        takes = LOGIN_NODES
    elif without_both:
        takes = FLEET
    row = rows[0]
    # A missing section is reported as "-".
    return (_place(row.path), row.old in (None, "-"), row.new in (None, "-"), row.policy, takes)


def _place(path: str) -> str:
    """Return the path without the hook of arguments: ParallelCluster omits it if a sequence replaces a script."""
    return re.sub(r"/CustomActions/\w+/Args$", "/CustomActions/Args", path)
