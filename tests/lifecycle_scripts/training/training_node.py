"""A node of a training group, with a bundle and a shared folder; and tiny real wheels."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from llm_fleet_node.manifest_parts import (
    CompileCache,
    Download,
    Downloads,
    Environment,
    Fabric,
    Group,
    InstanceType,
    Mount,
    Package,
    Training,
    Variable,
)
from llm_fleet_node.node import Node
from tests.lifecycle_scripts import step_node

FOLDER = "/fsx/llm-fleet"
TRN1 = InstanceType("ml.trn1.32xlarge", "neuron", 16, 8)
M5 = InstanceType("ml.m5.xlarge", None, 0, 0)
WORKERS = Group("workers", "Compute", "OnInitComplete", "trn1", (TRN1,))
CONTROLLER = Group("controller", "Controller", "OnInitComplete", None, (M5,))
LOGIN = Group("login", "Login", "OnInitComplete", None, (M5,))
FSX = Mount("lustre", "fs-1.fsx.us-west-2.amazonaws.com", "abcdefgh", "/fsx", None, None)
FABRIC = Fabric("neuron-efa", ("workers",), 32, (Variable("FI_PROVIDER", "efa"), Variable("NEURON_RT_NUM_CORES", "32")))
VENV = Environment("cpu-1", "venv", ("workers",), "python3", (Package("tiny-train", "1.0"),), None)
CACHE = CompileCache(f"{FOLDER}/compile-cache", 30, 500)
TRAINING = Training(FOLDER, (VENV,), (FABRIC,), CACHE, None)
_STAND_INS = Path(__file__).parents[3] / "local/llm_fleet_local/drill/stand_ins/programs"
_TOOLS = ("bash", "cat", "grep", "head", "id", "mkdir", "tail", "tar", "bzip2")
BUNDLE = {"jobs/train.sbatch": "#!/bin/bash\n#SBATCH --requeue\n", "llm_fleet_training/__main__.py": "print('hello')\n"}


def make(root: Path, *, group: Group = WORKERS, training: Training | None = TRAINING, **manifest: Any) -> Node:
    """A node of `group` whose bundle has jobs and program, with its shared folder in `root`."""
    facts: dict[str, Any] = {"platform": "hyperpod", "region": "us-west-2", "mounts": (FSX,), **manifest}
    made = step_node.make(root, groups=(CONTROLLER, LOGIN, WORKERS), training=training, **facts)
    (root / "fsx").mkdir(parents=True, exist_ok=True)
    for path, text in BUNDLE.items():
        if not (root / "bundle" / path).exists():
            step_node.file(root, f"/bundle/{path}", text)
    return replace(
        made,
        identity=replace(made.identity, group=group, instance_type=group.instance_types[0].name),
        places=replace(made.places, bundle=root / "bundle"),
        hook=group.hook or "OnInitComplete",
    )


def with_environment(node: Node, *environments: Environment) -> Node:
    """The same node in a fleet with these environments."""
    assert node.manifest.training is not None
    training = replace(node.manifest.training, environments=environments)
    return replace(node, manifest=replace(node.manifest, training=training))


def with_files(node: Node, *files: Download) -> Node:
    """The same node in a fleet that pins these files."""
    return replace(node, manifest=replace(node.manifest, downloads=Downloads("vendor", None, files)))


def cached(node: Node, data: bytes, file_name: str, **facts: Any) -> Download:
    """A pinned file in the node's cache."""
    digest = hashlib.sha256(data).hexdigest()
    place = node.host.path(f"/var/cache/llm-fleet/downloads/{digest}/{file_name}")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    given: dict[str, Any] = {"version": "1.0", "kind": "wheel", "system": None, "requires": (), **facts}
    return Download(url=f"http://127.0.0.1:9/{file_name}", sha256=digest, size=len(data), **given)


def wheel(name: str, version: str = "1.0", *, source: str = "ANSWER = 42\n") -> bytes:
    """A minimal wheel in pure Python with one package, by the binary distribution format."""
    package = name.replace("-", "_")
    info = f"{package}-{version}.dist-info"
    files = {
        f"{package}/__init__.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {package}:main\n",
    }
    record = "".join(f"{path},sha256={_digest(text)},{len(text)}\n" for path, text in files.items())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return out.getvalue()


def use_drill_fake(root: Path, name: str) -> None:
    """The drill's stand-in `name` on the node, with its interpreter."""
    step_node.file(root, f"/usr/bin/{name}", (_STAND_INS / name).read_text(), 0o755)
    for tool in _TOOLS:
        found = shutil.which(tool)
        assert found
        if not (root / "usr/bin" / tool).exists():
            (root / "usr/bin" / tool).symlink_to(found)


def marker(node: Node, place: str) -> dict[str, Any]:
    """The content of the marker at `place`."""
    return json.loads(node.host.path(place).read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
