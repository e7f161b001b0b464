"""Live progress on the terminal: events, and the current step of each node."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.journal import Entry
from llm_fleet_local.drill.nodes.node import Node, NodeError

_STATE = "var/lib/llm-fleet/state.json"
_QUIET = ("script-started", "script-ended")
"""Kinds of entries that are not printed: the table of nodes shows them."""
_MOST = 20
"""Maximum number of nodes that are shown individually."""


class LiveView:
    """Shows a run on the console: a line for each event and, below them, the current steps of the nodes."""

    def __init__(self, console: Console) -> None:
        """Print to `console`; without a terminal, only the lines of events are printed."""
        self._console = console
        self._started: float | None = None
        self._cluster: DrillCluster | None = None
        self._ended: dict[str, str] = {}
        self._live = Live(get_renderable=self._render, console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> LiveView:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def watch(self, cluster: DrillCluster) -> None:
        """Show the nodes of `cluster` from now on."""
        self._cluster = cluster

    def hear(self, entry: Entry) -> None:
        """Show one entry of the journal."""
        self._started = self._started or entry.at
        if entry.what == "script-started":
            self._ended.pop(entry.node, None)
        elif entry.what == "script-ended":
            self._ended[entry.node] = entry.text
        if entry.what not in _QUIET or "FAILED" in entry.text:
            style = "red" if "FAILED" in entry.text or entry.what == "lost" else ""
            who = f"{entry.node}: " if entry.node else ""
            line = f"{entry.at - self._started:6.1f} s  {who}{entry.text}"
            self._console.print(Text(line, style=style), soft_wrap=True, highlight=False)

    def _render(self) -> Group:
        if self._cluster is None or not self._cluster.nodes:
            return Group()
        table = Table.grid(padding=(0, 2))
        for name, node in list(self._cluster.nodes.items())[:_MOST]:
            table.add_row(Text(name, style="bold"), self._doing(name, node))
        return Group(table)

    def _doing(self, name: str, node: Node) -> Text:
        if not node.running:
            return Text("lost", style="red")
        if name in self._ended:
            return Text(self._ended[name], style="red" if "FAILED" in self._ended[name] else "green")
        steps = _steps(node)
        done = sum(step.get("state") == "done" for step in steps.values())
        now = ", ".join(step for step, state in steps.items() if state.get("state") == "running")
        return Text(f"{done} steps done   {now}" if steps else "")


def _steps(node: Node) -> dict[str, dict[str, Any]]:
    try:
        return json.loads((node.root / _STATE).read_text())["steps"]
    except (OSError, ValueError, KeyError, NodeError):
        return {}
