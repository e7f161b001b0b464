"""Values for the secrets that containers get: made up here, never the real ones."""

import secrets
from collections.abc import Mapping

_BYTES = 32


class LocalSecrets:
    """One value a secret, however many containers and variables have it."""

    def __init__(self) -> None:
        """Begin with none."""
        self._values: dict[str, str] = {}

    def value(self, source: str) -> str:
        """Return the value of a secret: letters in lower case and digits."""
        return self._values.setdefault(source, secrets.token_hex(_BYTES))

    def variables(self, sources: Mapping[str, str]) -> dict[str, str]:
        """Return a container's secret variables with their values."""
        return {name: self.value(source) for name, source in sources.items()}
