"""The definition of a stack: a template with evaluated conditions, parameters and tags."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from llm_fleet_local.aws.template.document import EMPTY
from llm_fleet_local.aws.template.live import LiveTemplate
from llm_fleet_local.aws.template.parameters import Parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """Everything that determines the content of a stack."""

    live: LiveTemplate
    conditions: Mapping[str, bool] = field(default_factory=dict[str, bool])
    parameters: Mapping[str, Parameter] = field(default_factory=dict[str, Parameter])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    notification_arns: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    role_arn: str | None = None


NOTHING = Definition(live=LiveTemplate(template=EMPTY, resources={}, outputs={}, needs={}, order=()))
"""The definition of a stack that was never deployed."""
