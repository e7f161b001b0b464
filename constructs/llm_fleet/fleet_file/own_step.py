"""A step of the user's own."""

from collections.abc import Sequence

from pydantic import Field

from llm_fleet.rules.terms import NodeType
from llm_fleet.spec.instance_group import SlurmRole
from llm_fleet.spec.model import NamedModel
from llm_fleet.spec.values import Seconds


class OwnStepConfig(NamedModel):
    """A script that nodes run as a step, with `apply` and then with `verify`. Its key is the step's name."""

    script: str = Field(examples=["tools.sh"])
    """Path of the script below `folder`."""
    own_roles: tuple[SlurmRole, ...] = Field(default=tuple(SlurmRole), alias="roles")
    """Roles of the nodes that take it. Default: all."""
    needs: tuple[str, ...] = ()
    """Steps that must be done before it, llm-fleet's or your own. Default: none."""
    timeout_seconds: Seconds = Field(default=300, alias="timeout")
    """How long an attempt, `apply` and `verify` together, may take. Default: `300 s`."""
    retries: int = 0
    """How often it is attempted anew after it failed. Default: never."""

    @property
    def roles(self) -> Sequence[NodeType]:
        """Its roles, in the API's words."""
        return tuple(role.node_type for role in self.own_roles)
