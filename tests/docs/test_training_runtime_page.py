"""The page on the training runtime: its tables match the catalog, its defaults match the code, and its examples run."""

import re

from llm_fleet import CompileCache, TrainingRuntime
from llm_fleet.catalog.neuron import neuron_releases
from llm_fleet.catalog.training_environments import (
    pythons_of,
    training_fabrics,
    training_stacks,
    usual_cache_days,
    usual_folder,
    usual_python,
    usual_release,
    usual_stack,
)
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.codes import Code
from llm_fleet.spec.model import kinds_of
from llm_fleet.spec.training_runtime import AnyEnvironment
from tests.fleet_file.good_fleet import edited
from tests.pages import CONSTRUCTS, check_made, examples, run_examples

PAGE = CONSTRUCTS / "training-runtime.md"


def _rows(head: str, rows: list[str]) -> str:
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *rows])


def _stack(name: str) -> str:
    stack = training_stacks()[name]
    usual = usual_release(name)
    pins = "<br>".join(f"`{package}=={version}`" for package, version in stack.pins(neuron_releases()[usual]).items())
    releases = f"{stack.releases()[-1].name} to {stack.releases()[0].name}"
    python = ", ".join(pythons_of(usual))
    families = ", ".join(stack.families)
    return (
        f"| `{name}` | {stack.title} | {families} | {releases} | {usual}, {usual_python(usual)} of {python} | {pins} |"
    )


def _fabric(name: str) -> list[str]:
    variables = training_fabrics()[name].variables
    return [
        f"| `{name}` | `{each.name}={each.value}` | {each.reason}{f'; before {each.before}' if each.before else ''} |"
        for each in variables
    ] or [f"| `{name}` | none | |"]


TABLES = {
    "stacks": _rows(
        "| stack | description | trains on | releases | default release and Python | its packages |",
        [_stack(name) for name in training_stacks()],
    ),
    "fabrics": _rows("| fabric | variable | reason |", [row for name in training_fabrics() for row in _fabric(name)]),
    "codes": _rows(
        "| code | error |",
        [f"| `{code.value}` | {code.title_} |" for code in Code if re.fullmatch(r"LF8[012]\d", code.value)],
    ),
}


def test_generated_tables_are_up_to_date() -> None:
    check_made(PAGE, **TABLES)


def test_every_parameter_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert set(TrainingRuntime.model_fields) <= rows
    kinds = {kind.__name__ for kind in kinds_of(AnyEnvironment).values()}
    assert set(re.findall(r"^\| `(\w+)\(", page, re.MULTILINE)) == kinds


def test_defaults_are_those_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")
    reported = re.search(r"`CompileCache\(max_age_days=(\d+), max_gib=None\)`", page)
    assert reported is not None
    assert CompileCache() == CompileCache(max_age_days=int(reported[1]), max_gib=None)
    assert usual_cache_days() == CompileCache().max_age_days
    assert f"| `compile_cache` | {usual_cache_days()} days unused" in page
    assert f"| `folder` | `{usual_folder()}` on the Lustre" in page
    assert not any(field.is_required() for field in TrainingRuntime.model_fields.values())
    assert [usual_stack(family) for family in ("trn1", "trn2")] == [("nxd", "2.28.1"), ("torchneuron", "2.33.0")]


def test_the_examples_run() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert isinstance(run_examples(page)["runtime"], TrainingRuntime)
    lines = examples(page, "yaml")[0].splitlines()[2:]
    text = edited("kind: hyperpod\n", "kind: hyperpod\n" + "".join(f"{line}\n" for line in lines))
    assert parse_fleet(text).clusters["ml"].training is not None
