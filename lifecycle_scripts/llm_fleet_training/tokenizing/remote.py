"""Downloads a data set from S3 or the Hub to the run folder: units are byte ranges of local files."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import List, Optional

from llm_fleet_training.failures import Code, fail
from llm_fleet_training.tokenizing.units import KINDS, kind
from llm_fleet_training.weights.entries import Entry, check_file
from llm_fleet_training.weights.hub import HubModel
from llm_fleet_training.weights.s3 import S3Prefix
from llm_fleet_training.weights.source import Source
from llm_fleet_training.weights.space import check_room, in_words
from llm_fleet_training.weights.whole_folder import WholeFolder

MARKER = ".text.json"
"""Hidden, because other files in the folder are data."""
_ON_THE_HUB = re.compile(r"([\w.-]+/[\w.-]+)(?:@([\w./-]+))?")
_NO_TEXT = ("LICENSE", "NOTICE", "README", "requirements")


def bring(given: str, below: Path, token_file: Optional[Path]) -> Path:
    """The path of a data set; a remote one is downloaded once, into its own folder below `below`.

    A local path has precedence over a name on the Hub. LFJ35 for a place without text.
    """
    on_hub = _ON_THE_HUB.fullmatch(given)
    if Path(given).expanduser().exists() or not (given.startswith("s3://") or on_hub):
        return Path(given)
    goal = WholeFolder(below / re.sub(r"[^\w.-]+", "--", given).strip("-"), marker=MARKER)
    if goal.document() is None:
        if on_hub is None:
            _fetch(S3Prefix(given), goal)
        else:
            _fetch(HubModel(on_hub[1], on_hub[2], token_file=token_file, kind="dataset"), goal)
    return goal.target


def _fetch(source: Source, goal: WholeFolder) -> None:
    with goal.making() as part:
        entries = source.entries()
        chosen = [entry for entry in entries if _is_text(entry.path)]
        if not chosen:
            held = ", ".join(sorted(entry.path for entry in entries)[:3])
            fail(Code.DATA_SET, f"{source.place} has no text file of a supported type: {held}")
        size = sum(entry.size for entry in chosen)
        print(f"{source.place}: {len(chosen)} files, {in_words(size)}", flush=True)
        check_room(
            part, sum(entry.size for entry in chosen if not (part / entry.path).is_file()), "downloading the data"
        )
        source.fetch(chosen, part)
        _verify(source.place, chosen, part)
        shutil.rmtree(part / ".cache", ignore_errors=True)
        goal.finish({"format": 1, **source.identity(), "bytes": size})


def _verify(place: str, chosen: List[Entry], part: Path) -> None:
    wrong = [(entry, found) for entry in chosen for found in [check_file(part / entry.path, entry)] if found]
    for entry, _ in wrong:
        (part / entry.path).unlink(missing_ok=True)
    if wrong:
        fail(
            Code.SOURCE_UNREACHABLE,
            f"{place} is not downloaded completely: {'; '.join(found for _, found in wrong)}",
            final=False,
        )


def _is_text(path: str) -> bool:
    """A plain .json of a repository is metadata; compressed ones are lines of data, as in C4."""
    name = path.rsplit("/", 1)[-1]
    ending, packed = kind(name)
    hidden = any(part.startswith(".") for part in path.split("/"))
    return ending in KINDS and (ending != ".json" or bool(packed)) and not hidden and not name.startswith(_NO_TEXT)
