"""The step clock, and the offset of the clock."""

import dataclasses
import os
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.host import Host
from llm_fleet_node.steps.clock import STEP
from llm_fleet_node.time_source import ACCURACY, clock_offset, endpoint, time_service_offset
from tests.lifecycle_scripts.base_steps.node_with_systemd import build
from tests.lifecycle_scripts.convergence import applied, converges
from tests.lifecycle_scripts.step_node import file, program, said

TRACKING = """Reference ID    : A9FEA97B (169.254.169.123)
Stratum         : 4
Ref time (UTC)  : {}
System time     : {} seconds {} of NTP time
Last offset     : +0.000001 seconds
Leap status     : {}
"""
CHRONYC = "assert a == ['-n', 'tracking'], a\nprint(open(root + '/tracking').read())"


class S3:
    """Answers like S3 to an unsigned request, with a date."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.says_date = True
        outer = self

        class Answers(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                assert self.path == "/"
                self.send_response_only(403)
                if outer.says_date:
                    self.send_header("Date", formatdate(time.time() + outer.ahead, usegmt=True))
                self.end_headers()

        self.server = HTTPServer(("127.0.0.1", 0), Answers)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    made = S3()
    monkeypatch.setenv("AWS_ENDPOINT_URL", made.url)
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def no_time_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")


def chrony(root: Path, offset: str, way: str = "slow", leap: str = "Normal", ago: float = 20) -> None:
    """Start a chronyd that got its last answer from a server `ago` seconds ago."""
    last = time.strftime("%a %b %d %H:%M:%S %Y", time.gmtime(time.time() - ago))
    file(root, "/tracking", TRACKING.format(last, offset, way, leap))
    program(root, "chronyc", CHRONYC)


@pytest.mark.usefixtures("no_time_source")
def test_chrony_offset_is_used(tmp_path: Path) -> None:
    node = build(tmp_path)
    chrony(tmp_path, "0.000012")
    assert applied(STEP, node) == []


@pytest.mark.usefixtures("no_time_source")
def test_timesyncd_status_is_used(tmp_path: Path) -> None:
    node = build(tmp_path)
    file(tmp_path, "/run/systemd/timesync/synchronized", "")
    program(tmp_path, "chronyc", "sys.exit('asked')")
    assert applied(STEP, node) == []


@pytest.mark.usefixtures("no_time_source")
@pytest.mark.parametrize(("way", "reported"), [("fast", "3600 s ahead"), ("slow", "3600 s behind")])
def test_a_wrong_clock_is_reported_in_seconds(tmp_path: Path, way: str, reported: str) -> None:
    node = build(tmp_path)
    chrony(tmp_path, "3600.2", way)
    with pytest.raises(Failure, match=rf"LFN44  the clock is {reported} \(the time service\); munge allows 300 s"):
        STEP.verify(node)


@pytest.mark.parametrize(
    ("offset", "is_right"), [("149.0", True), ("151.0", False)], ids=["half of munge's 300 s", "more"]
)
@pytest.mark.usefixtures("no_time_source")
def test_half_of_munges_tolerance_is_allowed_for_each_node(tmp_path: Path, offset: str, is_right: bool) -> None:
    node = build(tmp_path)
    chrony(tmp_path, offset)
    if is_right:
        STEP.verify(node)
    else:
        with pytest.raises(Failure, match="LFN44"):
            STEP.verify(node)


@pytest.mark.parametrize("ahead", [-3600.0, 3600.0])
def test_without_a_time_service_the_date_of_s3_is_used(tmp_path: Path, s3: S3, ahead: float) -> None:
    node = build(tmp_path)
    STEP.verify(node)
    s3.ahead = ahead
    way = "behind" if ahead > 0 else "ahead"
    with pytest.raises(Failure, match=rf"LFN44  the clock is 3(599|600|601) s {way} \(S3's Date, within 3 s\)"):
        STEP.verify(node)


def test_a_time_service_that_has_not_set_the_clock_yet_is_not_waited_for(tmp_path: Path, s3: S3) -> None:
    node = build(tmp_path)
    chrony(tmp_path, "0.0", leap="Not synchronised")  # codespell:ignore synchronised
    assert time_service_offset(Host(tmp_path)) is None
    s3.ahead = 3600
    with pytest.raises(Failure, match=r"LFN44  the clock is 3600 s behind \(S3's Date"):
        STEP.verify(node)


@pytest.mark.parametrize("ago", [-3600.0, 5000.0, 2e9], ids=["the clock went back", "old", "never"])
@pytest.mark.parametrize("service", ["chrony", "timesyncd"])
def test_an_outdated_answer_of_the_time_service_is_ignored(tmp_path: Path, s3: S3, service: str, ago: float) -> None:
    """The servers no longer answer, or the clock has jumped. Otherwise the outdated state would count forever."""
    node = build(tmp_path)
    if service == "chrony":
        chrony(tmp_path, "0.0", ago=min(ago, time.time()))
    else:
        file(tmp_path, "/run/systemd/timesync/synchronized", "")
        os.utime(tmp_path / "run/systemd/timesync/synchronized", times=(0, max(0, time.time() - ago)))
    assert time_service_offset(Host(tmp_path)) is None
    s3.ahead = 3600
    with pytest.raises(Failure, match=r"LFN44  the clock is 3(599|600|601) s behind \(S3's Date"):
        STEP.verify(node)


def test_the_offset_is_within_its_stated_accuracy(tmp_path: Path, s3: S3) -> None:
    for ahead in (-1000.0, 0.0, 1000.0):
        s3.ahead = ahead
        offset = clock_offset(build(tmp_path))
        assert offset is not None
        assert abs(offset + ahead) < ACCURACY


def test_an_answer_without_a_date_gives_no_offset(tmp_path: Path, s3: S3) -> None:
    s3.says_date = False
    assert clock_offset(build(tmp_path)) is None


@pytest.mark.usefixtures("no_time_source")
def test_a_clock_that_cannot_be_checked_is_logged(tmp_path: Path) -> None:
    node = build(tmp_path)
    applied(STEP, node)
    assert "the clock could not be checked" in said(node)


def test_the_endpoint_is_that_of_the_region(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    node = build(tmp_path)
    assert endpoint(node) == "https://s3.us-west-2.amazonaws.com"
    china = dataclasses.replace(node, manifest=dataclasses.replace(node.manifest, region="cn-north-1"))
    assert endpoint(china) == "https://s3.cn-north-1.amazonaws.com.cn"


def test_the_endpoint_of_the_sdks_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    node = build(tmp_path)
    file(tmp_path, "/root/.aws/config", "[profile x]\nendpoint_url = http://x\n")
    assert endpoint(node) == "https://s3.us-west-2.amazonaws.com"
    text = "[default]\nregion = us-west-2\n\nendpoint_url = http://10.1.0.1:5000\ns3 =\n  addressing_style = path\n"
    file(tmp_path, "/root/.aws/config", text)
    assert endpoint(node) == "http://10.1.0.1:5000"
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://env")
    assert endpoint(node) == "http://env"


def test_a_self_signed_certificate_is_accepted(tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a wrong clock no certificate is valid, so none is checked."""
    import ssl
    import subprocess

    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=other", "-days", "1"]
    subprocess.run([*made, "-keyout", tmp_path / "key", "-out", tmp_path / "crt"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    s3.server.socket = context.wrap_socket(s3.server.socket, server_side=True)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url.replace("http:", "https:"))
    s3.ahead = 500
    offset = clock_offset(build(tmp_path))
    assert offset is not None
    assert abs(offset + 500) < ACCURACY


def silent(root: Path, unit: str = "chrony.service"):
    node = build(root)
    file(root, f"/usr/lib/systemd/system/{unit}", "[Service]\n")
    program(root, "chronyc", "sys.exit('506 Cannot talk to daemon')")
    return node


@pytest.mark.usefixtures("no_time_source")
@pytest.mark.parametrize("unit", ["chrony.service", "chronyd.service", "systemd-timesyncd.service"])
def test_a_time_service_that_does_not_run_is_started(tmp_path: Path, unit: str) -> None:
    node = silent(tmp_path, unit)
    assert applied(STEP, node) == [f"enabled {unit}", f"started {unit}"]
    assert applied(STEP, node) == []


@pytest.mark.usefixtures("no_time_source")
def test_it_converges_after_a_kill_at_any_point(tmp_path: Path) -> None:
    assert converges(STEP, silent, tmp_path) == 2


@pytest.mark.usefixtures("no_time_source")
def test_a_masked_time_service_stays_masked(tmp_path: Path) -> None:
    node = silent(tmp_path)
    (tmp_path / "etc/systemd/system").mkdir(parents=True)
    (tmp_path / "etc/systemd/system/chrony.service").symlink_to("/dev/null")
    assert applied(STEP, node) == []


@pytest.mark.usefixtures("no_time_source")
def test_a_time_service_masked_under_its_alias_stays_masked(tmp_path: Path) -> None:
    """As Debian's package leaves it: `systemctl enable chronyd.service` fails, and so did the step, with LFN31."""
    node = silent(tmp_path)
    file(tmp_path, "/usr/lib/systemd/system/systemd-timesyncd.service", "[Service]\n")
    (tmp_path / "etc/systemd/system").mkdir(parents=True)
    alias = tmp_path / "etc/systemd/system/chronyd.service"
    alias.symlink_to("/usr/lib/systemd/system/chrony.service")
    masked = tmp_path / "etc/systemd/system/chrony.service"
    masked.symlink_to("/dev/null")
    started = ["enabled systemd-timesyncd.service", "started systemd-timesyncd.service"]
    assert applied(STEP, node) == started
