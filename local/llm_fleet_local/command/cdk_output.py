"""Shows the output of the CDK CLI: all of it, or one line for each stack."""

import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from rich.console import Console

EVENT = re.compile(r"(?P<stack>\S+) \| +(?P<done>\d+)/(?P<all>\d+) \| [^|]+ \| (?P<status>\w+)")
ASSET = re.compile(r"\S+: (start|success): ")
FINISHED = re.compile(r"✅  (?P<stack>.+)")
SYNTHESIZED = re.compile(r"✨  Synthesis time: (?P<seconds>[\d.]+)s")


class Output(Protocol):
    """Runs a command of the CDK CLI and shows its output."""

    def options(self, console: Console) -> list[str]:
        """Return the options of each command."""
        ...

    def deploy_options(self, console: Console) -> list[str]:
        """Return more options of `cdk deploy`."""
        ...

    def run(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> int:
        """Return the exit status of `command`."""
        ...


class AllOutput:
    """Leaves the terminal to the CDK CLI."""

    def options(self, console: Console) -> list[str]:
        """Write to standard output if it is not a terminal."""
        return [] if console.is_terminal else ["--ci"]

    def deploy_options(self, console: Console) -> list[str]:
        """Print events if the output is not a terminal; otherwise the CLI draws a progress bar."""
        return [] if console.is_terminal else ["--progress", "events"]

    def run(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> int:
        """Return the exit status of `command`."""
        return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


class Progress:
    """Shows one line for each stack; after a failure, all output except the events of successful resources."""

    def __init__(self, console: Console) -> None:
        """Print to `console`. On a terminal, the line of the current stack is updated in place."""
        self._console = console

    def options(self, console: Console) -> list[str]:
        """Write everything to standard output."""
        return ["--ci"]

    def deploy_options(self, console: Console) -> list[str]:
        """Print events, from which the progress is read."""
        return ["--progress", "events"]

    def run(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> int:
        """Return the exit status of `command`."""
        held: list[str] = []
        with (
            self._console.status("synthesizing" if "deploy" in command else "") as status,
            subprocess.Popen(
                command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            ) as process,
        ):
            assert process.stdout is not None
            started, resources = time.monotonic(), ""
            for line in map(str.rstrip, process.stdout):
                if event := EVENT.match(line):
                    resources = f"{int(event['all']) - 1} resources, "  # The CDK CLI counts the stack, too.
                    status.update(f"{event['stack']}: {event['done']} of {resources}{time.monotonic() - started:.0f} s")
                    if not re.search("FAILED|ROLLBACK", event["status"]):
                        continue
                elif synthesized := SYNTHESIZED.search(line):
                    self._show(*held, f"synthesized in {float(synthesized['seconds']):.0f} s")  # with its warnings
                    held, started = [], time.monotonic()
                elif finished := FINISHED.search(line):
                    self._show(f"✅  {finished['stack'].rstrip('.')}: {resources}{time.monotonic() - started:.0f} s")
                    started, resources = time.monotonic(), ""
                if not ASSET.match(line):
                    held.append(line)
        if process.returncode:
            self._show(*held)
        return process.returncode

    def _show(self, *lines: str) -> None:
        for line in lines:
            if line:
                self._console.print(line, markup=False, highlight=False, soft_wrap=True)
