"""Breaks each check once and sees whether a test fails: `python -m tools.mutants --write FILE tests/rules …`.

A mutant is one error code whose problems are no longer reported: `raise_problems` leaves them out, and a rule that a
test calls directly reports them under a code that does not exist. Each test runs once as it is, which shows the codes
that it meets; then again with each of these codes broken, until one test has failed for the code. So the mutants do not
depend on which file a check is in, and two editions of the product can be compared: the file that is written names for
each code the test that caught it. `--compare BEFORE AFTER` prints the codes that were caught before and are not now.

Checks that run in another process (the CDK's own commands) and those of node scripts are not broken.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest
from _pytest.runner import runtestprotocol

from llm_fleet.rules import problem as problems_of_rules

_TRIES: Final = 6
"""Maximum number of tests for one code: tests that reach it by chance, and assert something else, do not catch it."""
_BROKEN = "BROKEN"


class Mutants:
    """The plugin of pytest: which codes the tests meet, and which test fails when one of them is broken."""

    def __init__(self) -> None:
        """Observe and break `Problem` in this process."""
        self.caught: dict[str, str] = {}
        self.tried: dict[str, list[str]] = {}
        self.failed_unbroken: list[str] = []
        self._met: set[str] = set()
        self._broken: str | None = None
        self._observe()

    def _observe(self) -> None:
        made = problems_of_rules.Problem.__init__

        def init(problem: Any, **fields: Any) -> None:
            code = str(getattr(fields["code"], "value", fields["code"]))
            self._met.add(code)
            if code == self._broken:
                fields["code"] = _Broken(_BROKEN)
            made(problem, **fields)

        problems_of_rules.Problem.__init__ = init  # type: ignore[method-assign]
        # The function object is imported by name in many modules, so its code is what can be exchanged.
        problems_of_rules.raise_problems.__code__ = _raise_unbroken.__code__

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> bool:
        """Run `item` once as it is, then with each code broken that it has met."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        self._met.clear()
        reports = runtestprotocol(item, nextitem=item, log=False)
        if any(report.failed for report in reports):
            self.failed_unbroken.append(item.nodeid)
            print(f"fails unbroken: {item.nodeid}", flush=True)
        elif not any(report.skipped for report in reports):
            for code in sorted(self._met):
                self._break(item, code)
        item.session._setupstate.teardown_exact(nextitem)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _break(self, item: Any, code: str) -> None:
        tried = self.tried.setdefault(code, [])
        if code in self.caught or len(tried) >= _TRIES:
            return
        tried.append(item.nodeid)
        item._initrequest()
        self._broken = code
        try:
            reports = runtestprotocol(item, nextitem=item, log=False)
        finally:
            self._broken = None
        if any(report.failed for report in reports):
            self.caught[code] = item.nodeid


class _Broken(str):
    """A code that no test expects; its `value` is what error texts show."""

    value = _BROKEN


def _raise_unbroken(problems: Iterable[Any], *, subject: str = "") -> None:
    found = [one for one in problems if str(one.code) != "BROKEN"]
    if found:
        raise FleetError(found, subject=subject)  # type: ignore[name-defined] # noqa: F821 - that of the other module


def all_codes() -> list[str]:
    """Return every error code that the product declares, those of nodes and functions left out."""
    base = importlib.import_module("llm_fleet.rules.problem").AnyCode
    for path in sorted(Path(problems_of_rules.__file__).parent.rglob("*codes.py")):
        parts = path.relative_to(Path(problems_of_rules.__file__).parents[1]).with_suffix("").parts
        importlib.import_module(".".join(("llm_fleet", *parts)))
    return sorted(str(code.value) for kind in base.__subclasses__() for code in kind)


def _compare(before: Path, after: Path) -> int:
    old, new = (json.loads(path.read_text()) for path in (before, after))
    lost = sorted(set(old["caught"]) - set(new["caught"]))
    print(f"before: {len(old['caught'])} of {len(old['codes'])} codes caught")
    print(f"after:  {len(new['caught'])} of {len(new['codes'])} codes caught")
    for code in lost:
        print(f"no longer caught: {code}, before by {old['caught'][code]}")
    return 1 if lost else 0


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="JSON file with what was caught, and by which test")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    parser.add_argument("tests", nargs="*", default=["tests"])
    arguments = parser.parse_args()
    if arguments.compare:
        return _compare(*arguments.compare)
    plugin = Mutants()
    pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", *arguments.tests], plugins=[plugin])
    codes = all_codes()
    result = {
        "codes": codes,
        "caught": dict(sorted(plugin.caught.items())),
        "met_but_not_caught": sorted(set(plugin.tried) - set(plugin.caught)),
        "not_met": sorted(set(codes) - set(plugin.tried)),
        "failed_unbroken": plugin.failed_unbroken,
    }
    if arguments.write:
        arguments.write.write_text(json.dumps(result, indent=1) + "\n")
    print({key: len(value) for key, value in result.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
