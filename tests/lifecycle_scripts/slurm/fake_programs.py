"""Strict stand-ins for the programs that the Slurm steps call: an argument that they do not expect ends with 64.

They know one another's state by files below `<root>/fake`: `active/<unit>` while a unit runs, `journal/<unit>` for what
its daemon says, `job/<unit>` while systemd has not come to its start yet, `fail/<program or unit>` for what a program
says before it fails, `reload/<unit>` while systemd has an older version of the unit in mind, `calls` for the command
lines.
"""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAKE = ROOT / "fake"
ETC = ROOT / "opt/slurm/etc" if (ROOT / "opt/slurm/bin").exists() else ROOT / "etc/slurm"
PIDS = {"munge": 11, "mariadb": 12, "slurmdbd": 13, "slurmctld": 14, "slurmd": 15}
SHOWN = "--property=Id,ActiveState,FragmentPath,MainPID,NeedDaemonReload,InvocationID,Job"


def unexpected() -> int:
    print(f"{sys.argv} is not expected", file=sys.stderr)
    return 64


def read(name: str) -> str:
    path = FAKE / name
    return path.read_text() if path.exists() else ""


def runs(unit: str) -> bool:
    return (FAKE / "active" / unit).exists()


def systemctl(arguments: list[str]) -> int:
    if arguments[:2] == ["show", SHOWN]:
        print("\n\n".join(block(name.removesuffix(".service")) for name in arguments[2:]))
        return 0
    if arguments[:2] == ["show", "--property=NeedDaemonReload"] and arguments[2:]:
        print("\n\n".join(f"NeedDaemonReload={'yes' if read(f'reload/{name}') else 'no'}" for name in arguments[2:]))
        return 0
    if arguments == ["daemon-reload"]:
        for path in (FAKE / "reload").glob("*"):
            path.unlink()
        return 0
    if arguments[:2] == ["is-active", "--quiet"] and len(arguments) == 3:
        return 0 if runs(arguments[2]) else 3
    verb, *rest = arguments
    names = [name for name in rest if name != "--no-block"]
    if verb not in ("start", "restart", "stop") or not names:
        return unexpected()
    return max(change(verb, name.removesuffix(".service")) for name in names)


def block(name: str) -> str:
    files = [f"/{folder}/system/{name}.service" for folder in ("etc/systemd", "usr/lib/systemd")]
    there = [path for path in files if (ROOT / path[1:]).exists()]
    pid = PIDS.get(name, 0) if runs(name) else 0
    state = "active" if runs(name) else "inactive"
    old = "yes" if read(f"reload/{name}") else "no"
    invocation = f"run-of-{name}" if read(f"journal/{name}") else ""
    return (
        f"Id={name}.service\nMainPID={pid}\nActiveState={state}\nFragmentPath={there[0] if there else ''}\n"
        f"NeedDaemonReload={old}\nInvocationID={invocation}" + ("\nJob=4711" if read(f"job/{name}") else "")
    )


def change(verb: str, unit: str) -> int:
    place = FAKE / "active" / unit
    place.parent.mkdir(parents=True, exist_ok=True)
    if verb == "stop":
        place.unlink(missing_ok=True)
        return 0
    if read(f"fail/{unit}"):
        place.unlink(missing_ok=True)
        print(f"Job for {unit}.service failed.", file=sys.stderr)
        return 1
    place.touch()
    began = int(float(Path("/proc/uptime").read_text().split()[0]) * os.sysconf("SC_CLK_TCK"))
    stat = ROOT / f"proc/{PIDS.get(unit, 19)}/stat"
    stat.parent.mkdir(parents=True, exist_ok=True)
    stat.write_text(f"{PIDS.get(unit, 19)} ({unit}) S {'0 ' * 18}{began} 0 0\n")
    if unit == "slurmctld":
        configure()
    if unit == "slurmd" and not read("fail/registration"):
        sent = ROOT / "run/slurm/conf"
        sent.parent.mkdir(parents=True, exist_ok=True)
        if not sent.is_symlink():
            sent.symlink_to("/var/spool/slurmd/conf-cache")
    return 0


def configure() -> None:
    """What slurmctld has read: slurm.conf with its includes."""
    (FAKE / "running").write_text("".join(f"{line}\n" for line in conf_lines("slurm.conf")))


def conf_lines(name: str) -> list[str]:
    found: list[str] = []
    for line in (ETC / name).read_text().splitlines():
        include = re.fullmatch(r"\s*include\s+(\S+)", line, re.IGNORECASE)
        if include:
            found += conf_lines(include.group(1))
        elif line.strip() and not line.startswith("#"):
            found.append(line)
    return found


