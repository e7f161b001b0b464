"""What the machine gives a stand-in in place of a host: its network interface, and how fast time and tokens pass.

The only settings that do not come from the task definition. They are variables of the environment that begin with
`LOCAL_SERVING_`, so that no container's own can be taken for one.

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
    """One container's surroundings."""

    interface: Path
    """The task's network interface: a folder; a port that is listened at is a socket in it, named by its number."""
    time_scale: float = 1.0
    """How long a second of the settings takes here, in seconds."""
    token_seconds: float = 0.02
    """How long each token takes. No measure of any accelerator."""

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables that tell a stand-in of these surroundings."""
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
    """Return what the container's definition put into this process's environment."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in _MACHINE and not name.startswith((_PREFIX, "PYTHON", "LC_"))
    }
