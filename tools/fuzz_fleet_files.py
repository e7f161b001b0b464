"""Random fleet files: each must be accepted or refused with a reason. A traceback or a long run time is a bug.

    python -m tools.fuzz_fleet_files --count 10000 --seed 1 --processes 2
    python -m tools.fuzz_fleet_files --seed 1 --show 4711

A file is one of the examples with a few random changes: keys removed, misspelled, or added as the JSON Schema has
them, values of another kind or from elsewhere, and now and then a change of the text itself. File N of a seed is always
the same; `--show N` prints it and its result. All code that needs no AWS is run: reading, every rule, the error text,
and the queries that `llm-fleet check` would send to an account.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any, TypeGuard

import yaml

from llm_fleet.cli.check.preflight import questions_of
from llm_fleet.cli.check.question import Topic
from llm_fleet.fleet_file.document import parse
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError
from tools.synth_environment import ROOT

EXAMPLES = ROOT / "examples"
SCHEMA = ROOT / "schema" / "fleet.schema.json"
SECONDS = 5.0
"""CPU seconds, which do not depend on other load. A slower file fails, and is stopped after twice the time."""
MEMORY = 2 * 1024**3
"""Bytes that a process may have; it takes a twentieth of them."""
_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 1.5, 2**31, 2**63, 10**30, float("nan"), float("inf"), [], {}, [None]),
    *("", " ", "hello", "0", "-1", "None", "é☃", "\0", "a" * 5000, "a b", "a/b", "-", "a\nb", "${Token[TOKEN.1]}", "~"),
    *("10.0.0.0/16", "10.0.0.7/16", "10.0.0.0/33", "fd00::/64", "0.0.0.0/0", "999.1.1.1", "10.0.0.0"),
    *("us-west-2", "mars-1", "usw2-az4", "use1-az9", "ml.trn1.32xlarge", "ml.trn9.big", "t3.micro", "2026-11-23", "1h"),
    *("arn:aws:iam::111122223333:role/x", "arn:aws:::", "vpc-0123456789abcdef0", "subnet-0", "s3://b", "s3://"),
    *("../../etc/passwd", "/dev/zero", "full", "tiny-llama.json", "https://", "http://[", "a@b", "2.28.1", "cron(* *)"),
    *({"a": {"b": 1}}, [["a"], 1], {1: 2}, [{}], ["usw2-az4", "usw2-az4"], {"usw2-az4": "hello"}),
)
_SIGNS = ":{}[]&*!|>'\"%@`#\t,?-\\ \n"


@dataclass(kw_only=True)
class Found:
    """Results of some files."""

    good: int = 0
    codes: Counter[str] = field(default_factory=Counter[str])
    """How many files were refused with each code."""
    slowest: tuple[float, int] = (0.0, -1)
    """CPU seconds, and the number of the file."""
    failures: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Numbers of files, each with its traceback or its time."""

    def add(self, other: Found) -> None:
        """Add the results of other files."""
        self.good += other.good
        self.codes += other.codes
        self.slowest = max(self.slowest, other.slowest)
        self.failures += other.failures


def fleet_file(seed: int, number: int) -> str:
    """Return the text of file `number` of `seed`."""
    draw = Random(f"{seed}/{number}")  # noqa: S311 - not for secrets
    document = _copy(draw.choice(_examples()))
    for _ in range(draw.choice((1, 1, 2, 3, 5))):
        draw.choice(_CHANGES)(document, draw)
    text = yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=draw.random() < 0.5)
    return _change_text(text, draw) if draw.random() < 0.1 else text


def try_file(text: str) -> tuple[str, ...]:
    """Return the codes with which a fleet file is refused, none if it is valid; raises unexpected exceptions."""
    try:
        fleet = parse_fleet(text, subject="fleet.yaml", directory=EXAMPLES)
    except FleetError as error:
        _ = str(error)
        return tuple({problem.code.value for problem in error.problems})
    questions_of(fleet, topics=list(Topic), ask_hub=False)
    return ()


