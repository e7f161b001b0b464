"""`download`: weights, config and tokenizer of a model, from the Hub, S3 or a folder, written atomically."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any, Dict, List, Optional

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.weights.entries import Entry, check_file, choose, is_pickle
from llm_fleet_training.weights.hub import HubModel
from llm_fleet_training.weights.local import LocalFolder
from llm_fleet_training.weights.model_folder import misses
from llm_fleet_training.weights.pickles import convert_pickles
from llm_fleet_training.weights.s3 import S3Prefix
from llm_fleet_training.weights.source import Source
from llm_fleet_training.weights.space import check_room, in_words
from llm_fleet_training.weights.whole_folder import WholeFolder

SUMMARY = "download a model's weights, config and tokenizer from the Hub, S3 or a folder"
MARKER = "download.json"
_LICENSES = ("LICENSE", "NOTICE", "USE_POLICY")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take the verb's options."""
    parser.add_argument("--model", required=True, help="<owner>/<name> on the Hub, s3://bucket/prefix, or a folder")
    parser.add_argument(
        "--revision", default=None, help="commit, tag or branch on the Hub; set a commit to pin the version"
    )
    parser.add_argument(
        "--to", required=True, type=Path, metavar="FOLDER", help="target folder, e.g. <run folder>/weights"
    )
    parser.add_argument(
        "--token-file", type=Path, default=None, help="file with the token for the Hub, instead of HF_TOKEN"
    )
    parser.add_argument(
        "--without-weights",
        action="store_true",
        help="download config and tokenizer only, to train from initial weights",
    )
    parser.add_argument(
        "--pickles", action="store_true", help="accept weights that exist only as pickle files, and convert them"
    )


def run(arguments: argparse.Namespace) -> int:
    """Download missing files; returns 0."""
    goal = WholeFolder(arguments.to, marker=MARKER)
    there = goal.document()
    if there is not None and _is_it(there, arguments, goal.target):
        print(f"{goal.target} is there already: {_summary(there)}", flush=True)
        return 0
    source = _source(arguments)
    with goal.making() as part:
        entries = source.entries()
        chosen = choose(entries, source.place, weights=not arguments.without_weights, pickles=arguments.pickles)
        _make_room(source.place, chosen, part)
        source.fetch(chosen, part)
        _verify(source.place, chosen, part)
        convert_pickles(part, [entry.path for entry in chosen if is_pickle(entry.path)])
        _tidy(part)
        lacking = misses(part, weights=not arguments.without_weights)
        if lacking:
            fail(Code.MODEL_FORMAT, f"{source.place} is not a complete model: {'; '.join(lacking)}")
        document = _document(source, arguments, part)
        goal.finish(document)
    print(f"{goal.target} is complete: {_summary(document)}", flush=True)
    _license(goal.target, source.place)
    return 0


def _source(arguments: argparse.Namespace) -> Source:
    model: str = arguments.model
    on_disk = model.startswith(("/", "./", "../", "~")) or Path(model).is_dir()
    if not model.startswith("s3://") and not on_disk:
        return HubModel(model, arguments.revision or None, token_file=arguments.token_file)
    if arguments.revision:
        fail(Code.ARGUMENTS, f"--revision {arguments.revision} applies only to the Hub, but {model} is not on the Hub")
    return LocalFolder(Path(model).expanduser()) if on_disk else S3Prefix(model)


def _is_it(there: Dict[str, Any], arguments: argparse.Namespace, target: Path) -> bool:
    """Whether the folder has the requested model; LFJ12 when it has another one."""
    requested: str = arguments.model
    revision: Optional[str] = arguments.revision
    given = {requested, requested.rstrip("/"), str(Path(requested).expanduser().absolute())}
    known = (None, "", there.get("revision"), there.get("asked"))  # codespell:ignore asked
    same = there.get("source") in given and revision in known
    if not same:
        requested += f" at {revision}" if revision else ""
        fail(Code.MODEL_MISMATCH, f"{target} holds {there.get('source')} at {there.get('revision')}, not {requested}")
    return bool(there.get("weights")) or arguments.without_weights


def _make_room(place: str, chosen: List[Entry], part: Path) -> None:
    missing = [entry for entry in chosen if not (part / entry.path).is_file()]
    needed = sum(entry.size for entry in missing)
    # During conversion, both forms of the weights are on the disk.
    again = sum(entry.size for entry in chosen if is_pickle(entry.path))
    total = sum(entry.size for entry in chosen)
    print(f"{place}: {len(chosen)} files, {in_words(total)}; {in_words(needed)} to download", flush=True)
    check_room(part, needed + again, f"downloading {place}")


def _verify(place: str, chosen: List[Entry], part: Path) -> None:
    """Remove files that differ from the source, so that the next run downloads them again."""
    wrong: List[str] = []
    for entry in chosen:
        found = check_file(part / entry.path, entry)
        if found:
            (part / entry.path).unlink(missing_ok=True)
            wrong.append(found)
    if wrong:
        fail(Code.SOURCE_UNREACHABLE, f"{place} is not downloaded completely: {'; '.join(wrong)}", final=False)


def _tidy(part: Path) -> None:
    """Remove metadata of huggingface_hub and incomplete files."""
    shutil.rmtree(part / ".cache", ignore_errors=True)
    for half in part.glob(".*.incomplete"):
        half.unlink()


def _document(source: Source, arguments: argparse.Namespace, part: Path) -> Dict[str, Any]:
    files = {path.name: path.stat().st_size for path in sorted(part.iterdir()) if path.name != MARKER}
    return {"format": 1, **source.identity(), "weights": not arguments.without_weights, "files": files}


def _summary(document: Dict[str, Any]) -> str:
    revision = document.get("revision")
    pinned = f" at {revision}" if revision else ""
    return f"{document.get('source')}{pinned}, {in_words(sum(document.get('files', {}).values()))}"


def _license(folder: Path, place: str) -> None:
    names = sorted(path.name for path in folder.iterdir() if path.name.startswith(_LICENSES))
    words = f"its terms are in {', '.join(names)}" if names else "see its terms on the model's page"
    print(f"the weights have a license: {words}; it also applies to models that you train from them", flush=True)
    if "llama" in place.lower():
        print(
            "Llama's license: if you distribute derived models, include the license and Meta's notice in a file "
            "'Notice'; from Llama 3 on, begin their names with 'Llama 3' and show 'Built with Meta Llama 3'; from "
            "Llama 3.1 on, begin their names with 'Llama' and show 'Built with Llama'; the acceptable use policy "
            "applies",
            flush=True,
        )
