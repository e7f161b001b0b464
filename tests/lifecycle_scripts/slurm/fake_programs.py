"""Strict stand-ins of the programs that the Slurm steps call: an unexpected argument ends with 64.

They know one another's state by files below `<root>/fake`: `active/<unit>` while a unit runs, `journal/<unit>` for what
its daemon says, `job/<unit>` while systemd has not come to its start yet, `fail/<program or unit>` for what a program
says before it fails, `reload/<unit>` while systemd has an older version of the unit in mind, `calls` for the command
lines.

Each program is a file of few lines that imports this module: one is started hundreds of times, so this is compiled
once, and neither `pathlib` nor, but where it is needed, `re` is imported.
"""

import os
import sys

ROOT = os.environ["FAKE_ROOT"]
FAKE = f"{ROOT}/fake"
ETC = f"{ROOT}/opt/slurm/etc" if os.path.exists(f"{ROOT}/opt/slurm/bin") else f"{ROOT}/etc/slurm"
PIDS = {"munge": 11, "mariadb": 12, "slurmdbd": 13, "slurmctld": 14, "slurmd": 15}
EVERY_RUN = [
    *("--lines=120", "--output=json", "--output-fields=MESSAGE,_SYSTEMD_INVOCATION_ID", "--no-pager"),
]
SHOWN = "--property=Id,ActiveState,FragmentPath,MainPID,NeedDaemonReload,InvocationID,Job,NRestarts"


def unexpected() -> int:
    print(f"{sys.argv} is not expected", file=sys.stderr)
    return 64


def read(name: str) -> str:
    return text(f"{FAKE}/{name}") if os.path.exists(f"{FAKE}/{name}") else ""


def text(path: str) -> str:
    with open(path) as file:
        return file.read()


def write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def runs(unit: str) -> bool:
    return os.path.exists(f"{FAKE}/active/{unit}")


def systemctl(arguments: list[str]) -> int:
    if arguments[:2] == ["show", SHOWN]:
        print("\n\n".join(block(name.removesuffix(".service")) for name in arguments[2:]))
        return 0
    if arguments[:2] == ["show", "--property=NeedDaemonReload"] and arguments[2:]:
        print("\n\n".join(f"NeedDaemonReload={'yes' if read(f'reload/{name}') else 'no'}" for name in arguments[2:]))
        return 0
    if arguments == ["daemon-reload"]:
        if os.path.exists(f"{FAKE}/reload"):
            for name in os.listdir(f"{FAKE}/reload"):
                os.unlink(f"{FAKE}/reload/{name}")
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
    there = [path for path in files if os.path.exists(ROOT + path)]
    pid = PIDS.get(name, 0) if runs(name) else 0
    state = "active" if runs(name) else "inactive"
    old = "yes" if read(f"reload/{name}") else "no"
    invocation = f"run-of-{name}" if read(f"journal/{name}") else ""
    return (
        f"Id={name}.service\nMainPID={pid}\nActiveState={state}\nFragmentPath={there[0] if there else ''}\n"
        f"NeedDaemonReload={old}\nInvocationID={invocation}\nNRestarts={read(f'restarts/{name}') or 0}"
        + ("\nJob=4711" if read(f"job/{name}") else "")
    )


def change(verb: str, unit: str) -> int:
    place = f"{FAKE}/active/{unit}"
    if (verb == "stop" or read(f"fail/{unit}")) and os.path.exists(place):
        os.unlink(place)
    if verb == "stop":
        return 0
    if read(f"fail/{unit}"):
        print(f"Job for {unit}.service failed.", file=sys.stderr)
        return 1
    write(place, "")
    began = int(float(text("/proc/uptime").split()[0]) * os.sysconf("SC_CLK_TCK"))
    write(f"{ROOT}/proc/{PIDS.get(unit, 19)}/stat", f"{PIDS.get(unit, 19)} ({unit}) S {'0 ' * 18}{began} 0 0\n")
    if unit == "slurmctld":
        configure()
    if unit == "slurmd" and not read("fail/registration"):
        os.makedirs(f"{ROOT}/run/slurm", exist_ok=True)
        if not os.path.islink(f"{ROOT}/run/slurm/conf"):
            os.symlink("/var/spool/slurmd/conf-cache", f"{ROOT}/run/slurm/conf")
    return 0


