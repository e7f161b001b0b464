"""A throwaway node: a folder as its root, and a bundle that is published like that of the CDK library."""

import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from py_compile import PycInvalidationMode, compile
from typing import Any

from llm_fleet.lifecycle.node_manifest import NodeManifest, render
from llm_fleet.lifecycle.script_folder import ScriptFile, checksums, content_hash, default_folder, read_scripts, sha256
from llm_fleet.rules.terms import LifecycleHook, NodePlatform, NodeType, ParallelClusterHook
from llm_fleet.spec.cluster import NodeGroup

OWN_ADDRESSES = ("10.1.0.12", "10.1.0.77")
_FIB_TRIE = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
Local:
     |-- 10.1.0.0
        /24 link UNICAST
     |-- {0}
        /32 host LOCAL
     |-- {1}
        /32 host LOCAL
     |-- 10.1.0.255
        /32 link BROADCAST
     |-- 127.0.0.1
        /32 host LOCAL
"""


@dataclass
class Ended:
    """How a script ended."""

    code: int
    out: str
    err: str
    report: dict[str, Any]


PLATFORMS = {ParallelClusterHook: NodePlatform.PARALLELCLUSTER, LifecycleHook: NodePlatform.HYPERPOD}
NOTHING_TO_DO = {
    "nothing": """
from llm_fleet_node.step import EVERY_ROLE, Step

STEP = Step(
    name="nothing",
    summary="nothing is to be done",
    roles=EVERY_ROLE,
    apply=lambda node: None,
    verify=lambda node: None,
)
"""
}
_CACHE = "__pycache__"
_STEPS = "llm_fleet_node/steps/"
_OF_STEPS_ALONE = (
    *("metrics", "slurm", "training", "users", "mounts", "disks", "containers", "downloading", "devices", "neuron"),
    *("exporters", "package_managers", "watching"),
)
_NO_RUN_READS = (
    "llm_fleet_training/",
    "jobs/",
    "node_files/",
    *(f"llm_fleet_node/{name}/" for name in _OF_STEPS_ALONE),
)
"""Four fifths of the shipped files: they are for jobs, or only the replaced built-in steps import them.

Those steps have tests with the real folder, and the whole runs in `tests/lifecycle/test_from_synth_to_node.py`.
"""


@functools.cache
def _shipped() -> tuple[ScriptFile, ...]:
    """The files of every throwaway node, read once."""
    return tuple(
        file
        for file in read_scripts(default_folder())
        if not file.path.startswith(_NO_RUN_READS) and not _is_step(file.path, _STEPS)
    )


@functools.cache
def _compiled() -> tempfile.TemporaryDirectory[str]:
    """The package's modules as bytecode, compiled once: a run writes none, and would compile them each time.

    Each contains the digest of its source, so that a file that a test changes is compiled again.
    """
    folder = tempfile.TemporaryDirectory(prefix="llm-fleet-bytecode-")
    for file in _shipped():
        if file.path.endswith(".py") and not file.path.startswith(_STEPS):
            target = Path(folder.name) / cache_from_source(file.path)
            compile(str(default_folder() / file.path), str(target), invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    return folder


def _files(steps: dict[str, str], scripts: dict[str, bytes]) -> list[ScriptFile]:
    """The shipped files with other steps, and the fleet's own scripts."""
    added = {f"{_STEPS}{name}.py": text.encode() for name, text in steps.items()} | scripts
    made = [ScriptFile(path=path, data=data, executable=True) for path, data in added.items()]
    return sorted([*_shipped(), *made], key=lambda file: file.path)


def _is_step(path: str, folder: str) -> bool:
    return path.startswith(folder) and path != f"{folder}__init__.py"


