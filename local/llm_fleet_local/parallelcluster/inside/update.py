"""Checks the difference of two configurations against ParallelCluster's update policies, as an update does."""

from typing import Any

from pcluster.config.config_patch import ConfigPatch


class StandInCluster:
    """The state of the deployed cluster that update policies query."""

    def __init__(self, *, fleet_stopped: bool, login_nodes_stopped: bool | list[str]) -> None:
        self.name = self.stack_name = "any"
        self._fleet_stopped = fleet_stopped
        self._login_nodes_stopped = login_nodes_stopped

    def has_running_capacity(self, updated_value: bool = False) -> bool:
        """Return whether the compute fleet runs: any state but STOPPED."""
        return not self._fleet_stopped

    def has_running_login_nodes(self, updated_value: bool = False, pool_name: str | None = None) -> bool:
        """Return whether any login node runs, or any of one pool."""
        stopped = self._login_nodes_stopped
        return not stopped if isinstance(stopped, bool) else pool_name is None or pool_name not in stopped


def plan_update(
    old: dict[str, Any], new: dict[str, Any], *, fleet_stopped: bool, login_nodes_stopped: bool | list[str]
) -> list[dict[str, Any]]:
    """Return each change with its verdict: SUCCEEDED, ACTION NEEDED or FAILED.

    Also returns rows that ParallelCluster does not print, such as the one of QueueUpdateStrategy itself.
    """
    cluster = StandInCluster(fleet_stopped=fleet_stopped, login_nodes_stopped=login_nodes_stopped)
    patch = ConfigPatch(cluster, old, new)
    return [_row(change, patch) for change in patch.changes]


def _row(change: Any, patch: ConfigPatch) -> dict[str, Any]:
    verdict, reason, action, _ = change.update_policy.check(change, patch)
    return {
        "path": "/".join([*change.path, change.key]),
        "old": change.old_value,
        "new": change.new_value,
        "verdict": verdict.value,
        "reason": reason or "",
        "action_needed": action or "",
        "policy": change.update_policy.name,
    }