def scontrol(arguments: list[str]) -> int:
    if arguments == ["ping"]:
        print(f"Slurmctld(primary) at head is {'UP' if runs('slurmctld') else 'DOWN'}")
        return 0
    if arguments == ["show", "config"]:
        return show_config()
    if arguments == ["reconfigure"]:
        configure()
        return 0
    if arguments[:3] == ["--oneliner", "show", "node"] and len(arguments) == 4:
        text = read(f"node/{arguments[3]}")
        print(text or "Node not found")
        return 0 if text else 1
    if arguments[:1] == ["update"]:
        told = dict(argument.split("=", 1) for argument in arguments[1:])
        return update(told) if set(told) <= {"nodename", "state", "reason"} else unexpected()
    return unexpected()


def show_config() -> int:
    counts: dict[str, int] = {}
    for line in read("running").splitlines():
        key, _, value = line.partition("=")
        if key in ("Prolog", "Epilog"):
            number = counts.get(key, 0)
            counts[key] = number + 1
            key = f"{key}[{number}]"
        print(f"{key:<24}= {value}")
    return 0


def update(told: dict[str, str]) -> int:
    node = FAKE / "node" / told["nodename"]
    state = {"resume": "IDLE", "drain": "IDLE+DRAIN"}[told["state"]]
    text = re.sub(r" Reason=.*", "", re.sub(r"State=\S+", f"State={state}", node.read_text()))
    node.write_text(
        text.rstrip() + (f" Reason={told['reason']} [root@2026-11-20T11:00:00]" if "reason" in told else "")
    )
    return 0


def sacctmgr(arguments: list[str]) -> int:
    if arguments != ["--noheader", "--parsable2", "show", "cluster", "format=cluster"]:
        return unexpected()
    if not runs("slurmdbd") or read("fail/sacctmgr"):
        print("sacctmgr: error: slurm_persist_conn_open_without_init: Connection refused", file=sys.stderr)
        return 1
    print("train")
    return 0


def mariadb(arguments: list[str]) -> int:
    if not runs("mariadb"):
        print("ERROR 2002 (HY000): Can't connect to local server through socket", file=sys.stderr)
        return 1
    text = sys.stdin.read()
    if arguments == ["--protocol=socket", "--user=root"]:
        (password,) = set(re.findall(r"'slurm'@'localhost' IDENTIFIED BY '([0-9a-f]{32})';", text))
        wanted = (
            "CREATE DATABASE IF NOT EXISTS slurm_acct_db;",
            "GRANT ALL ON slurm_acct_db.* TO 'slurm'@'localhost';",
        )
        if not all(statement in text for statement in wanted):
            return unexpected()
        (FAKE / "password").write_text(password)
        return 0
    if arguments == ["--defaults-file=/dev/stdin", "--execute=SELECT 1", "slurm_acct_db"]:
        right = read("password") and f"password={read('password')}\n" in text
        if not right:
            print("ERROR 1045 (28000): Access denied for user 'slurm'@'localhost'", file=sys.stderr)
        return 0 if right else 1
    return unexpected()


def munge(arguments: list[str]) -> int:
    if arguments != ["--no-input"]:
        return unexpected()
    if not runs("munge"):
        print("munge: Error: Failed to access socket", file=sys.stderr)
        return 6
    print("MUNGE:credential:")
    return 0


def unmunge(arguments: list[str]) -> int:
    if arguments != ["--output=/dev/null"]:
        return unexpected()
    if read("fail/unmunge"):
        print(read("fail/unmunge"), file=sys.stderr)
        return 15
    return 0 if sys.stdin.read() == "MUNGE:credential:\n" else 1


def journalctl(arguments: list[str]) -> int:
    which, *rest = arguments
    if not which.startswith("_SYSTEMD_INVOCATION_ID=run-of-") or rest != ["--lines=40", "--output=cat", "--no-pager"]:
        return unexpected()
    print(read(f"journal/{which.rpartition('-')[2]}"), end="")
    return 0


def slurmctld(arguments: list[str]) -> int:
    if arguments != ["-V"]:
        return unexpected()
    print(f"slurm {read('version') or '24.11.5'}")
    return 0


def sbatch(arguments: list[str]) -> int:
    if arguments != ["--test-only", "--nodes=1", "--wrap=true"]:
        return unexpected()
    print(read("fail/sbatch") or "sbatch: Job 1 to start at once", file=sys.stderr)
    return 1 if read("fail/sbatch") else 0


def aws(arguments: list[str]) -> int:
    if arguments[:3] != ["secretsmanager", "get-secret-value", "--secret-id"] or arguments[4:] != [
        *("--query", "SecretString", "--output", "text", "--region", "us-west-2")
    ]:
        return unexpected()
    if read("fail/aws"):
        print(read("fail/aws"), file=sys.stderr)
        return 254
    print(read("secret"))
    return 0


PROGRAMS = {
    program.__name__: program
    for program in (*(systemctl, scontrol, sacctmgr, mariadb, munge, unmunge, journalctl, slurmctld, sbatch, aws),)
}

if __name__ == "__main__":
    name = Path(sys.argv[0]).name
    with (FAKE / "calls").open("a") as file:
        file.write(f"{name} {' '.join(sys.argv[1:])}\n")
    sys.exit(PROGRAMS[name](sys.argv[1:]))
