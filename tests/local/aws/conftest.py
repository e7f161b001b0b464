"""The engine alone, with resources in memory."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from llm_fleet_local.aws.api.app import CloudFormationApp
from llm_fleet_local.aws.stacks.change_set_work import create_change_set, execute_change_set
from llm_fleet_local.aws.stacks.engine import CloudFormation
from llm_fleet_local.aws.stacks.nested import WithNestedStacks
from llm_fleet_local.aws.stacks.proposal import Proposal
from llm_fleet_local.aws.stacks.stack import Stack
from llm_fleet_local.aws.template.values import TemplateError
from tests.local.aws.engine.memory_provider import MemoryLookups, MemoryProvider

REGION = "us-west-2"


class Bench:
    """An engine and its provider, with methods to deploy a template."""

    def __init__(self) -> None:
        self.provider = MemoryProvider()
        self.lookups = MemoryLookups()
        self.engine = CloudFormation(partial(WithNestedStacks, self.provider), self.lookups, account="111122223333")
        self.api = CloudFormationApp(self.engine)

    def proposal(self, template: Mapping[str, Any], **parameters: str) -> Proposal:
        return Proposal(body=json.dumps(template), parameters=parameters)

    def create(self, name: str, template: Mapping[str, Any], **options: Any) -> Stack:
        stack = self.engine.create_stack(REGION, name, self.proposal(template), in_background=False, **options)
        self.provider.calls.append("---")
        return stack

    def update(self, stack: Stack, template: Mapping[str, Any], **options: Any) -> bool:
        changed = self.engine.update_stack(REGION, stack.name, self.proposal(template), in_background=False, **options)
        self.provider.calls.append("---")
        return changed

    def delete(self, stack: Stack) -> None:
        self.engine.delete_stack(REGION, stack.name, in_background=False)

    def plan(self, name: str, template: Mapping[str, Any], kind: str = "UPDATE", label: str = "plan") -> Any:
        return create_change_set(self.engine, REGION, name, label, self.proposal(template), kind=kind)[1]

    def rejection(self, template: Mapping[str, Any]) -> str:
        """Return the errors of a template; asserts that nothing was created."""
        with pytest.raises(TemplateError) as rejected:
            self.create("Rejected", template)
        assert self.provider.things == {}
        return str(rejected.value)

    def execute(self, name: str, label: str = "plan") -> Stack:
        execute_change_set(self.engine, REGION, label, name)
        return self.engine.wait(self.engine.get(REGION, name))

    def since_last(self) -> list[str]:
        """Return the calls of the last operation to the provider."""
        calls = self.provider.calls[:-1] if self.provider.calls[-1] == "---" else self.provider.calls
        last = len(calls) - 1 - calls[::-1].index("---") if "---" in calls else -1
        return calls[last + 1 :]


@pytest.fixture
def bench() -> Bench:
    return Bench()
