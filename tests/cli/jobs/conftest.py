"""A fake cluster behind Session Manager: the `aws ssm start-session` on PATH runs the command on this machine.

It has the difficult properties of the plugin: CR LF, lines around the output, exit code 0, and sometimes `EOF`.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli import session as session_module
from llm_fleet.cli.jobs import submission
from llm_fleet.cli.session import Session, Target

_AWS = r"""#!/usr/bin/env python3
import json, os, re, subprocess, sys
folder = os.environ["FAKE_CLUSTER"]
words = sys.argv[1:]
options = dict(zip(words[2::2], words[3::2]))
assert words[:2] == ["ssm", "start-session"], words
assert set(options) == {"--region", "--target", "--document-name", "--parameters"}, options
assert options["--document-name"] == "AWS-StartNonInteractiveCommand"
assert re.fullmatch(r"sagemaker-cluster:[a-z0-9]{12}_[A-Za-z0-9-]+-i-[0-9a-f]+|i-[0-9a-f]+", options["--target"])
parameters = json.loads(options["--parameters"])
assert list(parameters) == ["command"] and len(parameters["command"]) == 1
assert os.isatty(0), "the plugin ends the session when its input is no terminal"
with open(f"{folder}/sessions", "a") as file:
    print(options["--target"], file=file)
number = len(open(f"{folder}/sessions").readlines())
trouble = json.load(open(f"{folder}/trouble.json")).get(str(number), "")
if trouble.startswith("An error"):
    sys.exit(trouble)
print(f"\r\nStarting session with SessionId: ada-{number}\r", flush=True)
ran = subprocess.Popen(["bash", "-c", parameters["command"][0]], stdout=subprocess.PIPE, text=True)
for count, line in enumerate(ran.stdout):
    if trouble.startswith("cut after") and count == int(trouble.split()[-1]):
        ran.kill()
        sys.exit("Cannot perform start session: EOF")
    print(line.rstrip("\n") + "\r", flush=True)
print(f"\r\n\r\nExiting session with sessionId: ada-{number}.\r", flush=True)
"""
_SUDO = """#!/usr/bin/env bash
while [[ $1 == --* ]]; do
  [[ $1 != --user=* ]] || echo "${1#--user=}" >>"$FAKE_CLUSTER/users"
  shift
done
sed "s#=/fsx/#=$FAKE_CLUSTER/fsx/#" | "$@" # the shared file system is below the test's folder
exit "${PIPESTATUS[1]}"
"""
_SBATCH = r"""#!/usr/bin/env python3
import json, os, sys
folder = os.environ["FAKE_CLUSTER"]
options = [word for word in sys.argv[1:] if word.startswith("--")]
(name,) = [word for word in sys.argv[1:] if not word.startswith("--")]
text = open(name).read()
if "--auto-resume" in " ".join(options):
    sys.exit("sbatch: unrecognized option '--auto-resume=1'")
if os.path.exists(f"{folder}/refuse-{name}"):
    sys.exit("sbatch: error: Batch job submission failed: Node count specification invalid")
if "--test-only" in options:
    sys.exit(0)
if os.path.exists(f"{folder}/refuse-late-{name}"):
    sys.exit("sbatch: error: Batch job submission failed: Job violates accounting/QOS policy")
jobs = json.load(open(f"{folder}/jobs.json"))
job = {"id": 100 + len(jobs), "options": options, "folder": os.getcwd(), "text": text, "state": "PENDING"}
json.dump([*jobs, job], open(f"{folder}/jobs.json", "w"))
print(job["id"])
"""
_SQUEUE = r"""#!/usr/bin/env python3
import json, os, sys
jobs = json.load(open(os.environ["FAKE_CLUSTER"] + "/jobs.json"))
wanted = [word.partition("=")[2] for word in sys.argv if word.startswith("--jobs=")]
for job in jobs:
    comment = [word.partition("=")[2] for word in job["options"] if word.startswith("--comment=")][0]
    if wanted:
        if str(job["id"]) in wanted and job["state"] in ("PENDING", "RUNNING"):
            print(job["state"])
    else:
        print(job["id"], comment)
"""
_SCANCEL = r"""#!/usr/bin/env python3
import json, os, sys
path = os.environ["FAKE_CLUSTER"] + "/jobs.json"
jobs = json.load(open(path))
for job in jobs:
    if str(job["id"]) in sys.argv[1:]:
        job["state"] = "CANCELLED"
json.dump(jobs, open(path, "w"))
"""
_SACCT = """#!/usr/bin/env bash
echo "COMPLETED|0:0"
"""
_PROGRAMS = {
    "aws": _AWS,
    "sudo": _SUDO,
    "sbatch": _SBATCH,
    "squeue": _SQUEUE,
    "scancel": _SCANCEL,
    "sacct": _SACCT,
    "session-manager-plugin": "#!/bin/sh\nexit 1\n",
}


@dataclass(frozen=True)
class FakeCluster:
    """State and results of the fake programs."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> "FakeCluster":
        """Write the programs to `folder/bin`."""
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        for name, text in _PROGRAMS.items():
            (bin_folder / name).write_text(text)
            (bin_folder / name).chmod(0o755)
        (folder / "jobs.json").write_text("[]")
        made = cls(folder)
        made.has_trouble({})
        return made

    def environment(self) -> dict[str, str]:
        """Environment variables for the programs."""
        return {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "FAKE_CLUSTER": str(self.folder)}

    def has_trouble(self, trouble: dict[int, str]) -> None:
        """Let the n-th session fail: `cut after LINES`, or the text of an error of AWS."""
        (self.folder / "trouble.json").write_text(json.dumps(trouble))

    def jobs(self) -> list[dict[str, Any]]:
        """The submitted jobs."""
        return json.loads((self.folder / "jobs.json").read_text())

    def sessions(self) -> list[str]:
        """Targets of all sessions that were started."""
        path = self.folder / "sessions"
        return path.read_text().split() if path.exists() else []


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """Put its programs on PATH, without pauses between attempts."""
    made = FakeCluster.make(tmp_path)
    for name, value in made.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(session_module, "_PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(submission, "_PAUSE", "0.1")
    return made


@pytest.fixture
def session(cluster: FakeCluster) -> Session:
    """A session with its login node."""
    ssm = "sagemaker-cluster:0123456789ab_login-i-0123456789abcdef0"
    return Session(Target(name="login i-0123456789abcdef0", ssm=ssm, region="us-west-2"), user="ada")
