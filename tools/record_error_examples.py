"""Records error texts of the tests' bad inputs in tools/error_examples.json, which docs/errors shows.

    python -m tools.record_error_examples [TESTS]

Earlier examples are kept after those of the tests that run. An example whose words are no longer in the sources is
removed, and `tests/docs/test_generated_pages.py` reports it: then run this again with the tests of that text.
"""

import functools
import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli.plan.template_changes import Loss
from llm_fleet.cli.screen import Toned
from llm_fleet.fleet_file.document import LocatedProblem
from llm_fleet.rules.problem import FleetError, Problem
from llm_fleet.rules.values import OutOfRange
from tools.make_docs_error_texts import source_templates
from tools.synth_environment import ROOT

PLACE = ROOT / "tools" / "error_examples.json"
TESTS = (
    "fleet_file",
    "rules",
    "agreement",
    "cli",
    "sagemaker",
    "inference",
    "people",
    "stacks",
    "training",
    "network",
    "iam",
)
_MOST = 3
_MOST_COMPARED = 200
_UNWANTED = re.compile(r"\b(told|nobody|trian|Traceback \(|Errno)\b")  # codespell:ignore told,nobody,trian
"""Words of texts that are not shown: names in tests that `tools/check_words.py` reports, and tracebacks."""
_VALUE = re.compile(r"[\d.]+|`[^`]*`|'[^']*'")
_LONGEST = 1200
_CLEAR = 15
"""Length of a literal text that identifies its template even if more text follows."""
_CODE = re.compile(r"\[(LF\d+)\]$")
_FOLDER = re.compile(r"(?:/tmp|/work|/home)/[^\s`'\"]*/")
"""A folder of this machine; only the file's name is recorded."""
_OF_TESTS = re.compile(r"\btold\b")  # codespell:ignore told
"""The name of a cluster in examples/hyperpod-full.yaml, which `tools/check_words.py` would report."""
_TEST_FOLDER = re.compile(r"\btest_\w*\d\b")
"""A test's temporary folder."""


