"""Gets the stacks of a fleet as they are deployed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.aws.refusals import AwsRefusal, refusal
from llm_fleet.cli.plan.stack_template import StackTemplate
from llm_fleet.cli.terminal.progress import progress
from llm_fleet.named_files.cluster_template import template_of
from llm_fleet.rules.day_two.command_codes import CommandCode
from llm_fleet.rules.problem import Problem

_DESCRIBED = "(llm-fleet)"
"""How the description of each stack of a fleet ends."""
_NOT_RUNNING = ("DELETE_COMPLETE", "DELETE_IN_PROGRESS", "REVIEW_IN_PROGRESS")
"""States of stacks that have nothing, or soon have nothing.
Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html (2026-07)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftStack:
    """A stack of the fleet that is deployed, and that the fleet file no longer has."""

    name: str
    destroy: str
    """The command that deletes it."""


class DeployedStacks:
    """What CloudFormation says of the stacks of one fleet."""

    def __init__(self, clients: AwsClients, names: Sequence[str], *, fleet: str | None = None) -> None:
        """Ask for each of `names`; the first refusal ends the asking, since the next call would be refused too.

        `fleet`: the name of the fleet, whose other stacks are looked for; default, they are not.
        """
        self.found: dict[str, StackTemplate] = {}
        """By name; what is not deployed is not in it."""
        self.refused: Problem | None = None
        """Why nobody knows of the rest."""
        self.left: tuple[LeftStack, ...] = ()
        """Stacks of the fleet that are not in `names`, in the order in which they can be deleted."""
        self.not_listed: Problem | None = None
        """Why such stacks could not be looked for."""
        with progress("asking CloudFormation", total=len(names)) as step:
            for name in names:
                self._ask(clients, name)
                if self.refused is not None:
                    return
                step()
        if fleet is not None:
            self._look_for_others(clients, names, fleet)

    def _look_for_others(self, clients: AwsClients, names: Sequence[str], fleet: str) -> None:
        try:
            pages = clients.cloudformation.get_paginator("list_stacks").paginate()
            listed: list[Any] = [stack for page in pages for stack in page["StackSummaries"]]
        except Exception as error:
            self.not_listed = error.problems[0] if isinstance(error, AwsRefusal) else refusal(error)
            if self.not_listed is None:
                raise
            return
        mine = [
            stack
            for stack in listed
            if stack["StackStatus"] not in _NOT_RUNNING and stack.get("TemplateDescription", "").endswith(_DESCRIBED)
        ]
        running = {stack["StackName"] for stack in mine}
        # A stack can import only from stacks that are older than itself, or were updated for it: the newest goes first.
        mine.sort(key=lambda stack: stack["CreationTime"], reverse=True)
        self.left = tuple(
            LeftStack(
                name=name, destroy=f"aws cloudformation delete-stack --region {clients.region} --stack-name {name}"
            )
            for name in (stack["StackName"] for stack in mine)
            if name not in names and _fleet_of(name, running) == fleet
        )

    def _ask(self, clients: AwsClients, name: str) -> None:
        try:
            body: object = clients.cloudformation.get_template(StackName=name, TemplateStage="Original")["TemplateBody"]
        except Exception as error:
            problem = error.problems[0] if isinstance(error, AwsRefusal) else refusal(error)
            if problem is None:
                raise
            self.refused = None if problem.code is CommandCode.GONE else problem
            return
        template = template_of({"TemplateBody": body})
        parts = cast("Mapping[str, Mapping[str, Mapping[str, Any]]]", template or {})
        resources, outputs = parts.get("Resources", {}), parts.get("Outputs", {})
        self.found[name] = StackTemplate(name=name, region=None, resources=resources, paths={}, outputs=outputs)


def _fleet_of(stack: str, running: set[str]) -> str | None:
    """Return the name of the fleet that `stack` is of: the longest with which its name begins.

    Each fleet has a stack for its storage, which tells the fleets `train` and `train-two` apart.
    """
    words = stack.split("-")
    beginnings = ("-".join(words[:count]) for count in range(len(words) - 1, 0, -1))
    return next((name for name in beginnings if f"{name}-storage" in running), None)


def account_of(clients: AwsClients) -> str | None:
    """Return the account that is asked; `None` where the call is refused, as that for stacks will be."""
    try:
        return clients.sts.get_caller_identity()["Account"]
    except Exception as error:
        if not isinstance(error, AwsRefusal) and refusal(error) is None:
            raise
        return None


def has_credentials() -> bool:
    """Return whether there are credentials to ask with, by the environment or files; no metadata service is asked."""
    try:
        from botocore.session import Session

        session = Session()
        resolver: Any = session.get_component("credential_provider")
        resolver.remove("iam-role")
        return resolver.load_credentials() is not None
    except Exception:  # boto3 is not there, or a profile is not right: then nothing is asked unless the user wants it.
        return False
