"""All stacks and their exports.

Source: model botocore cloudformation ListExports
"""

from dataclasses import dataclass
from threading import RLock

from llm_fleet_local.aws.stacks.stack import Stack


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A value that one stack exports to the others in its Region."""

    name: str
    value: str
    stack_id: str


class Registry:
    """Stacks by id, and by name within a Region. Thread-safe."""

    def __init__(self) -> None:
        """Start with no stack."""
        self.lock = RLock()
        """Held by the thread that decides whether an operation can start."""
        self._stacks: dict[str, Stack] = {}

    def add(self, stack: Stack) -> None:
        """Add a new stack."""
        self._stacks[stack.stack_id] = stack

    def everything(self) -> list[Stack]:
        """Return the stacks of all Regions, including deleted ones."""
        return list(self._stacks.values())

    def all(self, region: str) -> list[Stack]:
        """Return a Region's stacks, newest first, including deleted ones."""
        stacks = [stack for stack in self.everything() if stack.region == region]
        return sorted(stacks, key=lambda stack: stack.created, reverse=True)

    def living(self, region: str) -> list[Stack]:
        """Return a region's stacks that are not deleted."""
        return [stack for stack in self.all(region) if stack.status != "DELETE_COMPLETE"]

    def find(self, region: str, name_or_id: str) -> Stack | None:
        """Return a stack by its name if it is not deleted, or any stack by its id."""
        if name_or_id.startswith("arn:"):
            return self._stacks.get(name_or_id)
        return next((stack for stack in self.living(region) if stack.name == name_or_id), None)

    def exports(self, region: str) -> dict[str, Export]:
        """Return the exports of a Region's stacks, by export name."""
        return {
            output.export_name: Export(name=output.export_name, value=output.value, stack_id=stack.stack_id)
            for stack in self.living(region)
            for output in stack.outputs
            if output.export_name
        }

    def importers(self, region: str, export_name: str) -> list[str]:
        """Return the names of the stacks that use an export."""
        return sorted(stack.name for stack in self.living(region) if export_name in stack.imports)