class Recorder:
    """Collects the text of each problem, by its code. Texts of a `FleetError`, which users see, are first."""

    def __init__(self) -> None:
        self.seen: dict[str, dict[str, tuple[int, str, Problem]]] = {}
        self.lines: dict[str, list[str]] = {}
        """Lines of `llm-fleet plan` that end in a code."""
        self.test = ""

    def add(self, problem: Problem, rank: int) -> None:
        """Record `problem` under the running test."""
        text = _shown(Problem.__str__(problem))
        if len(text) > _LONGEST or "Token[" in text or not problem.remedy or not problem.message:
            return
        entry = (rank, self.test, problem)
        kept = self.seen.setdefault(problem.code.value, {})
        kept[text] = min(kept.get(text, entry), entry, key=lambda each: each[:2])

    def add_line(self, text: str) -> None:
        """Record a line of `llm-fleet plan` if it ends in a code."""
        if (found := _CODE.search(text)) and "Token[" not in text:
            self.lines.setdefault(found[1], []).append(_shown(text))

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Set the test that is running."""
        self.test = item.nodeid

    def chosen(self) -> dict[str, list[str]]:
        """Return a few texts of each code, each with another message."""
        problems = {code: self._of_code(texts) for code, texts in sorted(self.seen.items(), key=_number)}
        return {code: chosen(sorted(set(lines), key=len)) for code, lines in self.lines.items()} | problems

    def _of_code(self, texts: Mapping[str, tuple[int, str, Problem]]) -> list[str]:
        ordered = sorted(texts.items(), key=_order)[:_MOST_COMPARED]
        return chosen([text for text, (_, _, problem) in ordered if template_of(problem.remedy)])


def chosen(texts: list[str]) -> list[str]:
    """Return a few of `texts`, in their order: first each with another template, then with other words."""
    by_template: dict[str, str] = {}
    by_words: dict[str, str] = {}
    for text in texts:
        if _UNWANTED.search(text):
            continue
        first, *others = text.splitlines()
        message = others[0].strip() if others else first
        if not others:
            by_words.setdefault(_VALUE.sub("", message.partition(": ")[2]), text)
        elif template := template_of(message):
            by_template.setdefault(template, text)
            by_words.setdefault(_VALUE.sub("", message), text)
    return list(dict.fromkeys([*by_template.values(), *by_words.values()]))[:_MOST]


def _shown(text: str) -> str:
    """Return `text` with other names for what only the tests have."""
    return _OF_TESTS.sub("second", _TEST_FOLDER.sub("my-fleet", _FOLDER.sub("", text)))


def _order(entry: tuple[str, tuple[int, str, Problem]]) -> tuple[Any, ...]:
    text, (rank, test, problem) = entry
    return rank, -len(problem.path), test, len(text), text


def _number(entry: tuple[str, Any]) -> int:
    return int(entry[0].removeprefix("LF"))


@functools.cache
def template_of(text: str) -> str:
    """Return the template of the sources that `text` was made from; empty if there is none."""
    for template, (longest, pattern) in source_templates().items():
        if longest in text and (pattern.fullmatch(text) or (len(longest) >= _CLEAR and pattern.match(text))):
            return template
    return ""


def _patched(recorder: Recorder) -> Callable[[], None]:
    of_problem, of_error = Problem.__init__, FleetError.__init__
    of_number, of_line, of_loss = OutOfRange.__init__, Toned.__init__, Loss.__init__

    def problem_made(self: Problem, *args: Any, **kwargs: Any) -> None:
        of_problem(self, *args, **kwargs)
        recorder.add(self, 2)

    def error_made(self: FleetError, *args: Any, **kwargs: Any) -> None:
        of_error(self, *args, **kwargs)
        for problem in self.problems:
            recorder.add(problem, 0 if isinstance(problem, LocatedProblem) else 1)

    def number_made(self: OutOfRange, *args: Any, **kwargs: Any) -> None:
        of_number(self, *args, **kwargs)
        recorder.add(self, 2)

    def line_made(self: Toned, *args: Any, **kwargs: Any) -> None:
        of_line(self, *args, **kwargs)
        recorder.add_line(self.text)

    def loss_made(self: Loss, *args: Any, **kwargs: Any) -> None:
        of_loss(self, *args, **kwargs)
        recorder.add_line(f"{self.where}: {self.what} [{self.code}]")

    Problem.__init__ = problem_made
    OutOfRange.__init__ = number_made
    FleetError.__init__ = error_made
    Toned.__init__ = line_made
    Loss.__init__ = loss_made

    def undo() -> None:
        Problem.__init__ = of_problem
        OutOfRange.__init__ = of_number
        FleetError.__init__ = of_error
        Toned.__init__ = of_line
        Loss.__init__ = of_loss

    return undo


def main(tests: list[str]) -> int:
    """Run `tests`, and write their examples."""
    recorder = Recorder()
    undo = _patched(recorder)
    try:
        pytest.main(["-q", "-n0", "-p", "no:cacheprovider", *tests], plugins=[recorder])
    finally:
        undo()
    kept: dict[str, list[str]] = json.loads(PLACE.read_text(encoding="utf-8")) if PLACE.exists() else {}
    made = recorder.chosen()
    both = {code: chosen([*made.get(code, []), *kept.get(code, [])]) for code in {*made, *kept}}
    write({code: texts for code, texts in both.items() if texts})
    return 0


def write(examples: Mapping[str, list[str]], place: Path = PLACE) -> None:
    """Write `examples` in the order of their codes."""
    text = json.dumps(dict(sorted(examples.items(), key=_number)), indent=1, ensure_ascii=False)
    place.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [f"tests/{name}" for name in TESTS if (ROOT / "tests" / name).exists()]))
