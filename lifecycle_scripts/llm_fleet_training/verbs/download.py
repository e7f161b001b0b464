"""`download`: weights, config and tokenizer of a model, from the Hub, S3 or a folder; whole or not there at all."""

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

SUMMARY = "fetch a model's weights, config and tokenizer from the Hub, S3 or a folder"
MARKER = "download.json"
_LICENCES = ("LICENSE", "NOTICE", "USE_POLICY")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take the verb's options."""
    parser.add_argument("--model", required=True, help="<owner>/<name> on the Hub, s3://bucket/prefix, or a folder")
    parser.add_argument("--revision", default=None, help="commit, tag or branch on the Hub; name a commit to pin it")
    parser.add_argument("--to", required=True, type=Path, metavar="FOLDER", help="e.g. <run folder>/weights")
    parser.add_argument(
        "--token-file", type=Path, default=None, help="a file with the Hub's token, in place of HF_TOKEN"
    )
    parser.add_argument("--without-weights", action="store_true", help="config and tokenizer only: train from nothing")
    parser.add_argument("--pickles", action="store_true", help="take weights that are pickles only, and convert them")


def run(arguments: argparse.Namespace) -> int:
    """Fetch what is not there yet; returns 0."""
    goal = WholeFolder(arguments.to, marker=MARKER)
    there = goal.document()
    if there is not None and _is_it(there, arguments, goal.target):
        print(f"{goal.target} is there already: {_reported(there)}", flush=True)
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
            fail(Code.SOURCE, f"{source.place} is no whole model: {'; '.join(lacking)}")
        document = _document(source, arguments, part)
        goal.finish(document)
    print(f"{goal.target} is whole: {_reported(document)}", flush=True)
    _licence(goal.target, source.place)
    return 0


def _source(arguments: argparse.Namespace) -> Source:
    model: str = arguments.model
    on_disk = model.startswith(("/", "./", "../", "~")) or Path(model).is_dir()
    if not model.startswith("s3://") and not on_disk:
        return HubModel(model, arguments.revision or None, token_file=arguments.token_file)
    if arguments.revision:
        fail(Code.ARGUMENTS, f"--revision {arguments.revision} is of the Hub, and {model} is not there")
    return LocalFolder(Path(model).expanduser()) if on_disk else S3Prefix(model)


def _is_it(there: Dict[str, Any], arguments: argparse.Namespace, target: Path) -> bool:
    """Whether the folder is what is asked for; LFJ12 when it is another model."""
    requested: str = arguments.model
    revision: Optional[str] = arguments.revision
    given = {requested, requested.rstrip("/"), str(Path(requested).expanduser().absolute())}
    same = there.get("source") in given and revision in (None, "", there.get("revision"), there.get("asked"))
    if not same:
        requested += f" at {revision}" if revision else ""
        fail(Code.OTHER_MODEL, f"{target} holds {there.get('source')} at {there.get('revision')}, not {requested}")
    return bool(there.get("weights")) or arguments.without_weights


def _make_room(place: str, chosen: List[Entry], part: Path) -> None:
    missing = [entry for entry in chosen if not (part / entry.path).is_file()]
    needed = sum(entry.size for entry in missing)
    # What is converted lies there twice for a while.
    again = sum(entry.size for entry in chosen if is_pickle(entry.path))
    total = sum(entry.size for entry in chosen)
    print(f"{place}: {len(chosen)} files, {in_words(total)}; {in_words(needed)} to fetch", flush=True)
    check_room(part, needed + again, f"fetching {place}")


def _verify(place: str, chosen: List[Entry], part: Path) -> None:
    """What is not as the source tells it goes, so that the next run fetches it anew."""
    wrong: List[str] = []
    for entry in chosen:
        found = check_file(part / entry.path, entry)
        if found:
            (part / entry.path).unlink(missing_ok=True)
            wrong.append(found)
    if wrong:
        fail(Code.UNREACHABLE, f"{place} did not come whole: {'; '.join(wrong)}", final=False)


def _tidy(part: Path) -> None:
    """Remove notes of huggingface_hub and half files."""
    shutil.rmtree(part / ".cache", ignore_errors=True)
    for half in part.glob(".*.incomplete"):
        half.unlink()


def _document(source: Source, arguments: argparse.Namespace, part: Path) -> Dict[str, Any]:
    files = {path.name: path.stat().st_size for path in sorted(part.iterdir()) if path.name != MARKER}
    return {"format": 1, **source.identity(), "weights": not arguments.without_weights, "files": files}


def _reported(document: Dict[str, Any]) -> str:
    revision = document.get("revision")
    pinned = f" at {revision}" if revision else ""
    return f"{document.get('source')}{pinned}, {in_words(sum(document.get('files', {}).values()))}"


def _licence(folder: Path, place: str) -> None:
    names = sorted(path.name for path in folder.iterdir() if path.name.startswith(_LICENCES))
    words = f"its terms are in {', '.join(names)}" if names else "look at its terms on the model's page"
    print(f"weights have a licence: {words}; what you train from them is under it too", flush=True)
    if "llama" in place.lower():
        print(
            "Llama's licence: pass it on with what you make of the weights, name that 'Llama …' from 3 on, and show "
            "'Built with Llama'; uses that its policy rules out are not allowed",
            flush=True,
        )
