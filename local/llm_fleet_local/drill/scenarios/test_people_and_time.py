"""Users of a real LDAP server with a real SSSD, and time of a real NTP server with a real chronyd and timesyncd.

Both servers run on nodes: slapd with TLS on the login node, chronyd on the controller. The directory comes up after the
nodes' scripts have begun, and is away for a while later. The worker's time service is chronyd, the login node's is
systemd-timesyncd. Not proven: Active Directory, and a clock that is set (nodes may not set the machine's).
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest
import yaml

from llm_fleet_local.drill.aws_emulator import AwsEmulator
from llm_fleet_local.drill.cluster import DrillCluster
from llm_fleet_local.drill.fleet import EXAMPLE
from llm_fleet_local.drill.nodes.node import Node
from llm_fleet_local.drill.scenarios.conftest import Deploy
from llm_fleet_local.drill.until import until

_NAME, _BASE, _PASSWORD = "ldap.corp.example", "dc=corp,dc=example", "of the reader"
_SERVER = f"""
cat >/etc/ldap/drill.conf <<'EOF'
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCertificateFile /etc/ldap/drill.crt
TLSCertificateKeyFile /etc/ldap/drill.key
database mdb
suffix "{_BASE}"
directory /var/lib/drill-ldap
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="cn=reader,{_BASE}" read by * none
EOF
mkdir -p /var/lib/drill-ldap
slapadd -f /etc/ldap/drill.conf <<'EOF'
dn: {_BASE}
objectClass: dcObject
objectClass: organization
dc: corp
o: Corp

dn: cn=reader,{_BASE}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: reader
userPassword: {_PASSWORD}

dn: uid=lin,{_BASE}
objectClass: inetOrgPerson
objectClass: posixAccount
uid: lin
cn: Lin
sn: Lin
uidNumber: 200017
gidNumber: 200017
homeDirectory: /home/elsewhere/lin
userPassword: of a person

dn: cn=people,{_BASE}
objectClass: posixGroup
cn: people
gidNumber: 200017
memberUid: lin
EOF
systemd-run --quiet --unit=drill-ldap slapd -d 0 -f /etc/ldap/drill.conf -h ldaps:///
"""
_SOON = """[domain/corp.example]
offline_timeout = 3
offline_timeout_max = 3
offline_timeout_random_offset = 0
"""
"""Options that shorten SSSD's wait before it checks the directory again, by default 60 to 90 s."""


@pytest.fixture(scope="module")
def people(aws: AwsEmulator, deploy: Deploy, tmp_path_factory: pytest.TempPathFactory) -> Generator[DrillCluster]:
    """A cluster with users of a directory, and with the time of its controller."""
    folder = tmp_path_factory.mktemp("directory")
    _make_certificate(folder)
    secret = aws.client("secretsmanager").create_secret(Name="drill-reader", SecretString=_PASSWORD)["ARN"]
    with deploy(1, fleet=_fleet(folder, secret), packages=()) as cluster:
        cluster.boot()
        head, way = cluster.controller, cluster.login
        _serve_time(head)
        for node in cluster.nodes.values():
            node.write("/etc/sssd/conf.d/drill.conf", _SOON, 0o600)
            node.run("sh", "-c", f"echo {way.address} {_NAME} >>/etc/hosts")
            if node is not head:
                line = f"server {head.address} iburst minpoll 0 maxpoll 1"
                node.run("sh", "-c", f"echo '{line}' >/etc/chrony/chrony.conf")
        starts = cluster.start_scripts()
        starts.wait_for_reports(seconds=3)
        assert not starts.codes, "no node waited for the directory"
        for name in ("crt", "key"):
            way.write(f"/etc/ldap/drill.{name}", (folder / f"drill.{name}").read_text())
        way.run("sh", "-ec", _SERVER)
        assert set(starts.wait(seconds=180).values()) == {0}, cluster.worker.run("tail", "-n40", _LOG).stdout
        yield cluster


_LOG = "/var/log/provision/provisioning.log"


