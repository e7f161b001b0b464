"""`llm-fleet update-plan` and `deployed-configuration`: what they are given, and what they do."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from llm_fleet.cli.verb import Verbs

if TYPE_CHECKING:
    pass


def add_to(verbs: Verbs) -> None:
    """Add the commands to the command line."""
    verb = verbs.add_parser("update-plan", help="tell what a deployment would do to a cluster of ParallelCluster")
    verb.add_argument("--deployed", required=True, type=Path, metavar="OLD", help="template or configuration in place")
    verb.add_argument("--planned", required=True, type=Path, metavar="NEW", help="the next one, e.g. in cdk.out")
    verb.add_argument("--cluster", metavar="NAME", help="which, of several in a template; its hash may be left out")
    verb.add_argument("--fleet-is-stopped", action="store_true", help="someone has stopped the compute fleet")
    verb.add_argument(
        "--immutable-changes", choices=("refuse", "new-cluster"), default="refuse", help="as in the fleet file"
    )
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(run=update_plan)

    verb = verbs.add_parser("deployed-configuration", help="get the template of a stack as it is deployed")
    verb.add_argument("--stack", required=True, metavar="NAME", help="name of the stack that the cluster is in")
    verb.add_argument("--region", help="AWS region (default: that of your AWS settings)")
    verb.add_argument("--none-yet-ok", action="store_true", help="an empty template where there is no such stack yet")
    verb.add_argument("-o", "--out", type=Path, metavar="OUT", help="file to write (default: standard output)")
    verb.add_argument("--force", action="store_true", help="write over OUT")
    verb.set_defaults(run=deployed_configuration)


def update_plan(arguments: argparse.Namespace) -> int:
    """Print the plan; raise `FleetError` with what would be refused."""
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
        print(plan_json(UpdatePlan(changes=())) if arguments.json else "it is not deployed yet\n", end="")
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
    arguments.json = False  # The plan is the one document; what would be refused goes to standard error.
    problems = check_plan(plan, old, new, immutable_changes=ImmutableChanges(arguments.immutable_changes))
    raise_problems(problems, subject=str(arguments.planned))
    return 0


def deployed_configuration(arguments: argparse.Namespace) -> int:
    """Write the template of a stack."""
    from llm_fleet.cli.clients import stack_template
    from llm_fleet.cli.write_files import write_file

    text = stack_template(arguments.stack, region=arguments.region, none_yet_ok=arguments.none_yet_ok)
    if arguments.out is None:
        print(text, end="")
    else:
        write_file(arguments.out, text, force=arguments.force)
        print(f"wrote {arguments.out}", file=sys.stderr)
    return 0
