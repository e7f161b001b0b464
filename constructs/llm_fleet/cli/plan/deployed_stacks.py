"""Gets the stacks of a fleet as they are deployed."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.aws.refusals import AwsRefusal, refusal
from llm_fleet.cli.plan.stack_template import StackTemplate
from llm_fleet.cli.terminal.progress import progress
from llm_fleet.named_files.cluster_template import template_of
from llm_fleet.rules.day_two.command_codes import CommandCode
from llm_fleet.rules.problem import Problem


class DeployedStacks:
    """What CloudFormation says of the stacks of one fleet."""

    def __init__(self, clients: AwsClients, names: Sequence[str]) -> None:
        """Ask for each of `names`; the first refusal ends the asking, since the next call would be refused too."""
        self.found: dict[str, StackTemplate] = {}
        """By name; what is not deployed is not in it."""
        self.refused: Problem | None = None
        """Why nobody knows of the rest."""
        with progress("asking CloudFormation", total=len(names)) as step:
            for name in names:
                self._ask(clients, name)
                if self.refused is not None:
                    return
                step()

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
