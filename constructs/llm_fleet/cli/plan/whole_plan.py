"""The whole plan: its sections, one after another."""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.plan.cost import cost_section, price_table
from llm_fleet.cli.plan.difference_section import difference_section
from llm_fleet.cli.plan.fleet_sections import (
    Section,
    lustre_section,
    machines_section,
    network_section,
    retained_section,
)
from llm_fleet.cli.plan.stack_templates import (
    DeployedStacks,
    account_of,
    has_credentials,
    synthesize,
    synthesized_stacks,
    without_flags,
)
from llm_fleet.cli.terminal.screen import Screen, print_json
from llm_fleet.cli.verb import ExitCode, refuse
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.needs.fleet_cost import cost_of
from llm_fleet.rules.feature_codes import PlanCode

_NOT_COMPARED = (
    "note: not compared with what is deployed: there are no credentials to ask AWS with; `aws sts get-caller-identity` "
    "tells who you are, and --no-aws asks for no comparison"
)


def whole_plan(arguments: argparse.Namespace) -> int:
    """Print the plan, as it comes to be known; as JSON at the end. Return the exit code.

    What the file alone tells is printed before anything that may fail: a synthesis, AWS.
    """
    fleet = load_fleet(arguments.file)
    if arguments.picture is not None:
        from llm_fleet.cli.plan.picture_layout import graphviz

        graphviz()  # before the synthesis, which takes its time
    screen = Screen.of_output()
    told: dict[str, object] = {"fleet": fleet.name, "file": str(arguments.file), "region": fleet.region}
    code = ExitCode.FINE
    for section in _sections(fleet, arguments):
        told[section.key] = section.data
        if section.key == "difference" and section.data["refused"] is not None:
            code = ExitCode.NOT_ASKED
        if not arguments.json:
            print(section.text(screen), end="")
            sys.stdout.flush()
    if arguments.json:
        print_json(told)
    return code


def _sections(fleet: Fleet, arguments: argparse.Namespace) -> Iterator[Section]:
    cost = cost_of(fleet, price_table(fleet, arguments))
    yield machines_section(fleet)
    yield network_section(fleet)
    lustre = lustre_section(fleet)
    if lustre is not None:
        yield lustre
    yield cost_section(cost)
    if arguments.no_synth and arguments.assembly is None:
        return
    clients = _clients(fleet, arguments)
    with ExitStack() as stack:
        assembly: Path | None = arguments.assembly
        if assembly is None:
            assembly = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="llm-fleet-plan-")), "cdk.out")
            synthesize(arguments.file, assembly, account=clients and account_of(clients))
        yield from _of_assembly(assembly, fleet, clients, arguments)


def _of_assembly(
    assembly: Path, fleet: Fleet, clients: AwsClients | None, arguments: argparse.Namespace
) -> Iterator[Section]:
    stacks = synthesized_stacks(assembly)
    yield retained_section(stacks)
    if arguments.picture is not None:
        yield _picture(assembly, arguments)
    if clients is not None:
        flags = None if arguments.assembly else without_flags(arguments.file)
        deployed = DeployedStacks(clients, [stack.name for stack in stacks], fleet=fleet.name)
        yield difference_section(stacks, deployed, without_flags=flags)
    elif not arguments.no_aws:
        print(_NOT_COMPARED, file=sys.stderr)


def _clients(fleet: Fleet, arguments: argparse.Namespace) -> AwsClients | None:
    """Return how AWS is asked; `None` where it is not to be."""
    asked = not arguments.no_aws and (arguments.deployed or has_credentials())
    return AwsClients(region=fleet.region) if asked else None


def _picture(assembly: Path, arguments: argparse.Namespace) -> Section:
    from llm_fleet.cli.plan.picture_drawing import picture_of
    from llm_fleet.cli.write_files import write_file

    write_file(arguments.picture, picture_of(assembly), force=arguments.force)
    return Section(key="picture", title="Picture", parts=[f"wrote {arguments.picture}"], data=str(arguments.picture))


def refuse_without_synth(arguments: argparse.Namespace) -> None:
    """Refuse what was asked for outright and only a synthesis knows (LF1085), where it was declined."""
    if not arguments.no_synth or arguments.assembly is not None:
        return
    asked = [word for word, wanted in (("--picture", arguments.picture), ("--deployed", arguments.deployed)) if wanted]
    if asked:
        refuse(
            PlanCode.NO_SYNTH,
            f"{' and '.join(asked)} needs the synthesized stacks",
            "leave --no-synth out, or name them with --assembly",
        )
