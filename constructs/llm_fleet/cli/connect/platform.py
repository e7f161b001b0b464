"""What differs between the machines that people sit at."""

import subprocess
import sys
from enum import Enum
from shlex import join
from typing import Self


class Platform(Enum):
    """The operating system of this machine."""

    LINUX = "linux"
    MACOS = "darwin"
    WINDOWS = "win32"

    @classmethod
    def of_this_machine(cls) -> Self:
        """Return it; what is none of the three is taken for Linux."""
        return next((one for one in cls if sys.platform.startswith(str(one.value))), cls("linux"))

    def command_line(self, words: list[str]) -> str:
        """Return `words` as this platform's shell reads them: POSIX, or cmd.exe and PowerShell."""
        return subprocess.list2cmdline(words) if self is Platform.WINDOWS else join(words)
