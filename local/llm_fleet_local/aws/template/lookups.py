"""Values that the evaluation of a template reads from other services."""

from typing import Protocol


class Lookups(Protocol):
    """Values from outside the template. Each method raises `TemplateError` if the value is missing."""

    def ssm_parameter(self, region: str, name: str, version: str | None = None) -> str:
        """Return the value of a Systems Manager parameter, decrypted."""
        ...

    def secret(self, region: str, secret_id: str, stage: str | None, version_id: str | None) -> str:
        """Return the secret string of a Secrets Manager secret."""
        ...

    def availability_zones(self, region: str) -> list[str]:
        """Return the names of a region's availability zones."""
        ...

    def object_text(self, url: str, region: str) -> str:
        """Return the text of an object in the emulated S3, by its URL (for templates)."""
        ...
