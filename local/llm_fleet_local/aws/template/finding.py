"""One error of a template, and the exception that holds all of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet_local.aws.template.values import TemplateError


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An error found before anything was created."""

    message: str
    path: str
    """The location, e.g. `/Resources/Cluster/Properties`."""
    logical_id: str = ""
    resource_type: str = ""

    def __str__(self) -> str:
        of_type = f" ({self.resource_type})" if self.resource_type else ""
        return f"{self.path}{of_type}: {self.message}"


class TemplateRejected(TemplateError):
    """The template is well-formed but cannot be deployed; `findings` has all errors."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        """Set one or more findings."""
        self.findings = tuple(findings)
        count = f"{len(self.findings)} problem{'s' if len(self.findings) != 1 else ''}"
        super().__init__("\n".join([f"Template validation error, {count}:", *(f"- {item}" for item in self.findings)]))
