"""The stable codes of everything that the training program refuses. A code is never reused for another failure."""

from __future__ import annotations

import json
import os
from enum import Enum
from pathlib import Path
from typing import NoReturn

RESTARTABLE = 1
"""Exit code of a failure that a restart may mend, e.g. a lost peer."""
FINAL = 3
"""Exit code of a failure that a restart will not mend, e.g. a batch that does not divide."""
STOPPED = 75
"""Exit code after a signal was obeyed: a checkpoint is written, start it again (`EX_TEMPFAIL` of sysexits.h)."""


class Code(Enum):
    """One failure, one code; beside it what to do about it."""

    # Training: LFJ01 to LFJ19.
    ARGUMENTS = ("LFJ01", "look at `python -m llm_fleet_training <verb> --help`")
    UNFORESEEN = ("LFJ02", "this is a defect of llm-fleet: report it with the lines above")
    MODEL = ("LFJ03", "give a folder with a config.json of a LlamaForCausalLM, as Hugging Face writes it")
    DEGREES = ("LFJ04", "choose degrees whose product divides the number of processes, and that divide the model")
    BATCH = ("LFJ05", "make the global batch a multiple of micro batch x data degree")
    TOKENS = ("LFJ06", "run the stage `tokenize` for this run again, with the tokenizer of this model")
    SEQUENCE = ("LFJ07", "take a sequence length that the model was made for and that the tokens can fill")
    PACKAGE = ("LFJ08", "start it with the Python of the cluster's training environment ($LLM_FLEET_PYTHON)")
    BACKEND = ("LFJ09", "choose the backend that fits these nodes: neuron, fsdp, smp or cpu")
    FOLDER = ("LFJ10", "name a folder that this user may write, on the shared file system")
    SPACE = (
        "LFJ11",
        "make room on the file system (older runs, fewer checkpoints kept), then submit the job again: the last "
        "checkpoint is whole",
    )
    OTHER_MODEL = (
        "LFJ12",
        "train this model in a run folder of its own, or name the model that the checkpoints are of",
    )
    OTHER_DEGREES = (
        "LFJ13",
        "start with the nodes and degrees of the checkpoint; or `convert` it and start from those weights in another "
        "run folder",
    )
    BROKEN = (
        "LFJ14",
        "restore the checkpoints from the mirror or a backup; or move the folder away to begin from step 0 on purpose",
    )
    INCOMPLETE = (
        "LFJ15",
        "see that all nodes mount the same shared file system at the same place; the checkpoint before it is whole",
    )
    WEIGHTS = (
        "LFJ16",
        "give a folder with the safetensors files of this very model, as the stage `download` leaves them",
    )
    MIRROR = (
        "LFJ17",
        "see that `aws` is on the PATH and that the node's role may list and read the mirror; take `--mirror` out to "
        "begin without it",
    )
    NOT_FINITE = (
        "LFJ18",
        "lower the learning rate or lengthen the warm-up; go on from an earlier checkpoint by removing later ones",
    )
    PEER = ("LFJ19", "nothing to mend here if a node was lost: the job goes on from its last checkpoint when restarted")
    # Backends of accelerators: LFJ20 to LFJ29.
    NEURON_STACK = (
        "LFJ20",
        "start it with an environment of Neuron's stack `nxd`, e.g. release 2.28.1: torch-neuronx 2.1 to 2.9 with "
        "neuronx_distributed",
    )
    NEURON_NATIVE = (
        "LFJ21",
        "build the environment of Neuron's stack `nxd`, release 2.28.1, and see that the nodes' driver is one of its "
        "time; native TorchNeuron, of release 2.32 and on, trains in another way that is not done here",
    )
    SMP_STACK = (
        "LFJ22",
        "run it in an image of SMP v2 (environment of kind `smp`) on p4d, p4de or p5; without it, use the backend fsdp",
    )
    SMP_CONFIG = (
        "LFJ23",
        "mend smp_config.json or remove it: degrees and seed are told by the run's settings, and keys are those of "
        "docs/training/smp.md",
    )
    SMP_BACKEND = ("LFJ24", "set LLM_FLEET_SMP_BACKEND to auto or nccl; smddp runs on p4d and p4de only")
    # Weights and data: LFJ30 to LFJ39.
    TOKEN = (
        "LFJ30",
        "make a token with read access at huggingface.co/settings/tokens; give it by HF_TOKEN, a file, or the "
        "cluster's secret, whose whole text is the token and which the nodes' role may read",
    )
    LICENCE = (
        "LFJ31",
        "open the model's page on huggingface.co with the token's account, accept the licence, and wait until access "
        "is granted; a fine-grained token also needs the right to read gated repositories",
    )
    NOT_THERE = (
        "LFJ32",
        "look at the model's name, revision or address: <owner>/<name>, s3://<bucket>/<prefix> or a folder",
    )
    UNREACHABLE = (
        "LFJ33",
        "see that the node reaches the Hub (or HF_ENDPOINT) or S3, that its role may read there, and that it has the "
        "AWS CLI; in a closed network put the model into S3 and download from there",
    )
    SOURCE = (
        "LFJ34",
        "name a folder or repository that holds the model as Hugging Face writes it: config.json, tokenizer, "
        "safetensors; pickles are taken, and converted, with --pickles if you trust their makers",
    )
    DATA = ("LFJ35", "mend or leave out what is named; give .txt or .jsonl files in UTF-8, plain, .gz or .zst")
    TOKENIZER = (
        "LFJ36",
        "use the tokenizer that belongs to this model: the files that `download` fetched beside its config.json",
    )
    CONVERSION = (
        "LFJ37",
        "name a run folder and step whose checkpoint is whole, with the config.json that it was trained with: look at "
        "`checkpoints list` and `checkpoints verify`",
    )
    EXPORT = (
        "LFJ38",
        "run the stage in the image of the server that will serve it, with the server's own sizes; the lines above and "
        "docs/constructs/inference-model.md say more",
    )
    PLACE_TAKEN = (
        "LFJ39",
        "register below a new prefix and name that one in the service; --replace overwrites in place, but takes the "
        "way back from a service that runs (docs/constructs/inference-service.md, UPDATE_ROLLBACK_FAILED)",
    )

    # Batch files, told by bash before the program starts: LFJ40 to LFJ49. What they say there is more exact.
    JOB_NODE = (
        "LFJ40",
        "submit to a partition whose nodes are set up for training, or set `training:` in the fleet file",
    )
    JOB_FOLDER = ("LFJ41", "submit from a whole copy of the batch files, on storage that all nodes share")
    JOB_SYNTAX = ("LFJ42", "mend the line that bash names; `llm-fleet jobs check` finds it before a job does")
    JOB_RUN_FOLDER = ("LFJ43", "set RUN_FOLDER in run.sh to a folder that this user may write and that all nodes share")
    JOB_ORDER = ("LFJ44", "run the stage that is named first")
    JOB_ACCELERATOR = ("LFJ45", "submit to the partition with the accelerators that the stage or its backend needs")
    JOB_SETTING = ("LFJ46", "set what is named to a value that it can have")
    JOB_ENVIRONMENT = ("LFJ47", "name an environment that is there; its step on the node tells why one is not")
    JOB_RESTARTS = (
        "LFJ48",
        "mend what ended the job, told above; submitted again, it goes on from its newest checkpoint",
    )
    JOB_PROGRAM = ("LFJ49", "install the vendor's program that is named; or find the node that slows the fabric down")

    @property
    def code(self) -> str:
        """E.g. `LFJ04`."""
        return self.value[0]

    @property
    def remedy(self) -> str:
        """What to do."""
        return self.value[1]


