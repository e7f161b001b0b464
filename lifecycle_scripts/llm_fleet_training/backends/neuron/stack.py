"""Checks that this Python has the Neuron stack that the backend needs: PyTorch/XLA with NxD Core.

torch-neuronx is two products under one name: the XLA one (2.1 to 2.9, with torch_xla), last in SDK 2.31, and since
SDK 2.32 the native TorchNeuron (2.11 and on, without torch_xla), for trn2 and trn3 only. NxD runs on the first.
Sources: release notes of SDK 2.28 to 2.33; `n2-manifest.json` of aws-neuron-sdk.
"""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Optional, Tuple

from llm_fleet_training.failures import Code, fail

OLDEST_NXD = (0, 8)
"""NxD Core of SDK 2.19, the oldest release of the catalog, which has every API used here."""


def check_stack() -> None:
    """LFJ20 when packages are missing or too old, LFJ21 when they are those of native TorchNeuron."""
    neuronx = _version("torch-neuronx")
    if neuronx is None:
        fail(Code.NEURON_STACK, "torch-neuronx is not installed in this Python")
    if find_spec("torch_xla") is None:
        fail(Code.NEURON_NATIVE, f"torch-neuronx {neuronx} is native TorchNeuron, which has no torch_xla")
    nxd = _version("neuronx-distributed") or _version("neuronx_distributed")
    if nxd is None:
        fail(Code.NEURON_STACK, f"torch-neuronx {neuronx} is installed without neuronx_distributed")
    if _numbers(nxd) < OLDEST_NXD:
        fail(Code.NEURON_STACK, f"neuronx_distributed {nxd} is older than {'.'.join(map(str, OLDEST_NXD))}")


def only_compiling() -> bool:
    """Whether `neuron_parallel_compile` collects graphs: nothing is computed then, and results have no meaning."""
    return os.environ.get("NEURON_EXTRACT_GRAPHS_ONLY", "0") not in ("", "0")


def cores_a_device() -> int:
    """Physical NeuronCores per logical core (LNC): 2 is the default on trn2; other instances have only 1."""
    return int(os.environ.get("NEURON_LOGICAL_NC_CONFIG", "1"))


def set_environment() -> None:
    """Set variables that the Neuron runtime reads with the first tensor on a device, unless they are set already.

    Stochastic rounding is off as in AWS's `tp_zero1` examples where master weights are in float32.
    """
    os.environ.setdefault("NEURON_RT_STOCHASTIC_ROUNDING_EN", "0")


def _version(package: str) -> Optional[str]:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _numbers(text: str) -> Tuple[int, int]:
    major, minor, *_ = [*text.split("."), "0", "0"]
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else (0, 0)
