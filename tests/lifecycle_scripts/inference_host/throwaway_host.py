"""A throwaway host: a folder as its root, recorders instead of the vendors' commands, and answers of AWS."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

HERE = Path(__file__).parent
INSTANCE = "i-0123456789abcdef0"
ROLE = "chat-host"
SETTINGS: dict[str, Any] = {
    "service": "chat",
    "cluster": "chat",
    "region": "us-west-2",
    "url_suffix": "amazonaws.com",
    "instance_type": "inf2.xlarge",
    "driver": "2.28.0.0",
    "install_driver": True,
    "devices": 1,
    "log_group": "/llm-fleet/chat",
    "stack": "arn:aws:cloudformation:us-west-2:111122223333:stack/chat/1",
    "signal_resources": ["Group", "FirstHost"],
    "mount": {"bucket": "my-models", "prefix": "tanuki-8b", "path": "/var/lib/llm-fleet/model", "cache_gib": 20},
}


@dataclass
class Aws:
    """The host's requests to AWS, and the answers."""

    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list[tuple[dict[str, str], bytes]])
    answers: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    """Status and body by service, where it is not a plain 200."""
    place: str = ""

    def reported(self) -> list[dict[str, Any]]:
        """The lines in the log."""
        return [
            json.loads(event["message"])
            for headers, body in self.requests
            if headers.get("x-amz-target", "").endswith("PutLogEvents")
            for event in json.loads(body)["logEvents"]
        ]

    def signals(self) -> list[dict[str, str]]:
        """The signals to CloudFormation."""
        forms = [body for headers, body in self.requests if headers["host"].startswith("cloudformation.")]
        return [{name: values[0] for name, values in parse_qs(body.decode()).items()} for body in forms]


def serve(aws: Aws) -> ThreadingHTTPServer:
    """Return a server, not yet running, for the instance metadata and all AWS APIs."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_PUT(self) -> None:
            known = self.path == "/latest/api/token" and self.headers["X-aws-ec2-metadata-token-ttl-seconds"] == "300"
            self._answer(200 if known else 400, "TOKEN")

        def do_GET(self) -> None:
            if self.headers["X-aws-ec2-metadata-token"] != "TOKEN":
                return self._answer(401, "")
            keys = {"AccessKeyId": "AKID", "SecretAccessKey": "SECRET", "Token": "SESSION"}
            known = {
                "/latest/meta-data/instance-id": INSTANCE,
                "/latest/meta-data/iam/security-credentials/": ROLE,
                f"/latest/meta-data/iam/security-credentials/{ROLE}": json.dumps(keys),
            }
            return self._answer(200 if self.path in known else 404, known.get(self.path, ""))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            aws.requests.append((headers, body))
            self._answer(*aws.answers.get(headers["host"].split(".")[0], (200, "{}")))

        def _answer(self, status: int, body: str) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    aws.place = f"http://127.0.0.1:{server.server_port}"
    return server


class ThrowawayHost:
    """A host of the ECS-optimized Neuron AMI: driver 2.28.0.0, one device, no mount-s3."""

    def __init__(self, root: Path, aws: Aws) -> None:
        self.root = root
        self.aws = aws
        for folder in ("state/buckets", "dev", "proc/self", "etc/yum.repos.d", "etc/ecs", "sys/module", "run"):
            (root / folder).mkdir(parents=True)
        shutil.copytree(HERE / "recorders", root / "usr/bin")
        (root / "usr/bin/mount-s3").rename(root / "state/mount-s3")
        for recorder in [*(root / "usr/bin").iterdir(), root / "state/mount-s3"]:
            recorder.chmod(0o755)
        build = root / "lib/modules" / os.uname().release / "build"
        build.mkdir(parents=True)
        self.has("proc/self/mounts", "")
        self.has("state/available", "2.26.10.0\n2.28.0.0\n2.31.7.0\n")
        self.has("state/devices", "1")
        self.has("dev/console", "")
        self.boots_with("2.28.0.0")
        self.holds("my-models/tanuki-8b/config.json", "{}")

    def has(self, path: str, text: str) -> None:
        """Put a file on the host."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def text(self, path: str) -> str:
        """The text of a file of the host."""
        return (self.root / path).read_text()

    def boots_with(self, driver: str | None, *, devices: int = 1) -> None:
        """Set the AMI's loaded `driver` and its devices."""
        self.has("state/devices", str(devices))
        for path in (self.root / "dev").glob("neuron*"):
            path.unlink()
        if driver is None:
            (self.root / "state/packaged").unlink()
            shutil.rmtree(self.root / "sys/module/neuron", ignore_errors=True)
            return
        self.has("state/packaged", f"{driver}\n")
        self.has("sys/module/neuron/version", f"{driver}\n")
        for number in range(devices):
            self.has(f"dev/neuron{number}", "")

    def holds(self, key: str, text: str) -> None:
        """Put an object into S3."""
        self.has(f"state/buckets/{key}", text)

    def calls(self) -> list[str]:
        """The calls of the recorders, in order."""
        calls = self.root / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    @property
    def ready(self) -> bool:
        """Whether ecs.service may start."""
        return (self.root / "run/llm-fleet/host-ready").exists()

    def environment(self) -> dict[str, str]:
        """Environment variables that point a host's programs to this root."""
        return {
            "PATH": f"{self.root / 'usr/bin'}:{os.environ['PATH']}",
            "LLM_FLEET_ROOT": str(self.root),
            "LLM_FLEET_METADATA": self.aws.place,
            "LLM_FLEET_AWS": self.aws.place,
            "RECORDER_ROOT": str(self.root),
            "RECORDER_PYTHON": sys.executable,
            "RECORDER_SYSTEMCTL": str(HERE / "fake_systemctl.py"),
        }

    def run_user_data(self, user_data: str) -> subprocess.CompletedProcess[str]:
        """Run `user_data` as cloud-init does."""
        script = self.root / "user-data"
        script.write_text(user_data)
        script.chmod(0o755)
        return subprocess.run(
            [str(script)], env=self.environment(), capture_output=True, text=True, timeout=60, check=False
        )
