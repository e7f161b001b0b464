"""Results of a deployment."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class StackReport:
    """The result for one stack."""

    name: str
    region: str
    status: str
    changed: bool
    """False when there was nothing to do."""
    outputs: Mapping[str, str] = field(default_factory=dict[str, str])
    failures: tuple[str, ...] = ()
    """The failed resources with their reasons, in the order of time."""

    @property
    def succeeded(self) -> bool:
        """Whether the stack is in the requested state."""
        done = self.status in ("CREATE_COMPLETE", "UPDATE_COMPLETE", "DELETE_COMPLETE")
        # Also a stack that was rolled back to the requested template and therefore skipped.
        rolled_back_before = self.status == "UPDATE_ROLLBACK_COMPLETE" and not self.changed
        return not self.failures and (done or rolled_back_before)

    def __str__(self) -> str:
        what = self.status if self.changed else f"{self.status} (no changes)"
        lines = [f"{self.name}: {what}", *(f"  {key} = {value}" for key, value in self.outputs.items())]
        return "\n".join([*lines, *(f"  failed: {failure}" for failure in self.failures)])


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentReport:
    """The stacks of an assembly in the order of deployment. After a failure the others are not deployed."""

    stacks: tuple[StackReport, ...]

    @property
    def succeeded(self) -> bool:
        """Whether every stack is in the requested state."""
        return all(stack.succeeded for stack in self.stacks)

    @property
    def changed(self) -> bool:
        """Whether any stack was changed."""
        return any(stack.changed for stack in self.stacks)

    def outputs(self, stack_name: str) -> Mapping[str, str]:
        """Return one stack's outputs. Raises `KeyError`."""
        for stack in self.stacks:
            if stack.name == stack_name:
                return stack.outputs
        raise KeyError(stack_name)

    def __str__(self) -> str:
        return "\n".join(["in the AWS emulator:", *map(str, self.stacks)])
