"""The program that stops an idle instance, with servers that emulate Jupyter's and AWS's APIs."""

import json
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

from notebook_instance import jupyter
from notebook_instance.__main__ import main
from notebook_instance.jupyter import Server, look, servers
from tests.lifecycle_scripts.notebook_instance.jupyter_server import JupyterServer, serving

REGION = "us-west-2"
TRUST = '{"Statement":[{"Effect":"Allow","Principal":{"Service":"sagemaker.amazonaws.com"},"Action":"sts:AssumeRole"}]}'


class Stopped:
    """Replaces boto3 and records the requests to AWS."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.reported: list[tuple[str, str]] = []
        self.refusal: Exception | None = None
        self.log_refusal: Exception | None = None


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An instance that has been up for ten hours, with a limit of one."""
    monkeypatch.setenv("LLM_FLEET_ROOT", str(tmp_path))
    (tmp_path / "etc/llm-fleet").mkdir(parents=True)
    (tmp_path / "etc/llm-fleet/notebook.json").write_text(json.dumps({"idle_minutes": 60}))
    _up(tmp_path, hours=10)
    (tmp_path / "opt/ml/metadata").mkdir(parents=True)
    arn = f"arn:aws:sagemaker:{REGION}:111122223333:notebook-instance/lab"
    (tmp_path / "opt/ml/metadata/resource-metadata.json").write_text(
        json.dumps({"ResourceName": "lab", "ResourceArn": arn})
    )
    return tmp_path


@pytest.fixture
def server(root: Path) -> Generator[JupyterServer]:
    """Its Jupyter server, which requires a token."""
    with serving(token="told-by-a-file") as made:
        made.note(runtime(root))
        yield made


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> Stopped:
    """Nothing, as yet."""
    found = Stopped()

    def stop(instance: Any, reason: str, now: datetime) -> None:
        if found.refusal:
            raise found.refusal
        found.names.append(instance.name)
        found.reported.append((instance.region, reason))

    monkeypatch.setattr("notebook_instance.__main__.stop", stop)
    return found


def runtime(root: Path) -> Path:
    return root / "home/ec2-user/.local/share/jupyter/runtime"


def _up(root: Path, *, hours: float) -> None:
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/uptime").write_text(f"{hours * 3600:.2f} 0.00\n")


