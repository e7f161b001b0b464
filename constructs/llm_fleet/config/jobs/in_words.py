"""What to write, in the words of the fleet file: rules of training runs write Python."""

import re
from dataclasses import replace

from llm_fleet.rules.problem import Problem

_WRITTEN = (
    (re.compile(r"; in Python .*$"), ""),
    (
        re.compile(r"shape=TrainedShape\(…\) with the numbers of its config\.json"),
        "`shape: {parameters: 8 B, …}` with the numbers of its config.json, or `config:` with the file's path",
    ),
    (re.compile(r"\bkeep=(\d+)\b"), r"`checkpoint: {keep: \1}`"),
    (re.compile(r"\b(\w+)='([^']*)'"), r"`\1: \2`"),
    (re.compile(r"\b(\w+)=(\d+)\b"), r"`\1: \2`"),
    (re.compile(r"\bleave (?!it\b)(\w+) out\b"), r"leave `\1` out"),
    (re.compile(r": `training:` in a fleet file, TrainingRuntime in Python"), ": `training: {environments: {…}}`"),
)


def in_words(problem: Problem) -> Problem:
    """Return `problem` with the file's words in its remedy."""
    text = problem.remedy
    for pattern, words in _WRITTEN:
        text = pattern.sub(words, text)
    return replace(problem, remedy=text)