def configure() -> None:
    """The configuration that slurmctld has read: slurm.conf with its includes."""
    write(f"{FAKE}/running", "".join(f"{line}\n" for line in conf_lines("slurm.conf")))


def conf_lines(name: str) -> list[str]:
    found: list[str] = []
    for line in text(f"{ETC}/{name}").splitlines():
        words = line.split()
        if len(words) == 2 and words[0].lower() == "include":
            found += conf_lines(words[1])
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
        facts = read(f"node/{arguments[3]}")
        print(facts or f"Node {arguments[3]} not found")
        return 0 if facts else 1
    if arguments[:1] == ["update"]:
        reported = dict(argument.split("=", 1) for argument in arguments[1:])
        return update(reported) if set(reported) <= {"nodename", "state", "reason"} else unexpected()
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


def sinfo(arguments: list[str]) -> int:
    if arguments != ["--noheader"]:
        return unexpected()
    if read("fail/sinfo"):
        print("slurm_load_partitions: Unable to contact slurm controller (connect failure)", file=sys.stderr)
        return 1
    print("dev*  up  infinite  1  idle ip-10-1-0-12")
    return 0


def update(reported: dict[str, str]) -> int:
    import re

    node = f"{FAKE}/node/{reported['nodename']}"
    state = {"resume": "IDLE", "drain": "IDLE+DRAIN"}[reported["state"]]
    facts = re.sub(r" Reason=.*", "", re.sub(r"State=\S+", f"State={state}", text(node)))
    reason = f" Reason={reported['reason']} [root@2026-11-20T11:00:00]" if "reason" in reported else ""
    write(node, facts.rstrip() + reason)
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
    reported = sys.stdin.read()
    if arguments == ["--protocol=socket", "--user=root"]:
        import re

        (password,) = set(re.findall(r"'slurm'@'localhost' IDENTIFIED BY '([0-9a-f]{32})';", reported))
        wanted = (
            "CREATE DATABASE IF NOT EXISTS slurm_acct_db;",
            "GRANT ALL ON slurm_acct_db.* TO 'slurm'@'localhost';",
        )
        if not all(statement in reported for statement in wanted):
            return unexpected()
        write(f"{FAKE}/password", password)
        return 0
    if arguments == ["--defaults-file=/dev/stdin", "--execute=SELECT 1", "slurm_acct_db"]:
        right = read("password") and f"password={read('password')}\n" in reported
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
    if which.startswith("_SYSTEMD_UNIT=") and rest == EVERY_RUN:
        import json

        # Source: journalctl(1) and systemd.journal-fields(7); text that is not UTF-8 is an array of bytes.
        name = which.partition("=")[2].removesuffix(".service")
        for line in [*read(f"journals/{name}").splitlines(), f"run-of-{name} {read(f'journal/{name}')}"]:
            run, _, words = line.partition(" ")
            if words:
                print(json.dumps({"_SYSTEMD_INVOCATION_ID": run, "MESSAGE": list(words.encode())}))
        return 0
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
    print(read("fail/sbatch") or "sbatch: Job 1 to start immediately", file=sys.stderr)
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
    for program in (
        *(systemctl, scontrol, sacctmgr, mariadb, munge, unmunge, journalctl, slurmctld, sbatch, sinfo, aws),
    )
}


def main() -> int:
    name = os.path.basename(sys.argv[0])
    with open(f"{FAKE}/calls", "a") as file:
        file.write(f"{name} {' '.join(sys.argv[1:])}\n")
    return PROGRAMS[name](sys.argv[1:])