class Node:
    """A node that runs the real scripts, as HyperPod would start them."""

    def __init__(self, root: Path) -> None:
        self.root = root / "root"
        self._bundle = root / "tmp" / "sagemaker-demo" / "bundle"
        self.config = self.root / "opt/ml/config"
        self.logs = self.root / "var/log/llm-fleet"
        self.config.mkdir(parents=True)
        (self.root / "proc/net").mkdir(parents=True)
        (self.root / "proc/net/fib_trie").write_text(_FIB_TRIE.format(*OWN_ADDRESSES))
        self._is_published = False

    @property
    def bundle(self) -> Path:
        """The bundle's folder; if the test has published none, it is published at the first use."""
        if not self._is_published:
            self.publish()
        return self._bundle

    def publish(
        self,
        hook: LifecycleHook | ParallelClusterHook = LifecycleHook.ON_INIT_COMPLETE,
        *,
        step_files: dict[str, str] | None = None,
        scripts: dict[str, bytes] | None = None,
        **changed: Any,
    ) -> None:
        """Write the bundle.

        `step_files` replace the shipped ones: text by name. `scripts` are the fleet's own files.
        `changed` overrides what is in fleet.json.
        """
        files = _files(NOTHING_TO_DO if step_files is None else step_files, scripts or {})
        manifest = NodeManifest(
            fleet_name="demo",
            region="us-west-2",
            cluster_name="train",
            platform=PLATFORMS[type(hook)],
            groups=[
                NodeGroup(name="head", role=NodeType.CONTROLLER, instance_types=["ml.m5.xlarge"], hook=hook),
                NodeGroup(name="entry", role=NodeType.LOGIN, instance_types=["ml.m5.xlarge"], hook=hook),
                NodeGroup(
                    name="trn",
                    role=NodeType.COMPUTE,
                    instance_types=["ml.trn1.32xlarge"],
                    partition="trn1",
                    hook=hook,
                ),
            ],
        )
        sums = checksums(files)
        named = content_hash(files, render(manifest, content_hash="", scripts_sha256=sha256(sums)))
        rendered = render(manifest, content_hash=named, scripts_sha256=sha256(sums)) | changed
        text = json.dumps(rendered, indent=2)
        self._is_published = True
        shutil.rmtree(self.bundle, ignore_errors=True)
        for folder in {os.path.dirname(file.path) for file in files}:
            (self.bundle / folder).mkdir(parents=True, exist_ok=True)
        for file in files:
            with open(f"{self.bundle}/{file.path}", "wb", buffering=0) as opened:  # without execute bits, as from S3
                opened.write(file.data)
        for cache in Path(_compiled().name).rglob(_CACHE):
            (self.bundle / cache.relative_to(_compiled().name)).symlink_to(cache)
        (self.bundle / "fleet.json").write_text(text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        (self.bundle / "SHA256SUMS").write_text(f"{sums}{digest}  fleet.json\n")

    def has(self, name: str, content: object) -> None:
        """Put a file of the platform on the node, as JSON or as text."""
        text = content if isinstance(content, str) else json.dumps(content)
        (self.config / name).write_text(text, encoding="utf-8")

    def is_of_type(self, product: str) -> None:
        """Give the node's firmware an instance type."""
        path = self.root / "sys/devices/virtual/dmi/id/product_name"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(product + "\n")

    def environment(self) -> dict[str, str]:
        """Environment variables that point the scripts to this node and shorten their deadlines."""
        return {
            "LLM_FLEET_ROOT": str(self.root),
            "LLM_FLEET_PYTHON": sys.executable,
            "LLM_FLEET_PLATFORM_DEADLINE": "0.1",
        }

    def start(self, script: str = "on_init_complete.sh", *arguments: str, **how: Any) -> subprocess.Popen[str]:
        """Start `script` as the platform does; `how` are arguments of Popen, `env` is added to the environment."""
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        env = inherited | self.environment() | how.pop("env", {})
        return subprocess.Popen(
            ["bash", str(self.bundle / script), *arguments], env=env, text=True, cwd=self.bundle, **how
        )

    def run(self, script: str = "on_init_complete.sh", *arguments: str, **environment: str) -> Ended:
        """Start `script` as the platform does and wait for its end."""
        pipe = subprocess.PIPE
        with self.start(script, *arguments, env=environment, stdout=pipe, stderr=pipe) as process:
            out, err = process.communicate(timeout=60)
        return Ended(process.returncode, out, err, self.report())

    def report(self) -> dict[str, Any]:
        """The report of the last run; empty if there is none."""
        report = self.logs / "report.json"
        return json.loads(report.read_text()) if report.exists() else {}


def resource_config(
    instances: dict[str, list[str] | None], *, cluster: str = "train", controller: str | None = "10.1.0.5"
) -> dict[str, Any]:
    """Return a resource_config.json with the addresses of each group's instances; `None` for `Instances: null`."""
    groups = [
        {
            "Name": name,
            "InstanceType": "ml.any.xlarge",
            "Instances": None
            if addresses is None
            else [
                {
                    "InstanceName": f"{name}-{number}",
                    "InstanceId": f"i-{name}{number}",
                    "AgentIpAddress": f"169.254.0.{number}",
                    "CustomerIpAddress": address,
                    "InstanceLabel": None,
                }
                for number, address in enumerate(addresses, start=1)
            ],
        }
        for name, addresses in instances.items()
    ]
    slurm: dict[str, Any] = {"PrimaryControllerIp": controller, "SecondaryControllerIps": []}
    return {
        "ClusterConfig": {
            "ClusterName": cluster,
            "ClusterArn": "arn:aws:sagemaker:us-west-2:111122223333:cluster/abcdefghijkl",
            "ClusterType": "Slurm",
            "SlurmConfig": slurm,
        },
        "InstanceGroups": groups,
    }