def test_a_person_of_the_directory_works(people: DrillCluster) -> None:
    """The user has one uid on all nodes and a shared home, which the first login creates, and runs a job."""
    steps = {step["name"]: step for step in (people.report(people.workers[0].name) or {})["steps"]}
    assert steps["slurmd"]["started"] >= steps["directory"]["ended"], "jobs could start before people were known"
    for node in people.nodes.values():
        found = node.run("getent", "passwd", "lin").stdout.strip().split(":")
        assert found[2:4] == ["200017", "200017"]
        assert found[5] == "/home/lin", "the directory's own home would be another folder on each node"
    assert people.login.run("su", "-", "lin", "-c", "pwd; id -un").stdout.split() == ["/home/lin", "lin"]
    assert people.login.run("stat", "-c", "%a %U", "/home/lin").stdout.split() == ["700", "lin"]
    said = people.login.run("su", "-", "lin", "-c", "/opt/slurm/bin/srun -N1 id -u", timeout=60).stdout
    assert said.split() == ["200017"]


def test_a_second_run_changes_nothing(people: DrillCluster) -> None:
    name = people.workers[0].name
    assert people.run_scripts([name]) == {name: 0}
    (step,) = (one for one in (people.report(name) or {})["steps"] if one["name"] == "directory")
    assert (step["changes"], step["attempts"]) == ([], 1)


def test_the_directory_is_away_and_comes_back(people: DrillCluster, tmp_path: Path) -> None:
    """It accepts connections without answering: known users can work, nothing hangs, and the error names it."""
    node, way, log = people.worker, people.login, tmp_path / "look"
    way.run("systemctl", "kill", "--signal=STOP", "drill-ldap")
    try:
        look = node.start("bash", "-c", _by_hand(people, "--dry-run", "--only", "directory"), log=log)
        assert node.run("getent", "passwd", "stranger", check=False, timeout=40).returncode == 2
        assert "Online status: Offline" in _status(node)
        assert node.run("id", "-u", "lin").stdout.split() == ["200017"]
        said = way.run("su", "-", "lin", "-c", "/opt/slurm/bin/srun -N1 id -u", timeout=60).stdout
        assert said.split() == ["200017"]
        assert (look.wait(timeout=120), "no answer of corp.example" in log.read_text()) == (_NOT_SO, True)
    finally:
        way.run("systemctl", "kill", "--signal=CONT", "drill-ldap")
    until("SSSD asks the directory again", lambda: "Online status: Online" in _status(node), seconds=30)
    code, said = _script(people, node, "--dry-run", "--only", "directory")
    assert code == 0, said


def test_chronyd_reports_the_time(people: DrillCluster) -> None:
    """Its time is used if S3 does not answer. After a jump of the clock it is outdated, and S3's time is used."""
    node = people.worker
    assert people.controller.address in _tracking(node)
    assert "Leap status     : Normal" in _tracking(node)
    _is_reported(people, node)
    node.write("/etc/chrony/chrony.conf", "server 127.0.0.2\n")
    node.run("systemctl", "restart", "chrony")
    until("chronyd answers", lambda: "Not synchronised" in _tracking(node), seconds=20)  # codespell:ignore synchronised
    _is_not_reported(people, node)


def test_timesyncd_reports_the_time(people: DrillCluster) -> None:
    """It touches a file when synchronized, and no longer after a restart without an answering server."""
    node = people.login
    node.run("ln", "-sf", "/dev/null", "/etc/systemd/system/chrony.service")
    node.run("rm", "/etc/systemd/system/systemd-timesyncd.service")
    node.write("/etc/systemd/timesyncd.conf", f"[Time]\nNTP={people.controller.address}\n")
    node.run("systemctl", "daemon-reload")
    node.run("systemctl", "stop", "chrony")
    code, said = _script(people, node, "--only", "clock")
    assert code == 0, said
    assert "systemd-timesyncd" in said, "the step starts the service that the node has"
    until("timesyncd has an answer", lambda: node.run("test", "-e", _TOUCHED, check=False).returncode == 0, seconds=20)
    _is_reported(people, node)
    node.write("/etc/systemd/timesyncd.conf", "[Time]\nNTP=127.0.0.2\nFallbackNTP=\n")
    node.run("systemctl", "restart", "systemd-timesyncd")
    _is_not_reported(people, node)


