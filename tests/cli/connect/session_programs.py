"""Fakes of `aws` and the plugin on PATH: sessions with prepared output, and a record of their calls."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_AWS = r"""#!/usr/bin/env python3
import json, os, subprocess, sys
folder = os.environ["FAKE_SESSIONS"]
with open(f"{folder}/calls", "a") as file:
    print(json.dumps(sys.argv[1:]), file=file)
number = len(open(f"{folder}/calls").readlines())
words = sys.argv[1:]
options = dict(zip(words[2::2], words[3::2]))
plan = json.load(open(f"{folder}/plan.json"))
said = plan[min(number, len(plan)) - 1]
if said.startswith("An error"):
    print(f"\n{said}", file=sys.stderr)
    sys.exit(254)
if options.get("--document-name") != "AWS-StartNonInteractiveCommand":
    print(f"# {said}", flush=True)
    if sys.stdin.isatty() and "typed" in said:
        try:
            print("heard " + input(), flush=True)
        except KeyboardInterrupt:
            print("Ctrl-C on the node", flush=True)
    sys.exit(7 if "seven" in said else 0)
if said == "EOF":
    sys.exit("Cannot perform start session: EOF")
command = json.loads(options["--parameters"])["command"][0]
print("\r\nStarting session with SessionId: ada-1\r", flush=True)
ran = subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, text=True)
for count, line in enumerate(ran.stdout):
    if said == "cut" and count == 3:
        ran.kill()
        sys.exit("Cannot perform start session: EOF")
    print(line.rstrip("\n") + "\r", flush=True)
print("\r\n\r\nExiting session with sessionId: ada-1.\r", flush=True)
"""
_SUDO = """#!/usr/bin/env bash
while [[ $1 == --* ]]; do
  echo "$1" >>"$FAKE_SESSIONS/sudo"
  shift
done
sed "s#PATH=/opt/slurm/bin:#PATH=$FAKE_SESSIONS/bin:#" | "$@"
exit "${PIPESTATUS[1]}"
"""
_SLURM = """#!/usr/bin/env bash
[[ ! -e $FAKE_SESSIONS/slurm-fails ]] || { echo "slurm_load_partitions: Unable to contact slurm controller"; exit 1; }
cat "$FAKE_SESSIONS/$(basename "$0")" 2>/dev/null || true
"""
_PLUGIN = "#!/bin/sh\nexit 1\n"


@dataclass(frozen=True)
class SessionPrograms:
    """The programs, and their recorded calls."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, *plan: str, without: Sequence[str] = ()) -> "SessionPrograms":
        """Write the programs to `folder/bin`. `plan`: the output of each session in turn; the last one is repeated."""
        programs = {"aws": _AWS, "session-manager-plugin": _PLUGIN, "sudo": _SUDO, "sinfo": _SLURM, "squeue": _SLURM}
        (folder / "bin").mkdir(parents=True)
        for name, text in programs.items():
            if name not in without:
                (folder / "bin" / name).write_text(text)
                (folder / "bin" / name).chmod(0o755)
        made = cls(folder)
        made.says(*(plan or ("a shell",)))
        return made

    def says(self, *plan: str) -> None:
        """Set the output of each session in turn, and clear the record of calls."""
        (self.folder / "plan.json").write_text(json.dumps(plan))
        (self.folder / "calls").unlink(missing_ok=True)

    def slurm_says(self, nodes: Sequence[str], jobs: Sequence[str] = ()) -> None:
        """Let sinfo and squeue print this."""
        (self.folder / "sinfo").write_text("".join(f"{line}\n" for line in nodes))
        (self.folder / "squeue").write_text("".join(f"{line}\n" for line in jobs))

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables for the programs."""
        return {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "FAKE_SESSIONS": str(self.folder)}

    @property
    def calls(self) -> list[list[str]]:
        """The words of each call of `aws`."""
        path = self.folder / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def option(self, name: str, call: int = -1) -> Any:
        """The value of an option of a call."""
        words = self.calls[call]
        return words[words.index(name) + 1]
