"""Shows a row a node: how its last start went, with the failing step and its code."""

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.failure import refuse
from llm_fleet.cli.logs.asked import Asked
from llm_fleet.cli.logs.gather import gather
from llm_fleet.cli.logs.gathered import Gathered
from llm_fleet.cli.logs.log_place import LogPlace
from llm_fleet.cli.logs.show_runs import remedies, runs_table, summary
from llm_fleet.cli.place.place import Kind, Place
from llm_fleet.cli.terminal.json_text import print_json
from llm_fleet.cli.terminal.screen import Screen
from llm_fleet.cli.terminal.told_problem import told_problem
from llm_fleet.rules.day_two.logs_codes import LogsCode


def show_overview(place: Place, asked: Asked) -> int:
    """Print the rows; return 1 where one of them failed. Raises `FleetError`."""
    clients = AwsClients(region=place.region)
    gathered = gather(
        clients, log_place(clients, place), since=asked.since, wanted=asked.wants, whole=asked.node is not None
    )
    check_node(gathered, asked, place)
    unknown = sum(run.code is None for run in gathered.runs)
    gathered.runs = [run for run in gathered.runs if asked.wants_run(run)]
    if asked.as_json:
        told = {"cluster": place.name, "runs": [run.as_json() for run in gathered.runs], "remarks": gathered.remarks}
        print_json(told | {"problems": [told_problem(problem) for problem in gathered.problems]})
    else:
        _print(gathered, asked, unknown)
    return gathered.exit_code(gathered.runs)


def log_place(clients: AwsClients, place: Place) -> LogPlace:
    """Return what there is to read of a cluster."""
    if place.kind is Kind.PARALLELCLUSTER:
        from llm_fleet.cli.logs.parallelcluster_place import parallelcluster_place

        return parallelcluster_place(clients, place.name)
    from llm_fleet.cli.logs.hyperpod_place import hyperpod_place

    return hyperpod_place(clients, place.name)


def check_node(gathered: Gathered, asked: Asked, place: Place) -> None:
    """Refuse a node of which nothing is known (LF1122)."""
    if gathered.runs or (asked.node is None and asked.group is None) or asked.since or gathered.problems:
        return
    refuse(
        LogsCode.NODE_UNKNOWN,
        "there is neither a log nor a report of it",
        "`llm-fleet logs` without --node and --group lists the nodes that there are and were",
        subject=str(place),
        value=asked.node or asked.group,
    )


def nothing_shown(gathered: Gathered, asked: Asked, unknown: int) -> str:
    """Return what no row means: none failed only where something is known of every node. `unknown` counts the rest."""
    if not (asked.failed or asked.code):
        return "nothing is known of any node's start" if gathered.problems else "no node has started yet"
    what = f"ended with {asked.code}" if asked.code else "failed"
    if gathered.problems:
        return f"no start is known to have {what}, and not all could be asked"
    if unknown:
        return f"no start is known to have {what}; of {unknown} {'node' if unknown == 1 else 'nodes'} nothing is known"
    return f"no node's start {what}"


def _print(gathered: Gathered, asked: Asked, unknown: int) -> None:
    screen = Screen.of_output()
    if gathered.runs:
        print(runs_table(gathered.runs).text(screen), end="")
        print(f"\n{summary(gathered.runs)}")
        told = remedies(gathered.runs, screen)
        print(f"\n{told}" if told else "", end="")
    else:
        print(nothing_shown(gathered, asked, unknown))
    gathered.tell()
