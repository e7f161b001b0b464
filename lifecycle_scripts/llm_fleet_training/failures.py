"""The stable codes of all failures of the training program. A code is never reused for another failure."""

from __future__ import annotations

import json
import os
from enum import Enum
from pathlib import Path
from typing import NoReturn

RESTARTABLE = 1
"""Exit code of a failure that a restart may fix, e.g. a lost peer."""
FINAL = 3
"""Exit code of a failure that a restart will not fix, e.g. a batch that is not divisible."""
STOPPED = 75
"""Exit code after a stop by a signal: a checkpoint is written, start it again (`EX_TEMPFAIL` of sysexits.h)."""


class Code(Enum):
    """One code per failure, with its remedy."""

    # Training: LFJ01 to LFJ19.
    ARGUMENTS = ("LFJ01", "see the options in `python -m llm_fleet_training <verb> --help`")
    UNEXPECTED_ERROR = ("LFJ02", "this is a defect of llm-fleet: report it with the lines above")
    MODEL_CONFIG = ("LFJ03", "set a folder with the config.json of a LlamaForCausalLM in Hugging Face format")
    DEGREES = ("LFJ04", "choose degrees whose product divides the number of processes, and that divide the model")
    BATCH = ("LFJ05", "make the global batch a multiple of micro batch x data degree")
    TOKENS = ("LFJ06", "run the stage `tokenize` for this run again, with the tokenizer of this model")
    SEQUENCE_LENGTH = ("LFJ07", "choose a sequence length that the model supports and that the tokens can fill")
    PYTHON_PACKAGE = (
        "LFJ08",
        "start it with the Python of the training environment of the cluster ($LLM_FLEET_PYTHON)",
    )
    BACKEND = ("LFJ09", "choose the backend that fits these nodes: neuron, fsdp, smp or cpu")
    OUTPUT_FOLDER = ("LFJ10", "set a folder on the shared file system that this user can write")
    DISK_SPACE = (
        "LFJ11",
        "free space on the file system (remove old runs, keep fewer checkpoints), then submit the job again: the last "
        "checkpoint is complete",
    )
    MODEL_MISMATCH = (
        "LFJ12",
        "train this model in another run folder, or set the model that the checkpoints belong to",
    )
    DEGREES_MISMATCH = (
        "LFJ13",
        "start with the nodes and degrees of the checkpoint; or `convert` it and start from its weights in another "
        "run folder",
    )
    DAMAGED_CHECKPOINTS = (
        "LFJ14",
        "restore the checkpoints from the mirror or a backup; or move the folder away to start again from step 0",
    )
    INCOMPLETE_CHECKPOINT = (
        "LFJ15",
        "mount the same shared file system at the same path on all nodes; the previous checkpoint is complete",
    )
    WEIGHTS = (
        "LFJ16",
        "set a folder with the safetensors files of this model, as the stage `download` writes them",
    )
    MIRROR = (
        "LFJ17",
        "put `aws` on the PATH and allow the node's role to list and read the mirror; or remove `--mirror` to "
        "start without it",
    )
    NON_FINITE_LOSS = (
        "LFJ18",
        "lower the learning rate or lengthen the warm-up; remove newer checkpoints to resume from an older one",
    )
    LOST_PEER = (
        "LFJ19",
        "nothing to fix if a node was lost: when it restarts, the job resumes from its last checkpoint",
    )
    # Backends of accelerators: LFJ20 to LFJ29.
    NEURON_STACK = (
        "LFJ20",
        "start it with an environment of the Neuron stack `nxd`, e.g. release 2.28.1: torch-neuronx 2.1 to 2.9 with "
        "neuronx_distributed",
    )
    NEURON_NATIVE = (
        "LFJ21",
        "build the environment of the Neuron stack `nxd`, release 2.28.1, with a driver of the same time on the nodes; "
        "native TorchNeuron, release 2.32 and later, has another training API, which is not supported",
    )
    SMP_STACK = (
        "LFJ22",
        "run it in an image of SMP v2 (environment of kind `smp`) on p4d, p4de or p5; without it, use the backend fsdp",
    )
    SMP_CONFIG = (
        "LFJ23",
        "fix smp_config.json or remove it: degrees and seed come from the run's settings, and keys are those of "
        "docs/training/smp.md",
    )
    SMP_BACKEND = ("LFJ24", "set LLM_FLEET_SMP_BACKEND to auto or nccl; smddp runs on p4d and p4de only")
    # Weights and data: LFJ30 to LFJ39.
    HUB_TOKEN = (
        "LFJ30",
        "create a token with read access at huggingface.co/settings/tokens; set it in HF_TOKEN, a file, or the "
        "cluster's secret, which contains only the token and which the nodes' role can read",
    )
    LICENSE = (
        "LFJ31",
        "open the model's page on huggingface.co with the token's account, accept the license, and wait until access "
        "is granted; a fine-grained token also needs the right to read gated repositories",
    )
    MODEL_NOT_FOUND = (
        "LFJ32",
        "check the model's name, revision or address: <owner>/<name>, s3://<bucket>/<prefix> or a folder",
    )
    SOURCE_UNREACHABLE = (
        "LFJ33",
        "check that the node can reach the Hub (or HF_ENDPOINT) or S3, that its role can read there, and that "
        "it has the AWS CLI; in a network without internet access, copy the model to S3 and download it from there",
    )
    MODEL_FORMAT = (
        "LFJ34",
        "set a folder or repository with the model in Hugging Face format: config.json, tokenizer, "
        "safetensors; if you trust its authors, --pickles accepts and converts pickle files",
    )
    DATA_SET = ("LFJ35", "fix or remove the named file; allowed are .txt and .jsonl files in UTF-8, plain, .gz or .zst")
    TOKENIZER = (
        "LFJ36",
        "use the tokenizer of this model: the files that `download` fetched together with its config.json",
    )
    CONVERSION = (
        "LFJ37",
        "set a run folder and step with a complete checkpoint and the config.json that it was trained with: see "
        "`checkpoints list` and `checkpoints verify`",
    )
    EXPORT = (
        "LFJ38",
        "run the stage in the image of the server that will serve the model, with the sizes of that server; see "
        "the lines above and docs/constructs/inference-model.md",
    )
    PREFIX_NOT_EMPTY = (
        "LFJ39",
        "register under a new prefix and set it in the service; --replace overwrites in place, but then a "
        "running service cannot roll back (docs/constructs/inference-service.md, UPDATE_ROLLBACK_FAILED)",
    )

    # Batch files, printed by bash before the program starts: LFJ40 to LFJ49. The texts there are more exact.
    JOB_NODE = (
        "LFJ40",
        "submit to a partition whose nodes are set up for training, or set `training:` in the fleet file",
    )
    JOB_FOLDER = ("LFJ41", "submit from a complete copy of the batch files, on storage that all nodes share")
    JOB_SYNTAX = ("LFJ42", "fix the line that bash names; `llm-fleet jobs check` finds it before a job runs")
    JOB_RUN_FOLDER = ("LFJ43", "set RUN_FOLDER in run.sh to a folder that this user can write and that all nodes share")
    JOB_STAGE_ORDER = ("LFJ44", "first run the stage that is named")
    JOB_ACCELERATOR = ("LFJ45", "submit to the partition with the accelerators that the stage or its backend needs")
    JOB_SETTING = ("LFJ46", "set the named variable to an allowed value")
    JOB_ENVIRONMENT = (
        "LFJ47",
        "set an environment that exists; the log of its step on the node says why one is missing",
    )
    JOB_RESTARTS = (
        "LFJ48",
        "fix the error printed above, then submit the job again: it resumes from its newest checkpoint",
    )
    JOB_PROGRAM = ("LFJ49", "install the named program of the vendor; or find the node that slows down the network")

    @property
    def code(self) -> str:
        """E.g. `LFJ04`."""
        return self.value[0]

    @property
    def remedy(self) -> str:
        """The instruction that fixes it."""
        return self.value[1]


