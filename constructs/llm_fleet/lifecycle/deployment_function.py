"""A function that runs while a stack is deployed. One of a kind a stack."""

from dataclasses import dataclass
from typing import ClassVar, Self

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.lifecycle.python_function import FunctionCode, PythonFunction


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentCode(FunctionCode):
    """What tells one such function from another."""

    id: str
    """Id of the construct in its stack."""
    runs_once: str
    """How often it runs while a stack is deployed, e.g. `once a model`."""


class DeploymentFunction(PythonFunction):
    """A function that answers CloudFormation itself. Subclasses say which code it runs, and what it may do."""

    code: ClassVar[DeploymentCode]

    def __init__(self, scope: Construct, id: str, *, log_encryption_key: kms.IKey | None = None) -> None:
        """Make the function, its role and its log group.

        `log_encryption_key`: default, CloudWatch's own encryption; a key must let CloudWatch Logs use it.
        """
        super().__init__(scope, id, code=self.code, log_encryption_key=log_encryption_key)
        acknowledge(
            self,
            f"runs only while the stack is deployed, {self.code.runs_once}, and answers CloudFormation itself",
            "NIST.800.53.R5-LambdaConcurrency",
            "NIST.800.53.R5-LambdaDLQ",
        )

    @classmethod
    def of(cls, scope: Construct, *, log_encryption_key: kms.IKey | None = None) -> Self:
        """Return the one of the stack that holds `scope`; the first caller makes it, with its own settings."""
        stack = cdk.Stack.of(scope)
        found = stack.node.try_find_child(cls.code.id)
        if isinstance(found, cls):
            return found
        return cls(stack, cls.code.id, log_encryption_key=log_encryption_key)