def try_files(job: tuple[int, range]) -> Found:
    """Try the files of these numbers of a seed."""
    seed, numbers = job
    found = Found()
    for number in numbers:
        text = fleet_file(seed, number)
        begin = time.process_time()
        try:
            with _stopped_after(2 * SECONDS):
                codes = try_file(text)
        except Exception:  # What is looked for: anything at all.
            found.failures.append((number, traceback.format_exc()))
            continue
        seconds = time.process_time() - begin
        found.good += not codes
        found.codes.update(codes)
        found.slowest = max(found.slowest, (seconds, number))
        if seconds > SECONDS:
            found.failures.append((number, f"it took {seconds:.1f} s of CPU time; {SECONDS:g} s is the limit"))
    return found


@contextmanager
def _stopped_after(seconds: float) -> Generator[None]:
    """Raise `TimeoutError` after so many CPU seconds, for code that may never end."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"stopped after {seconds:g} s of CPU time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _is_mapping(value: Any) -> TypeGuard[dict[Any, Any]]:
    return isinstance(value, dict)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


@cache
def _examples() -> tuple[Any, ...]:
    return tuple(
        parse(path.read_text(encoding="utf-8"), subject=path.name).data for path in sorted(EXAMPLES.glob("*.yaml"))
    )


@cache
def _schema() -> dict[str, Any]:
    return json.loads(SCHEMA.read_text(encoding="utf-8"))


@cache
def _definitions() -> tuple[dict[str, Any], ...]:
    """Return what the JSON Schema says of each kind of mapping."""
    return tuple(each for each in (_schema(), *_schema()["$defs"].values()) if "properties" in each)


@cache
def _values() -> dict[str, list[Any]]:
    """Return what the examples have at each key."""
    found: dict[str, list[Any]] = {}
    for document in _examples():
        for holder, key in _places(document):
            found.setdefault(str(key), []).append(holder[key])
    return found


def _places(node: Any) -> list[tuple[Any, Any]]:
    """Return each place in a document as a mapping or list with a key of it."""
    items = node.items() if _is_mapping(node) else enumerate(node) if _is_list(node) else ()
    return [place for key, value in list(items) for place in ((node, key), *_places(value))]


def _place(document: Any, draw: Random) -> tuple[Any, Any]:
    places = _places(document)
    return draw.choice(places) if places else ({"": None}, "")


def _put_odd(document: Any, draw: Random) -> None:
    holder, key = _place(document, draw)
    holder[key] = _copy(draw.choice(_ODD))


def _put_from_elsewhere(document: Any, draw: Random) -> None:
    holder, key = _place(document, draw)
    known = _values().get(str(key)) if draw.random() < 0.7 else None
    holder[key] = _copy(draw.choice(known or draw.choice(list(_values().values()))))


def _remove(document: Any, draw: Random) -> None:
    holder, key = _place(document, draw)
    del holder[key]


def _misspell(document: Any, draw: Random) -> None:
    holder, key = _place(document, draw)
    if _is_mapping(holder):
        at = draw.randrange(len(str(key)) + 1)
        other = str(key)[:at] + draw.choice("abx_-1 ") + str(key)[at + draw.randrange(2) :]
        holder[draw.choice([other, *_values()])] = holder.pop(key)
    else:
        holder.insert(draw.randrange(len(holder) + 1), _copy(holder[key]))


def _add_by_schema(document: Any, draw: Random) -> None:
    mappings = [document, *(holder[key] for holder, key in _places(document))]
    holder = draw.choice([each for each in mappings if _is_mapping(each)] or [{}])
    kinds = [each["properties"] for each in _definitions() if holder.keys() <= each["properties"].keys()]
    if kinds:
        properties = draw.choice(kinds)
        name = draw.choice(list(properties))
        holder[name] = _of_schema(properties[name], draw)


_CHANGES: tuple[Callable[[Any, Random], None], ...] = (
    _put_odd,
    _put_odd,
    _put_from_elsewhere,
    _remove,
    _misspell,
    _add_by_schema,
    _add_by_schema,
)


def _of_schema(schema: Any, draw: Random, depth: int = 4) -> Any:
    """Return a value that fits `schema` more or less."""
    if draw.random() < 0.1 or depth == 0 or not _is_mapping(schema):
        return _copy(draw.choice(_ODD))
    if "$ref" in schema:
        return _of_schema(_schema()["$defs"][schema["$ref"].rpartition("/")[2]], draw, depth)
    if values := schema.get("enum", schema.get("examples", [schema["const"]] if "const" in schema else [])):
        return _copy(draw.choice(values))
    if others := schema.get("anyOf", schema.get("oneOf")):
        return _of_schema(draw.choice(others), draw, depth)
    match schema.get("type"):
        case "object":
            return _mapping(schema, draw, depth - 1)
        case "array":
            return [_of_schema(schema.get("items"), draw, depth - 1) for _ in range(draw.randrange(3))]
        case "integer":
            return draw.choice((0, 1, 2, 3, 8, 100, 1200, -1, 10**9))
        case "boolean":
            return draw.random() < 0.5
        case _:
            return draw.choice(("hello", "a", "1", "x" * 70))


def _mapping(schema: dict[str, Any], draw: Random, depth: int) -> dict[str, Any]:
    properties, required = schema.get("properties", {}), schema.get("required", ())
    chosen = [name for name in properties if name in required or draw.random() < 0.2]
    found = {name: _of_schema(properties[name], draw, depth) for name in chosen}
    values = schema.get("additionalProperties")
    if _is_mapping(values):
        names = draw.sample(("a", "train", "workers", "usw2-az4", "big-name", "X", "1"), draw.randrange(3))
        found |= {name: _of_schema(values, draw, depth) for name in names}
    return found


def _change_text(text: str, draw: Random) -> str:
    lines = text.split("\n")
    at = draw.randrange(len(lines))
    match draw.randrange(5):
        case 0:
            lines[at] = draw.choice(("  ", " ", "\t", "- ")) + lines[at]
        case 1:
            lines[at] = lines[at].lstrip()
        case 2:
            lines.insert(at, lines[draw.randrange(len(lines))])
        case 3:
            column = draw.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:column] + draw.choice(_SIGNS) + lines[at][column:]
        case _:
            return text[: draw.randrange(len(text) + 1)]
    return "\n".join(lines)


def _copy(value: Any) -> Any:
    if _is_mapping(value):
        return {key: _copy(each) for key, each in value.items()}
    return [_copy(each) for each in value] if _is_list(value) else value


def fuzz(*, count: int, seed: int, processes: int) -> Found:
    """Try `count` files of `seed`. Raises `BrokenProcessPool` where one ends its process."""
    jobs = [(seed, range(begin, min(begin + 50, count))) for begin in range(0, count, 50)]
    found = Found()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=spawn, initializer=_limit_memory) as pool:
        for each in pool.map(try_files, jobs):
            found.add(each)
    return found


def _limit_memory() -> None:
    """Let a file that takes more than `MEMORY` end in a `MemoryError`, and no machine run out of it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def main() -> int:
    """Try the requested number of files; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz_fleet_files", description="try random fleet files")
    parser.add_argument("--count", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--seed", type=int, default=1, help="number that determines the files (default: 1)")
    parser.add_argument("--processes", type=int, default=2, help="default: 2")
    parser.add_argument("--show", type=int, metavar="N", help="print file N, and try it alone")
    given = parser.parse_args()
    if given.show is not None:
        print(fleet_file(given.seed, given.show))
        print(*(try_file(fleet_file(given.seed, given.show)) or ("it is valid",)), file=sys.stderr)
        return 0
    begin = time.perf_counter()
    found = fuzz(count=given.count, seed=given.seed, processes=given.processes)
    seconds, number = found.slowest
    print(
        f"{given.count} files of seed {given.seed} in {time.perf_counter() - begin:.0f} s: {found.good} are valid, the"
    )
    print(f"others were refused with {len(found.codes)} codes; the slowest, {number}, took {seconds:.2f} s")
    for failed, text in sorted(found.failures):
        print(f"\nfile {failed} of seed {given.seed}:\n{text}")
    print(f"{len(found.failures)} failed")
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