def test_without_a_time_service_s3_reports_the_time(people: DrillCluster) -> None:
    node = people.worker
    node.run("ln", "-sf", "/dev/null", "/etc/systemd/system/chrony.service")
    node.run("systemctl", "daemon-reload")
    node.run("systemctl", "stop", "chrony")
    _is_not_reported(people, node)


_NOT_SO = 2
"""How a dry run ends when a step's check fails."""
_LOOK = ("--dry-run", "--only", "clock")
_TOUCHED = "/run/systemd/timesync/synchronized"
_ASKS = (
    "from pathlib import Path; from llm_fleet_node import host, time_source as t;"
    "print(t.time_service_offset(host.Host(Path('/'))))"
)


def _is_reported(people: DrillCluster, node: Node) -> None:
    """The node's time service is used, until the clock has jumped."""
    assert abs(float(_offset(people, node))) < 1
    code, said = _script(people, node, *_LOOK, env={"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"})
    assert code == 0, said
    assert _offset(people, node, env=_wrong_clock(node)) == "None"
    _s3_reports(people, node)


def _is_not_reported(people: DrillCluster, node: Node) -> None:
    """The node's time service gives no offset, and S3 does."""
    assert _offset(people, node) == "None"
    _s3_reports(people, node)


def _s3_reports(people: DrillCluster, node: Node) -> None:
    code, said = _script(people, node, *_LOOK)
    assert code == 0, said
    code, said = _script(people, node, *_LOOK, env=_wrong_clock(node))
    assert code == _NOT_SO
    assert re.search(r"the clock is 3\d\d\d s behind \(S3's Date", said), said


def _offset(people: DrillCluster, node: Node, env: Mapping[str, str] | None = None) -> str:
    """Return the offset that the node's code reads from the time service: seconds, or `None`."""
    return node.run("python3", "-c", _ASKS, env={**(env or {}), "PYTHONPATH": people.bundle.folder}).stdout.strip()


def _wrong_clock(node: Node) -> dict[str, str]:
    library = node.run("sh", "-c", "ls /usr/lib/*/faketime/libfaketimeMT.so.1").stdout.strip()
    return {"LD_PRELOAD": library, "FAKETIME": "-1h", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def _script(people: DrillCluster, node: Node, *options: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Run the node's script by hand; return its exit code and output."""
    done = node.run("bash", "-c", _by_hand(people, *options), env=env, check=False, timeout=120)
    return done.returncode, done.stdout


def _by_hand(people: DrillCluster, *options: str) -> str:
    return f"cd '{people.bundle.folder}' && exec bash on_create.sh {' '.join(options)} 2>&1"


def _tracking(node: Node) -> str:
    return node.run("chronyc", "-n", "tracking", check=False).stdout


def _status(node: Node) -> str:
    return node.run("sssctl", "domain-status", "corp.example", "--online").stdout


def _serve_time(node: Node) -> None:
    """Let the node's chronyd answer others, with the machine's own time."""
    node.write("/etc/chrony/chrony.conf", "local stratum 8\nallow all\n")
    node.run("systemctl", "start", "chrony")


def _fleet(folder: Path, secret: str) -> Path:
    """The drill's fleet with a directory in place of its own users."""
    fleet = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    cluster = fleet["clusters"]["train"]
    del cluster["users"], cluster["slurm_accounts"]
    cluster["downloads"]["lock"] = str(EXAMPLE.parent / cluster["downloads"]["lock"])
    cluster["directory"] = {
        "kind": "ldap",
        "domain": "corp.example",
        "uris": [f"ldaps://{_NAME}"],
        "base_dn": _BASE,
        "bind_dn": f"cn=reader,{_BASE}",
        "bind_secret": secret,
        "ca_certificate": "drill.crt",
        "test_user": "lin",
        "sssd_on_image": True,
    }
    file = folder / EXAMPLE.name
    file.write_text(yaml.safe_dump(fleet, sort_keys=False), encoding="utf-8")
    return file


def _make_certificate(folder: Path) -> None:
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "2", "-subj", f"/CN={_NAME}", "-addext", f"subjectAltName=DNS:{_NAME}"),
            *("-keyout", str(folder / "drill.key"), "-out", str(folder / "drill.crt")),
        ],
        check=True,
        capture_output=True,
    )
