"""`tokenize`: converts a data set to one file of tokens with the model's tokenizer, written atomically."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any, Dict, List

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.tokenizing.remote import bring
from llm_fleet_training.tokenizing.together import join, run_tasks, width
from llm_fleet_training.tokenizing.tokenizer import FILE, TokenizerFacts, look
from llm_fleet_training.tokenizing.units import cut_files, find_files, plan_hash
from llm_fleet_training.tokenizing.worker import Task
from llm_fleet_training.weights.space import check_room, in_words, writing
from llm_fleet_training.weights.whole_folder import WholeFolder

SUMMARY = "convert a data set to tokens, with the model's tokenizer"
MARKER = "tokens.json"
TOKENS = "tokens.bin"
_PLAN = "plan"
_DATA = ".txt and .jsonl, plain, .gz or .zst, or folders of them; s3://bucket/prefix; owner/name[@revision] on the Hub"
_LETTERS_A_TOKEN = 3
"""Bytes of text per token, a low estimate: English has four with Llama's tokenizers."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take the verb's options."""
    parser.add_argument("--run-folder", required=True, type=Path, help="run folder")
    parser.add_argument("--data", required=True, nargs="+", help=_DATA)
    parser.add_argument("--text-field", default="text", help="field of a JSON line with the text; default: text")
    parser.add_argument(
        "--documents",
        choices=("file", "line"),
        default="file",
        help="document in a .txt: the file or each line; default: the file",
    )
    parser.add_argument("--model", type=Path, help="folder with the tokenizer; default: <run folder>/weights")
    parser.add_argument("--to", type=Path, help="target folder; default: <run folder>/tokens")
    parser.add_argument(
        "--token-file", type=Path, default=None, help="file with the token for the Hub, for data on the Hub"
    )
    parser.add_argument("--processes", type=int, default=0, help="parallel processes; default: the cores of this job")


def run(arguments: argparse.Namespace) -> int:
    """Tokenize units that are not done yet; returns 0."""
    goal = WholeFolder(arguments.to or arguments.run_folder / "tokens", marker=MARKER)
    there = goal.document()
    given = [str(bring(each, arguments.run_folder / "text", arguments.token_file)) for each in arguments.data]
    units = cut_files(find_files(given), text_is=arguments.documents)
    with goal.making() as part, writing(part):
        tokenizer = look(arguments.model or arguments.run_folder / "weights", part)
        plan = plan_hash(units, arguments.text_field, arguments.documents, tokenizer.fingerprint, str(tokenizer.eos))
        if there is not None and there.get("plan") == plan:
            print(f"{goal.target} is there already: {_summary(there)}", flush=True)
            return 0
        if there is not None:
            fail(Code.DATA_SET, f"{goal.target} has tokens of other data or of another tokenizer: {_summary(there)}")
        if not (part / _PLAN).exists() or (part / _PLAN).read_text() != plan:
            goal.clear()
            tokenizer = look(arguments.model or arguments.run_folder / "weights", part)
            (part / _PLAN).write_text(plan)
        tasks = [
            Task(number, unit, arguments.text_field, tokenizer.file, tokenizer.eos, tokenizer.dtype, str(part))
            for number, unit in enumerate(units)
        ]
        document = _make(arguments, tasks, tokenizer, part)
        for left in (_PLAN, FILE):
            (part / left).unlink(missing_ok=True)
        goal.finish({**document, "plan": plan})
    print(f"{goal.target} is complete: {_summary(document)}", flush=True)
    return 0


def _make(arguments: argparse.Namespace, tasks: List[Task], tokenizer: TokenizerFacts, part: Path) -> Dict[str, Any]:
    files = sorted({task.unit.path for task in tasks})
    size = sum(os.path.getsize(path) for path in files)
    processes = arguments.processes or len(os.sched_getaffinity(0))
    # Twice: the files of the units are then joined in one file.
    needed = 2 * size * width(tokenizer.dtype) // _LETTERS_A_TOKEN
    print(
        f"{len(files)} files, {in_words(size)}, in {len(tasks)} units; vocabulary of {tokenizer.vocabulary}, tokens as "
        f"{tokenizer.dtype}; {processes} processes; about {in_words(needed)} of disk space, more for compressed files",
        flush=True,
    )
    check_room(part, needed, "tokenizing")
    begun = time.monotonic()
    counted = run_tasks(tasks, processes, _progress(begun))
    tokens, documents = (sum(each[what] for each in counted) for what in ("tokens", "documents"))
    if not documents:
        fail(Code.DATA_SET, f"no text in {', '.join(files[:3])}{' and others' if len(files) > 3 else ''}")
    digest = join(tasks, part / TOKENS)
    return {
        "format": 1,
        "file": TOKENS,
        "dtype": tokenizer.dtype,
        "tokens": tokens,
        "documents": documents,
        "bytes": tokens * width(tokenizer.dtype),
        "sha256": digest,
        "eos_token_id": tokenizer.eos,
        "vocabulary": tokenizer.vocabulary,
        "tokenizer": tokenizer.fingerprint,
        "source": {"files": files, "text_field": arguments.text_field, "documents": arguments.documents},
    }


def _progress(begun: float) -> Any:
    """Log progress, at most ten times."""
    logged = [0]

    def report(done: int, of: int) -> None:
        if done * 10 // of > logged[0]:
            logged[0] = done * 10 // of
            print(f"{done} of {of} units after {time.monotonic() - begun:.0f} s", flush=True)

    return report


def _summary(document: Dict[str, Any]) -> str:
    return f"{document['tokens']} tokens of {document['documents']} documents, {in_words(document['bytes'])}"