class Failure(Exception):
    """A reason not to go on."""

    def __init__(self, code: Code, cause: str, *, final: bool = True, shared: bool = False) -> None:
        """Take the code and what was seen, with the values.

        `final` says that a restart will not mend it; `shared` that every process raises it, so that one tells it.
        """
        super().__init__(cause)
        self.code = code
        self.cause = cause
        self.final = final
        self.shared = shared

    @property
    def exit_code(self) -> int:
        """What the process ends with."""
        return FINAL if self.final else RESTARTABLE

    def __str__(self) -> str:
        """The two lines that a user reads."""
        return f"{self.code.code}: {self.cause}\n  remedy: {self.code.remedy}"


def fail(code: Code, cause: str, *, final: bool = True, shared: bool = False) -> NoReturn:
    """Raise the failure."""
    raise Failure(code, cause, final=final, shared=shared)


def leave_word(failure: Failure) -> None:
    """Write a final failure where `LLM_FLEET_FAILURE_FILE` says: torchrun hides the exit codes of its processes."""
    place = os.environ.get("LLM_FLEET_FAILURE_FILE")
    if not place or not failure.final:
        return
    word = {"code": failure.code.code, "cause": failure.cause, "remedy": failure.code.remedy, "final": failure.final}
    draft = Path(f"{place}.{os.uname().nodename}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(word) + "\n")
        draft.replace(place)
    except OSError:
        draft.unlink(missing_ok=True)  # The failure itself is on standard error.
