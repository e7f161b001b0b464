"""The command `llm-fleet check`."""

import argparse
import sys

from llm_fleet.cli.check.question import Topic
from llm_fleet.cli.place import add_file, file_of
from llm_fleet.cli.verb import Verbs, add_verb


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    verb = add_verb(
        verbs,
        "check",
        help="check whether a fleet file can be deployed in your AWS account; changes nothing",
        examples=("check", "check -f fleet.yaml --only quotas --only capacity"),
    )
    add_file(verb, argument=True)
    verb.add_argument("--region", help="AWS Region to check (default: the fleet file's)")
    verb.add_argument(
        "--only",
        action="append",
        choices=[topic.value for topic in Topic],
        help="check only this topic; repeatable (default: all topics)",
    )
    verb.add_argument(
        "--hub",
        action="store_true",
        help="also query the Hugging Face Hub, with the token from the fleet's secret, which is never printed",
    )
    verb.add_argument("--json", action="store_true", help="print JSON, for CI")
    verb.set_defaults(run=check)


def check(arguments: argparse.Namespace) -> int:
    """Print the results of the checks. Returns 0: no problem, 1: problems, 3: some checks could not be made."""
    from llm_fleet.cli.check.preflight import as_data, as_text, ask_all, exit_code, questions_of
    from llm_fleet.cli.check.question import Account
    from llm_fleet.cli.clients import AwsClients
    from llm_fleet.cli.screen import Screen, print_json, progress
    from llm_fleet.fleet_file.load import load_fleet
    from llm_fleet.rules.problem import raise_problems
    from llm_fleet.rules.regions import check_region

    fleet = load_fleet(file_of(arguments))
    region = arguments.region or fleet.region
    raise_problems([problem.under("--region") for problem in check_region(region)], subject="the command line")
    topics = [Topic(name) for name in arguments.only or list(Topic)]
    account = Account(AwsClients(region=region))
    questions = questions_of(fleet, topics=topics, ask_hub=arguments.hub)
    with progress("checking your account") as step:
        outcomes = ask_all(account, questions, step)
    number = str(account.identity["Account"])
    if arguments.json:
        print_json(as_data(outcomes, fleet=fleet.name, region=region, account=number))
    else:
        where = f"{fleet.name} in {region}, account {number}"
        sys.stdout.write(as_text(outcomes, Screen.of_output(), where=where))
    return exit_code(outcomes)
