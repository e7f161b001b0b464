"""Finds citations of the register of assumptions in code and docs, and unproven statements without a citation."""

import ast
import io
import json
import re
import subprocess
import tokenize
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

from tools.synth_environment import ROOT

CODE = ("constructs", "stacks", "lifecycle_scripts", "local", "examples")
REGISTER = "constructs/llm_fleet/catalog/data/assumptions/"
CITATION = re.compile(r"\bassumption(?:\":?|:)?\s+\"?((?:[a-z0-9]+-)+[a-z0-9]+)\b")
"""`assumption: <id>`, `Source: assumption <id>`, and the key `assumption` of data. An id has at least one hyphen."""
_PAPERS = r"(?:documents?|documentation|pages?|sources?|guides?|manuals?|references?)"
_SAY = r"(?:say|state|prove|document|mention|describe|specify|confirm|explain)"
_SAYS = r"(?:says?|states?|names?|proves?|documents?|mentions?|describes?|specif(?:y|ies)|lists?|confirms?|explains?)"
_WHO = (
    r"(?:AWS|Amazon|SageMaker|HyperPod|EC2|ECS|FSx|S3|IAM|CloudFormation|CloudWatch|ParallelCluster|Slurm|Neuron|Studio"
    rf"|Step Functions|{_PAPERS})"
)
_TRIED = r"(?:tried|tested|seen|run|ran|proven|checked|confirmed|measured|observed|verified)"
DOUBT = re.compile(
    "|".join(
        (
            r"\bunverified\b|\bunproven\b|\bunconfirmed\b|\buntested\b|\bundocumented\b|\bin no document\b",
            r"\bnot (?:been )?verified\b|\bnot documented\b|\b(?:documented|stated|described) nowhere\b",
            r"\bnowhere (?:documented|stated|described|said)\b|\b(?:what|only) documents say\b",
            rf"\bno (?:\w+ )?{_PAPERS}(?: of \w+(?:'s)?)?(?: that we (?:found|read|could read))? {_SAYS}\b",
            rf"\b{_WHO}(?:'s \w+)? (?:does not|do not|doesn't|don't|never) {_SAY}s?\b|\bAWS documents no\b",
            r"\bno call was made\b|\b(?:was|were) (?:not|never) tried\b|\bnot seen on an AMI\b",
            rf"\b(?:not|never) (?:been )?{_TRIED}(?: \w+){{0,2}} (?:on|in|with|against|without) "
            r"(?:AWS|HyperPod|SageMaker|EC2|(?:an? |the |real )+(?:account|AMI|hardware|GPU)|an instance)\b",
            r"\b(?:no one|nobody) (?:has )?(?:tried|tested|checked|confirmed|verified)\b",  # codespell:ignore nobody
            r"\b(?:unknown|unclear|is not known|not clear) (?:whether|if)\b|\bas far as (?:we|is) know",
            r"\bwhether [^.;]{1,80} (?:is|was|were) (?:not|never) (?:tried|tested|known|documented|clear|proven)\b",
            r"\bfrom memory\b|\bpresumabl[ey]\b|\bsupposedly\b",
            r"\bwe (?:assume|believe|suppose|guess)\b|\bit is (?:assumed|supposed)\b",
        )
    ),
    re.IGNORECASE,
)
"""The words in which code and docs say that something is not proven."""
_TEXT = (".py", ".sh", ".json", ".md", ".yaml", ".yml", ".conf", ".service", ".txt", ".c", "")
_GENERATED = "is generated (`make golden`)"
_COMMENT = re.compile(r"^\s*(?:#|//)\s?")


@cache
def texts() -> Mapping[str, str]:
    """Return the text of every file of ours in code and docs, by its path; without the register and generated pages."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *CODE, "docs"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    found: dict[str, str] = {}
    for name in listed:
        path = ROOT / name
        if path.suffix in _TEXT and not name.startswith(REGISTER) and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            if _GENERATED not in " ".join(text[:2000].split()):
                found[name] = text
    return found


@cache
def citations() -> Mapping[str, tuple[str, ...]]:
    """Return the paths of the files that cite an entry, by its id."""
    found: dict[str, list[str]] = {}
    for name, text in sorted(texts().items()):
        for cited in sorted(set(cited_in(text))):
            found.setdefault(cited, []).append(name)
    return {name: tuple(places) for name, places in found.items()}


def is_code(name: str) -> bool:
    """Return whether the path `name` is of code (and data), not of docs."""
    return not name.startswith("docs/") and not name.endswith(".md")


def cited_in(text: str) -> list[str]:
    """Return the ids that `text` cites, also where a comment breaks its line before the id."""
    return CITATION.findall(re.sub(r"\n\s*#\s?", "\n", text) if "#" in text else text)


def doubts(name: str, text: str) -> list[str]:
    """Return the paragraphs, comments and entries of the file `name` that doubt and cite no entry."""
    if not DOUBT.search(re.sub(r"[\s#]+", " ", text)):
        return []
    return [" ".join(one.split()) for one in _pieces(name, text) if _doubts(one) and not cited_in(one)]


def _doubts(piece: str) -> bool:
    return DOUBT.search(" ".join(piece.split())) is not None


def _pieces(name: str, text: str) -> Iterator[str]:
    if name.endswith(".json"):
        yield from _entries(json.loads(text))
    elif name.endswith(".py"):
        yield from _python_pieces(text)
    elif name.endswith(".md"):
        # A paragraph, a point of a list or a row of a table.
        yield from re.split(r"\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.)\s?)", text)
    else:
        yield from re.split(r"\n\s*\n", "\n".join(_COMMENT.sub("", line) for line in text.splitlines()))


def _entries(value: Any) -> Iterator[str]:
    """Yield the strings of each object together: an entry is the innermost object around a text."""
    if isinstance(value, dict):
        members = list(cast(dict[str, Any], value).values())
        yield "\n".join(_own_strings(members))
    else:
        members = cast(list[Any], value) if isinstance(value, list) else []
    for one in members:
        yield from _entries(one)


def _own_strings(members: list[Any]) -> Iterator[str]:
    for one in members:
        texts = cast(list[Any], one) if isinstance(one, list) else [one]
        yield from (text for text in texts if isinstance(text, str))


def _python_pieces(text: str) -> Iterator[str]:
    """Yield each comment (lines that follow each other are one) and each paragraph of a string."""
    comment: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if comment and token.start[0] != last + 1:
                yield "\n".join(comment)
                comment = []
            comment.append(token.string.lstrip("# "))
            last = token.start[0]
    yield "\n".join(comment)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.split(r"\n\s*\n", node.value)
