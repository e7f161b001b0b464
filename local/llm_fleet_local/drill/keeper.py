"""The background process that keeps a cluster running and answers requests of the command."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path

from llm_fleet_local.command.project import LocalError
from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.fleet import DrillFleet
from llm_fleet_local.drill.journal import Entry
from llm_fleet_local.drill.platforms.recovery import Recovery
from llm_fleet_local.drill.report.collect import collect, write
from llm_fleet_local.drill.report.text import summary
from llm_fleet_local.drill.session import errors_reported, open_cluster
from llm_fleet_local.drill.talk import Say, listen

READY, FAILED = "ready", "failed"


def place(work: Path) -> Path:
    """Return the path of the keeper's socket in the drill's folder `work`."""
    return work / "keeper.sock"


class Keeper:
    """Starts one cluster and keeps it until a request to end."""

    def __init__(self, drilled: DrillFleet, work: Path, *, backend: str) -> None:
        """The arguments of `open_cluster`."""
        self._place = place(work)
        self._open = lambda: open_cluster(drilled, work, backend=backend, listener=self._hear)
        self._error: LocalError | None = None
        self._entries: list[Entry] = []
        self._news = threading.Condition()
        self._end = threading.Event()
        self._cluster: DrillCluster | None = None

    def run(self) -> int:
        """Keep the cluster until a request to end; return the exit code."""
        server = listen(self._place, self._answer)
        threading.Thread(target=server.serve_forever, name="answers", daemon=True).start()
        try:
            with errors_reported(), self._open() as cluster:
                self._cluster = cluster
                self._bring_up(cluster)
                self._end.wait()
        except BaseException as error:
            self._error = _as_reported(error)
            self._hear(Entry(0, FAILED, "", str(error)))
            raise
        finally:
            self._place.unlink(missing_ok=True)
            server.shutdown()
        return 0

    def _bring_up(self, cluster: DrillCluster) -> None:
        """Start the cluster; errors are printed, and the nodes are kept for diagnosis."""
        try:
            cluster.boot()
            cluster.bring_up()
        except AssertionError as error:
            cluster.journal.note(FAILED, f"{error}\nthe nodes are kept")
            return
        cluster.journal.note(READY, "the cluster is up")
        with Recovery(cluster):
            self._end.wait()

    def _hear(self, entry: Entry) -> None:
        with self._news:
            self._entries.append(entry)
            self._news.notify_all()

    def _answer(self, words: Sequence[str], say: Say) -> int:
        verb, *arguments = words
        if verb == "follow":
            return self._follow(say)
        if verb == "down":
            self._end.set()
            return 0
        if self._cluster is None:
            raise LocalError("the cluster is not up yet", "run the command again later")
        return _VERBS[verb](self._cluster, arguments, say)

    def _follow(self, say: Say) -> int:
        """Send all journal entries from the beginning until the cluster is up or has failed."""
        sent = 0
        while True:
            with self._news:
                self._news.wait_for(lambda: len(self._entries) > sent)  # noqa: B023 - used before it changes
                fresh = self._entries[sent:]
            for entry in fresh:
                sent += 1
                if entry.what == FAILED and self._error is not None:
                    raise self._error
                say(f"{entry.node}: {entry.text}" if entry.node else entry.text)
                if entry.what in (READY, FAILED):
                    return int(entry.what == FAILED)


def _as_reported(error: BaseException) -> LocalError:
    if isinstance(error, LocalError):
        return error
    return LocalError(f"{type(error).__name__}: {error}", "read keeper.log in the drill's folder")


def _run(cluster: DrillCluster, names: list[str], say: Say) -> int:
    codes = cluster.run_scripts(names, check=False)
    for name, code in codes.items():
        changed = (cluster.report(name) or {}).get("changed")
        say(f"{name}: ended with {code}" + ("" if changed is None else f", {changed} changes"))
    return int(any(codes.values()))


def _check(cluster: DrillCluster, _: list[str], say: Say) -> int:
    for host, state in cluster.slurm.states().items():
        say(f"{cluster.host_names.get(host, host):<16} {host:<18} {state}")
    say(f"srun answered from {', '.join(cluster.srun_over_all())}")
    return 0


def _kill(cluster: DrillCluster, names: list[str], say: Say) -> int:
    for name in names:
        cluster.lose(name)
        say(f"{name} is lost; Slurm marks it down, and the platform replaces it: run `check` to see its state")
    return 0


def _reboot(cluster: DrillCluster, names: list[str], say: Say) -> int:
    for name in names:
        cluster.reboot(name)
        say(f"{name} was rebooted")
    return 0


def _replace(cluster: DrillCluster, names: list[str], say: Say) -> int:
    for name in names:
        cluster.replace(name)
        cluster.resume(name)
        say(f"{name} was replaced and is idle")
    return 0


def _enter(cluster: DrillCluster, words: list[str], say: Say) -> int:
    """Send, as JSON, the command line of this machine that runs a command (default: a shell) on the node."""
    node = cluster.node(words[0])
    say(json.dumps(node.on_terminal(*(words[1:] or ("bash", "--login")))))
    return 0


def _report(cluster: DrillCluster, _: list[str], say: Say) -> int:
    verdict = "healthy" if all(run.exit_code == 0 for run in cluster.script_runs) else "a script failed"
    run = collect(cluster, title=f"Drill of {cluster.view.name}", verdict=verdict)
    for line in summary(run):
        say(line)
    say(f"report: {write(run, cluster.journal.folder)}")
    return 0


_VERBS = {
    "run": _run,
    "check": _check,
    "kill": _kill,
    "reboot": _reboot,
    "replace": _replace,
    "enter": _enter,
    "report": _report,
}