class Failure(Exception):
    """An error with a code and a remedy."""

    def __init__(self, code: Code, cause: str, *, final: bool = True, shared: bool = False) -> None:
        """`cause` says what is wrong, with the values.

        `final`: a restart will not fix it; `shared`: every process raises it, so only one prints it.
        """
        super().__init__(cause)
        self.code = code
        self.cause = cause
        self.final = final
        self.shared = shared

    @property
    def exit_code(self) -> int:
        """The exit code of the process."""
        return FINAL if self.final else RESTARTABLE

    def __str__(self) -> str:
        """Two lines: code and cause, and the remedy."""
        return f"{self.code.code}: {self.cause}\n  remedy: {self.code.remedy}"


def fail(code: Code, cause: str, *, final: bool = True, shared: bool = False) -> NoReturn:
    """Raise the failure."""
    raise Failure(code, cause, final=final, shared=shared)


def leave_word(failure: Failure) -> None:
    """Write a final failure to the file `LLM_FLEET_FAILURE_FILE`: torchrun hides the exit codes of its processes."""
    place = os.environ.get("LLM_FLEET_FAILURE_FILE")
    if not place or not failure.final:
        return
    word = {"code": failure.code.code, "cause": failure.cause, "remedy": failure.code.remedy, "final": failure.final}
    draft = Path(f"{place}.{os.uname().nodename}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(word) + "\n")
        draft.replace(place)
    except OSError:
        draft.unlink(missing_ok=True)  # The failure was also printed to standard error.