def stamp(minutes: float) -> str:
    """A time in Jupyter's format."""
    return (datetime.now(UTC) - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def kernel(minutes: float, state: str = "idle") -> dict[str, Any]:
    return {"id": "1", "name": "conda_python3", "last_activity": stamp(minutes), "execution_state": state}


def test_an_idle_instance_stops_itself_and_says_why(server: JupyterServer, stopped: Stopped, capsys: Any):
    server.kernels = [kernel(61)]
    server.terminals = [{"name": "1", "last_activity": stamp(70)}]
    assert main() == 0
    assert stopped.names == ["lab"]
    assert stopped.reported == [(REGION, "kernel conda_python3 was active last, 61 minutes ago; the limit is 60")]
    assert capsys.readouterr().out.startswith("stopping: kernel conda_python3")
    assert server.tracked == 0, "a query does not count as activity"


@pytest.mark.parametrize(
    ("kernels", "terminals"),
    [
        ([(300, "busy")], []),
        ([(5, "idle")], []),
        ([(61, "idle"), (61, "busy")], []),
        ([(61, "starting")], [5]),
        ([], [59]),
    ],
)
def test_an_instance_in_use_keeps_running(
    server: JupyterServer, stopped: Stopped, kernels: list[tuple[int, str]], terminals: list[int]
):
    server.kernels = [kernel(minutes, state) for minutes, state in kernels]
    server.terminals = [{"name": "1", "last_activity": stamp(minutes)} for minutes in terminals]
    assert main() == 0
    assert stopped.names == []


def test_a_kernel_that_never_starts_keeps_nothing_running(server: JupyterServer, stopped: Stopped):
    server.kernels = [kernel(61, "starting")]
    assert main() == 0
    assert stopped.names == ["lab"]


def test_a_server_without_terminals_is_queried_only_for_kernels(server: JupyterServer, stopped: Stopped):
    server.terminals = None
    assert main() == 0
    assert stopped.names == ["lab"]


@pytest.mark.parametrize("broken", ["<html>", '{"message": "wait"}', '[{"name": "a"}]', "null", '["kernel"]'])
def test_invalid_answers_count_as_none_up_to_the_limit(
    server: JupyterServer, stopped: Stopped, root: Path, broken: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(jupyter, "servers", lambda runtime: servers(runtime)[:1])  # type: ignore[misc]
    assert main() == 0 and stopped.names == ["lab"]  # noqa: PT018 - it answered, and the state says so
    stopped.names.clear()
    server.broken = broken
    assert main() == 0
    assert stopped.names == [], "it answered just now"
    state = root / "run/llm-fleet/auto-stop.json"
    answered = datetime.now(UTC) - timedelta(minutes=61)
    state.write_text(json.dumps({"answered": answered.isoformat()}))
    assert main() == 0
    assert stopped.names == ["lab"]
    assert "does not answer" in stopped.reported[-1][1]


def test_a_server_that_never_answered_gets_the_limit_since_the_start(root: Path, stopped: Stopped):
    _up(root, hours=0.5)
    assert main() == 0
    assert stopped.names == []
    _up(root, hours=1.1)
    (root / "run").mkdir()
    assert main() == 0
    assert stopped.names == ["lab"]


def test_a_wrong_token_is_no_answer(server: JupyterServer, root: Path):
    server.token = "another"
    seen = look(runtime(root))
    assert seen.activities is None
    assert "403" in seen.why


def test_the_file_of_an_ended_server_is_ignored(server: JupyterServer, root: Path, stopped: Stopped):
    with serving() as gone:
        port = gone.port
    server.note(runtime(root), port=port, name="2")
    (runtime(root) / "jpserver-3.json").write_text("{")
    assert look(runtime(root)).activities == ()


def test_a_server_with_a_self_signed_certificate_below_a_base_url(root: Path, tmp_path: Path):
    with serving(base="/lab/", certificate=_certificate(tmp_path)) as made:
        made.note(runtime(root), secure=True)
        made.kernels = [kernel(5)]
        found = look(runtime(root)).activities
    assert [one.what for one in found or ()] == ["kernel conda_python3"]


def test_without_a_server_file_the_platforms_port_is_queried(root: Path):
    assert servers(runtime(root)) == [Server(port=8443, secure=True, token="")]
    assert Server().url("kernels") == "https://localhost:8443/api/kernels?no_track_activity=1"


def test_a_failed_stop_is_retried_at_the_next_check(server: JupyterServer, stopped: Stopped, capsys: Any):
    stopped.refusal = RuntimeError("AccessDenied")
    assert main() == 1
    assert "lab could not be stopped: RuntimeError: AccessDenied" in capsys.readouterr().err
    stopped.refusal = None
    assert main() == 0
    assert stopped.names == ["lab"]


@mock_aws
def test_the_reason_is_in_the_log_before_the_instance_stops(server: JupyterServer, monkeypatch: pytest.MonkeyPatch):
    import boto3

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    sagemaker, logs = boto3.client("sagemaker", region_name=REGION), boto3.client("logs", region_name=REGION)
    # Another test may have installed the AWS emulator's fixes: a role must exist, and a stopped instance cannot stop.
    iam = boto3.client("iam", region_name=REGION)
    role = iam.create_role(RoleName="lab", AssumeRolePolicyDocument=TRUST)["Role"]["Arn"]
    sagemaker.create_notebook_instance(NotebookInstanceName="lab", InstanceType="ml.t3.medium", RoleArn=role)
    assert main() == 0, "without the log group it stops too"
    assert sagemaker.describe_notebook_instance(NotebookInstanceName="lab")["NotebookInstanceStatus"] == "Stopped"
    logs.create_log_group(logGroupName="/aws/sagemaker/NotebookInstances")
    for _ in range(2):  # the second time the stream exists
        sagemaker.start_notebook_instance(NotebookInstanceName="lab")
        assert main() == 0
    (stream,) = logs.describe_log_streams(logGroupName="/aws/sagemaker/NotebookInstances")["logStreams"]
    assert stream["logStreamName"] == "lab/llm-fleet-auto-stop"
    events = logs.get_log_events(
        logGroupName="/aws/sagemaker/NotebookInstances", logStreamName=stream["logStreamName"]
    )["events"]
    assert [event["message"].split(",")[0] for event in events] == [
        "stopping: no kernel and no terminal was active since the start"
    ] * 2


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "notebook")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=2))
        .not_valid_after(now - timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    certificate, private = folder / "notebook.pem", folder / "notebook.key"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate, private
