"""Replaces each program that a batch file calls, under the same name, and records the calls.

`$RECORDS` is the folder where it does: a Python literal a line in `calls`. `behavior`, a literal too, says, by name,
what to print (`says`), what to end with (`codes`, one a call, the last for all later ones), what to write (`writes`,
text by path), and whether to wait first (`waits`): for USR1 when `$LISTENS` is its name, else for a file `go`. A step's
nodes are its job's, or `$STEP_NODELIST`. It refuses what the real one refuses, as far as batch files can get it wrong.

Each program is a file of few lines that imports this module, which so is compiled once. Hundreds are started: `json`,
`re`, `signal` and `subprocess` would each take as long to import as all the rest takes, so none of them is.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any
else:
    import _signal as signal

RECORDS = os.environ["RECORDS"]
KEPT = ("PYTHONPATH", "VIRTUAL_ENV", "PATH", "HF_TOKEN")
BEGINNINGS = ("LLM_FLEET_", "CONDA_", "NEURON_", "NEMO_", "XLA_", "FI_", "OMP_", "SLURM_")
SRUN = {
    "ntasks-per-node", "nodes", "ntasks", "export", "cpu-bind", "kill-on-bad-exit", "mpi", "gres",
    "container-image", "container-mounts", "container-env",
}  # fmt: skip
HEARD: list[int] = []


def main() -> int:
    name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
    listens = os.environ.get("LISTENS") == name
    if listens:
        signal.signal(signal.SIGUSR1, lambda number, frame: HEARD.append(number))
    count = note(name, words)
    behavior: dict[str, Any] = eval(read("behavior")).get(name, {})
    if name == "srun":
        return srun(words)
    if name == "neuron_parallel_compile":
        os.execvp(words[0], words)
    if name == "scontrol" and words[:2] == ["show", "hostnames"]:
        print("\n".join(os.environ["HOSTS"].split()))
        return 0
    deadline = time.monotonic() + 10
    while (
        behavior.get("waits")
        and not HEARD
        and (listens or not os.path.exists(f"{RECORDS}/go"))
        and time.monotonic() < deadline
    ):
        time.sleep(0.01)
    print("heard USR1\n" * len(HEARD), behavior.get("says", ""), sep="", end="")
    for place, text in behavior.get("writes", {}).items():
        with open(place, "w") as file:
            file.write(text)
    codes: list[int] = behavior.get("codes", [0])
    return codes[min(count, len(codes)) - 1]


def note(name: str, words: list[str]) -> int:
    """Return the number of calls so far."""
    environment = {key: value for key, value in os.environ.items() if key in KEPT or key.startswith(BEGINNINGS)}
    call = {"name": name, "words": words, "environment": environment, "folder": os.getcwd()}
    with open(f"{RECORDS}/calls", "a") as file:
        # The tasks of a step call at the same time: without the lock, one could read a partly written file of another.
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(f"{call!r}\n")
        file.flush()
        return sum(line.startswith(f"{{'name': {name!r},") for line in read("calls").splitlines())


def read(name: str) -> str:
    with open(f"{RECORDS}/{name}") as file:
        return file.read()


def srun(words: list[str]) -> int:
    options: dict[str, str] = {}
    while words and words[0].startswith("--"):
        option, _, value = words.pop(0)[2:].partition("=")
        if option not in SRUN and not (option == "auto-resume" and os.environ.get("HYPERPOD")):
            print(f"srun: unrecognized option '--{option}'", file=sys.stderr)
            return 1
        options[option] = value
    hosts = os.environ["HOSTS"].split()[: int(options.get("nodes", 99))]
    nodes = os.environ.get("STEP_NODELIST") or os.environ["SLURM_JOB_NODELIST"]
    tasks: list[int] = []

    def forward(number: int, frame: object) -> None:
        for task in tasks:
            os.kill(task, number)

    signal.signal(signal.SIGUSR1, forward)
    for number, host in enumerate(hosts):
        reported = {
            "SLURM_PROCID": str(number), "SLURM_NODEID": str(number), "SLURM_STEP_NUM_NODES": str(len(hosts)),
            "SLURM_STEP_NODELIST": nodes, "HOSTNAME": host,
        }  # fmt: skip
        tasks.append(os.spawnvpe(os.P_NOWAIT, words[0], words, os.environ | reported))  # pyright: ignore[reportDeprecated]
    return max(os.waitstatus_to_exitcode(os.waitpid(task, 0)[1]) for task in tasks)
