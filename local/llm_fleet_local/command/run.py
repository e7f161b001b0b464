"""What the commands of `llm-fleet local` do."""

from pathlib import Path

from rich.console import Console

from llm_fleet.cli.screen import print_json
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet_local.aws.client import LocalAws
from llm_fleet_local.command import emulator_process
from llm_fleet_local.command.cdk_cli import CdkCli, CdkFailed
from llm_fleet_local.command.cdk_output import AllOutput, Progress
from llm_fleet_local.command.emulator_process import AwsEmulator
from llm_fleet_local.command.inventory import Inventory
from llm_fleet_local.command.next_steps import next_steps, variables
from llm_fleet_local.command.placeholder_models import PlaceholderModels
from llm_fleet_local.command.project import LocalError, Project
from llm_fleet_local.serving.run_until_stopped import serve


def up(directory: Path) -> int:
    """Start the emulator and print the variables with which the AWS CLI and SDKs use it."""
    console = Console()
    emulator = _found_or_started(Project.of(directory), console)
    console.print(variables(emulator.endpoint), markup=False, highlight=False, soft_wrap=True)
    return 0


def deploy(fleet_file: Path, *, verbose: bool) -> int:
    """Deploy the fleet file and list the resources. Raises `FleetError` with the errors of the file."""
    console = Console()
    fleet = load_fleet(fleet_file)
    project = Project.of(fleet_file.parent)
    emulator = _found_or_started(project, console)
    try:
        _deploy(project, fleet, fleet_file, emulator, console, verbose=verbose)
    except CdkFailed as failure:
        raise LocalError(str(failure), f"read the messages above, and the AWS emulator's log: {emulator.log}") from None
    inventory = Inventory(
        endpoint=emulator.endpoint, region=fleet.region, console=console, assembly=project.assembly, verbose=verbose
    )
    inventory.show()
    next_steps(console, fleet_file=fleet_file, endpoint=emulator.endpoint, region=fleet.region, look=_look(fleet))
    return 0


def _deploy(
    project: Project, fleet: Fleet, fleet_file: Path, emulator: AwsEmulator, console: Console, *, verbose: bool
) -> None:
    cli = CdkCli(
        project,
        endpoint=emulator.endpoint,
        region=fleet.region,
        fleet_file=fleet_file,
        console=console,
        output=AllOutput() if verbose else Progress(console),
    )
    client = LocalAws(endpoint=emulator.endpoint, region=fleet.region).client
    models = PlaceholderModels(fleet, client=client, console=console)
    cli.bootstrap()
    if models.need_storage_first:
        cli.deploy(f"{fleet.name}-storage")
    if fleet.services:
        console.rule("existing resources that the fleet needs", align="left")
        models.upload()
    cli.deploy("--all")


def status(directory: Path, *, as_json: bool) -> int:
    """Print the address of the emulator and its stacks. Raises `LocalError` if none is running."""
    console = Console()
    emulator = emulator_process.running(Project.of(directory))
    if emulator is None:
        raise LocalError(
            f"no AWS emulator is running for {Project.of(directory).folder}",
            "deploy with `llm-fleet local deploy`, or start one with `llm-fleet local up`",
        )
    stacks = LocalAws(endpoint=emulator.endpoint).stacks()
    if as_json:
        print_json({"endpoint": emulator.endpoint, "process": emulator.pid, "stacks": stacks})
        return 0
    console.print(variables(emulator.endpoint), markup=False, highlight=False, soft_wrap=True)
    for stack in stacks:
        line = f"{stack['name']}  {stack['region']}  {stack['status']}  {len(stack['resources'])} resources"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0


def destroy(fleet_file: Path, *, unprotect: bool) -> int:
    """Delete the stacks of the last deployment, as CloudFormation would: retained resources stay in the emulator."""
    fleet = load_fleet(fleet_file)
    project = Project.of(fleet_file.parent)
    emulator = emulator_process.running(project)
    if emulator is None or not project.assembly.is_dir():
        raise LocalError("nothing is deployed", "deploy with `llm-fleet local deploy`")
    report = LocalAws(endpoint=emulator.endpoint, region=fleet.region).destroy(project.assembly, unprotect=unprotect)
    if not report.succeeded:
        failed = [stack for stack in report.stacks if not stack.succeeded]
        reasons = [failure for stack in failed for failure in (stack.failures or [stack.status])]
        raise LocalError(
            f"not all stacks were deleted: {'; '.join(reasons)}",
            "remove what the message names and run the command again"
            if unprotect
            else "add --unprotect if termination protection is the reason",
        )
    print("deleted: " + ", ".join(stack.name for stack in report.stacks))
    return 0


def stop(directory: Path) -> int:
    """Stop the emulator."""
    print("AWS emulator stopped" if emulator_process.stop(Project.of(directory)) else "no AWS emulator is running")
    return 0


def _found_or_started(project: Project, console: Console) -> AwsEmulator:
    found = emulator_process.running(project)
    if found:
        console.print(f"AWS emulator found at {found.endpoint} (process {found.pid})")
        return found
    with console.status("starting the AWS emulator"):
        started = emulator_process.start(project)
    console.print(f"AWS emulator started at {started.endpoint} (process {started.pid})")
    return started


def _look(fleet: Fleet) -> str:
    """Return the AWS CLI command that shows most of `fleet`."""
    if any(cluster.kind == "hyperpod" for cluster in fleet.clusters.values()):
        return "sagemaker list-clusters"
    for service in fleet.services.values():
        name = service.name_in(fleet.name)
        return f"ecs describe-services --cluster {name} --services {name}"
    return "cloudformation describe-stacks --output table"


__all__ = ["LocalError", "deploy", "destroy", "serve", "status", "stop", "up"]
