"""Settings of a stand-in on this machine: its network interface, time scale and seconds per token.

The only settings that do not come from the task definition. They are variables of the environment that begin with
`LOCAL_SERVING_`, so that they differ from a container's own variables.

Source: emulation, settings of the stand-ins alone
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_PREFIX = "LOCAL_SERVING_"
_MACHINE = ("PATH", "HOME", "LANG", "TMPDIR")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountContext:
    """The environment of one container."""

    interface: Path
    """The task's network interface: a folder; a port that is listened at is a socket in it, named by its number."""
    time_scale: float = 1.0
    """Local seconds per second of the settings."""
    token_seconds: float = 0.02
    """Seconds per token. Not a measurement of an accelerator."""

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables that describe this environment to a stand-in."""
        return {
            f"{_PREFIX}INTERFACE": str(self.interface),
            f"{_PREFIX}TIME_SCALE": str(self.time_scale),
            f"{_PREFIX}TOKEN_SECONDS": str(self.token_seconds),
        }


def account_context() -> AccountContext:
    """Return this process's own."""
    return AccountContext(
        interface=Path(os.environ[f"{_PREFIX}INTERFACE"]),
        time_scale=float(os.environ[f"{_PREFIX}TIME_SCALE"]),
        token_seconds=float(os.environ[f"{_PREFIX}TOKEN_SECONDS"]),
    )


def container_environment() -> Mapping[str, str]:
    """Return the environment variables of the container definition."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in _MACHINE and not name.startswith((_PREFIX, "PYTHON", "LC_"))
    }
