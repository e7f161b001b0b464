"""A data set that is in S3 or on the Hub comes to the run's folder first: units are cut by place in a file."""

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
"""Hidden: what is beside it is data."""
_ON_THE_HUB = re.compile(r"([\w.-]+/[\w.-]+)(?:@([\w./-]+))?")
_NO_TEXT = ("LICENSE", "NOTICE", "README", "requirements")


def bring(given: str, below: Path, token_file: Optional[Path]) -> Path:
    """The path of a data set; one that is elsewhere is fetched into a folder of its own below `below`, once.

    What is on the disk by that name is meant, before what is on the Hub. LFJ35 for a place without text.
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
            fail(Code.DATA, f"{source.place} holds no file of text that is known here: {held}")
        size = sum(entry.size for entry in chosen)
        print(f"{source.place}: {len(chosen)} files, {in_words(size)}", flush=True)
        check_room(part, sum(entry.size for entry in chosen if not (part / entry.path).is_file()), "fetching the data")
        source.fetch(chosen, part)
        _verify(source.place, chosen, part)
        shutil.rmtree(part / ".cache", ignore_errors=True)
        goal.finish({"format": 1, **source.identity(), "bytes": size})


def _verify(place: str, chosen: List[Entry], part: Path) -> None:
    wrong = [(entry, found) for entry in chosen for found in [check_file(part / entry.path, entry)] if found]
    for entry, _ in wrong:
        (part / entry.path).unlink(missing_ok=True)
    if wrong:
        fail(Code.UNREACHABLE, f"{place} did not come whole: {'; '.join(found for _, found in wrong)}", final=False)


def _is_text(path: str) -> bool:
    """A plain .json of a repository tells of it; packed ones are lines of data, as C4 has them."""
    name = path.rsplit("/", 1)[-1]
    ending, packed = kind(name)
    hidden = any(part.startswith(".") for part in path.split("/"))
    return ending in KINDS and (ending != ".json" or bool(packed)) and not hidden and not name.startswith(_NO_TEXT)
