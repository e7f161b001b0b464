"""`llm-fleet parallelcluster`: the plan of an update, and the template that is deployed."""

import argparse
import sys
from pathlib import Path

from llm_fleet.cli.verb import Verbs, add_verb


def add_to(verbs: Verbs) -> None:
    """Add the commands to the command line."""
    deployed = "parallelcluster deployed-configuration --stack llama-train -o deployed.json"
    plan = "parallelcluster update-plan --deployed deployed.json --planned cdk.out/llama-train.template.json"
    group = add_verb(
        verbs, "parallelcluster", help="plan the update of a ParallelCluster cluster", examples=(deployed, plan)
    )
    commands = group.add_subparsers(title="commands", metavar="COMMAND", required=True)

    verb = add_verb(
        commands,
        "update-plan",
        help="show what a deployment would change in a ParallelCluster cluster",
        examples=(plan, f"{plan} --cluster train --json"),
    )
    verb.add_argument(
        "--deployed", required=True, type=Path, metavar="OLD", help="template or configuration that is deployed"
    )
    verb.add_argument(
        "--planned",
        required=True,
        type=Path,
        metavar="NEW",
        help="template or configuration to deploy, e.g. in cdk.out",
    )
    verb.add_argument(
        "--cluster", metavar="NAME", help="name of the cluster, if the template has several; its hash may be left out"
    )
    verb.add_argument("--fleet-is-stopped", action="store_true", help="plan for a stopped compute fleet")
    verb.add_argument(
        "--immutable-changes",
        choices=("refuse", "new-cluster"),
        default="refuse",
        help="value of `immutable_changes` in the fleet file (default: refuse)",
    )
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(run=update_plan)

    verb = add_verb(
        commands,
        "deployed-configuration",
        help="get the deployed template of the stack of a ParallelCluster cluster",
        examples=(deployed, f"{deployed} --none-yet-ok --force"),
    )
    verb.add_argument("--stack", required=True, metavar="NAME", help="name of the cluster's CloudFormation stack")
    verb.add_argument("--region", help="AWS Region (default: that of your AWS settings)")
    verb.add_argument("--none-yet-ok", action="store_true", help="write an empty template if the stack does not exist")
    verb.add_argument("-o", "--out", type=Path, metavar="OUT", help="file to write (default: standard output)")
    verb.add_argument("--force", action="store_true", help="overwrite OUT")
    verb.set_defaults(run=deployed_configuration)


def update_plan(arguments: argparse.Namespace) -> int:
    """Print the plan. Raises `FleetError` with the changes that ParallelCluster would reject."""
    from llm_fleet.named_files.deployed_configuration import DeployedConfiguration, comparable
    from llm_fleet.rules.parallelcluster.update_check import check_plan, is_new_cluster
    from llm_fleet.rules.parallelcluster.update_plan import (
        UpdatePlan,
        new_cluster_text,
        plan_json,
        plan_text,
        plan_update,
    )
    from llm_fleet.rules.problem import raise_problems
    from llm_fleet.rules.terms import ImmutableChanges

    planned = DeployedConfiguration.from_file(arguments.planned, cluster=arguments.cluster)
    deployed = DeployedConfiguration.if_deployed(arguments.deployed, cluster=arguments.cluster)
    if deployed is None:
        print(plan_json(UpdatePlan(changes=())) if arguments.json else "the cluster is not deployed yet\n", end="")
        return 0
    old, new = comparable(deployed, planned)
    plan = plan_update(
        old.configuration,
        new.configuration,
        version_old=old.version,
        version_new=new.version,
        fleet_is_stopped=arguments.fleet_is_stopped,
    )
    another = is_new_cluster(old, new)
    if arguments.json:
        text = plan_json(plan, new_cluster=another)
    else:
        text = new_cluster_text(plan, old.cluster_name, new.cluster_name) if another else plan_text(plan)
    print(text, end="")
    arguments.json = False  # Only the plan is a document on standard output; problems go to standard error.
    problems = check_plan(plan, old, new, immutable_changes=ImmutableChanges(arguments.immutable_changes))
    raise_problems(problems, subject=str(arguments.planned))
    return 0


def deployed_configuration(arguments: argparse.Namespace) -> int:
    """Write the template to a file, or to standard output."""
    from llm_fleet.cli.clients import stack_template
    from llm_fleet.cli.write_files import write_file

    text = stack_template(arguments.stack, region=arguments.region, none_yet_ok=arguments.none_yet_ok)
    if arguments.out is None:
        print(text, end="")
    else:
        write_file(arguments.out, text, force=arguments.force)
        print(f"wrote {arguments.out}", file=sys.stderr)
    return 0
