"""Compares sizes of the sources with their targets: `make house`, or `python -m tools.house --test-seconds 350 --list`.

Lines are those of Python files that git tracks or that are new. An **area** is a folder of `constructs/llm_fleet/`, or
`stacks/llm_fleet_stacks/`; no base name should occur twice in an area, and a file should have at least 30 lines.

**Lines that describe fields** are found by `ast`, each line once:

| kind | what counts |
|---|---|
| spec | bodies of classes in `spec/` that declare a field |
| model | bodies of other classes derived from `FleetModel` or a `Spec` that declare a field |
| view | bodies of classes named `…View` |
| protocol | bodies of classes derived from `Protocol`, or named `…Like` |
| typed dict | bodies of classes derived from `TypedDict` |
| mirror | bodies of classes elsewhere that describe the same thing as a spec, model or protocol |
| form | whole modules named `…forms` (classes of values, by name) or `short_form…`, `short_schema…` |
| translator | functions of `stacks/` named `…_from` or `…_spec`: from fleet-file models to values of constructs |

Two describe the same thing if they share at least three fields, and half of the larger one's, or half of the smaller
one's and a noun of their names. **Declarations of one field**: a class of `spec/` or a model, and the classes and
keyword constructors of other kinds that describe the same thing; each kind counts once, and the rendering once. It is a
lower bound: a field that has another name in another kind is not found.
"""

import argparse
import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PRODUCT = ("constructs/", "stacks/")
_CRUMB = 30
_MODELS = {"FleetModel", "BaseModel", "Spec"}
_FORMS = ("forms", "short_form", "short_schema")
_KIND_NOUNS = {"Config", "Configured", "Like", "Settings", "Spec", "View"}


@dataclass(frozen=True, slots=True)
class Target:
    """One row of the table; `counted` is `None` for what was not measured."""

    what: str
    most: float
    counted: float | None
    detail: str = ""

    @property
    def verdict(self) -> str:
        """Return `holds`, or the distance to the target."""
        if self.counted is None:
            return "not measured"
        over = self.counted - self.most
        return "holds" if over <= 0 else f"misses by {over:,.10g}"


@dataclass(frozen=True, slots=True)
class Described:
    """A class or a constructor that declares fields."""

    kind: str
    place: str
    name: str
    fields: frozenset[str]
    lines: tuple[int, int]

    def is_of_one_thing_with(self, other: "Described") -> bool:
        """Return whether both describe the same thing; see the module's text."""
        shared = len(self.fields & other.fields)
        smaller, larger = sorted((len(self.fields), len(other.fields)))
        return shared >= 3 and 2 * shared >= (smaller if _nouns(self.name) & _nouns(other.name) else larger)


def file_lines(root: Path, *places: str, name: str = "*.py") -> dict[str, int]:
    """Return the lines of each file below `places` whose name fits, by its path."""
    requested = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *places]
    listed = subprocess.run(requested, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
    files = [root / each for each in listed if each and Path(each).match(name)]
    return {str(each.relative_to(root)): each.read_text().count("\n") for each in files if each.is_file()}


def described(root: Path, files: Iterable[str]) -> list[Described]:
    """Return what declares fields in `files`, each with its kind."""
    trees = {file: ast.parse((root / file).read_text()) for file in files}
    models = _with_derived(trees.values(), _MODELS)
    found: list[Described] = []
    plain: list[Described] = []
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                kind = _kind(file, node, models)
                one = Described(kind, file, node.name, _fields(node), (node.lineno, node.end_lineno or node.lineno))
                (found if kind != "mirror" else plain).append(one)
                plain += _constructor(file, node)
    heads = [each for each in found if each.kind in ("spec", "model", "protocol")]
    outside = [each for each in plain if "/catalog/" not in each.place and "/cli/" not in each.place]
    found += [each for each in outside if any(head.is_of_one_thing_with(each) for head in heads)]
    return [each for each in found if each.fields]


def field_lines(root: Path, files: Collection[str]) -> int:
    """Return how many lines of `files` describe fields; see the module's text."""
    lines: set[tuple[str, int]] = set()
    for each in described(root, files):
        if each.kind != "constructor":
            lines |= {(each.place, number) for number in range(each.lines[0], each.lines[1] + 1)}
    for file in files:
        stem = Path(file).stem
        if stem.endswith(_FORMS[0]) or stem.startswith(_FORMS[1:]) or stem.endswith(_FORMS[1:]):
            lines |= {(file, number) for number in range(1, (root / file).read_text().count("\n") + 1)}
        elif file.startswith("stacks/"):
            lines |= {(file, number) for number in _translators(ast.parse((root / file).read_text()))}
    return len(lines)


def most_declared(found: Collection[Described]) -> tuple[int, str]:
    """Return the most declarations of one field, rendering included, and where they are."""
    best: tuple[int, str] = (0, "")
    for head in (each for each in found if each.kind in ("spec", "model")):
        kinds: dict[str, dict[str, str]] = defaultdict(dict)
        for each in (head, *(each for each in found if each.kind not in ("spec", "model"))):
            if each is head or head.is_of_one_thing_with(each):
                for name in each.fields & head.fields:
                    kinds[name].setdefault(each.kind, each.name)
        for name, places in kinds.items():
            best = max(best, (len(places) + 1, f"{name}: {', '.join(places.values())}, and its rendering"))
    return best


def crumbs(files: dict[str, int]) -> list[str]:
    """Return the files under 30 lines, except those that only define a package."""
    return sorted(file for file, lines in files.items() if lines < _CRUMB and Path(file).name != "__init__.py")


def same_names(files: Iterable[str]) -> dict[str, list[str]]:
    """Return base names that files of one area share, by area and name."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in files:
        area = file.split("/")[2 if file.startswith("constructs/") else 1 : 3][0]
        if Path(file).name not in ("__init__.py", "__main__.py"):
            found[f"{area}/{Path(file).name}"].append(file)
    return {name: sorted(places) for name, places in sorted(found.items()) if len(places) > 1}


def targets(root: Path, given: dict[str, float | None]) -> list[Target]:
    """Return every target with the counted value; `given` has the timings."""
    product = file_lines(root, *_PRODUCT)
    return [
        Target("lines of Python in constructs/ and stacks/", 80_000, sum(product.values())),
        Target("files there", 360, len(product)),
        Target("lines that describe fields", 8_000, field_lines(root, product)),
        Target("declarations of one field", 2, *most_declared(described(root, product))),
        Target("lines of test code", 78_000, sum(file_lines(root, "tests").values())),
        Target("lines of golden JSON", 40_000, sum(file_lines(root, "tests", name="*.json").values())),
        Target("`make test`, seconds on 2 cores", 360, given.get("test_seconds")),
        Target("`.ci/run`, seconds on 2 cores", 900, given.get("gate_seconds")),
        Target("synth over an empty app", 2.2, given.get("synth_ratio")),
    ]


def main(arguments: list[str] | None = None) -> None:
    """Print the table, and on request the small files and equal names."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.house", description="Compare sizes of the sources with their targets."
    )
    parser.add_argument("--test-seconds", type=float, help="wall time of `make test` on 2 cores, as measured")
    parser.add_argument("--gate-seconds", type=float, help="wall time of `.ci/run` on 2 cores, as measured")
    parser.add_argument("--synth-ratio", type=float, help="synth over an empty app, as `make bench` prints it")
    parser.add_argument("--list", action="store_true", help="list files under 30 lines and base names that occur twice")
    given = parser.parse_args(arguments)
    for each in targets(ROOT, vars(given)):
        counted = "-" if each.counted is None else f"{each.counted:,.10g}"
        print(f"{each.what:42}{counted:>9}  at most {each.most:>8,.10g}  {each.verdict}")
        if each.detail and each.verdict != "holds":
            print(f"    {each.detail}")
    product = file_lines(ROOT, *_PRODUCT)
    small, same = crumbs(product), same_names(product)
    print(f"{len(small)} files under {_CRUMB} lines; {len(same)} base names that occur twice in an area", end="")
    print(":" if given.list else " (--list names them)")
    if given.list:
        print("\n".join([*small, *(f"{name}: {' '.join(places)}" for name, places in same.items())]))


def _with_derived(trees: Iterable[ast.Module], roots: set[str]) -> set[str]:
    bases = {
        node.name: {_last(base) for base in node.bases}
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = set(roots)
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return found


def _kind(file: str, node: ast.ClassDef, models: set[str]) -> str:
    bases = {_last(base) for base in node.bases}
    if "TypedDict" in bases:
        return "typed dict"
    if "Protocol" in bases or node.name.endswith("Like"):
        return "protocol"
    if "/spec/" in file:
        return "spec"
    if bases & models:
        return "model"
    return "view" if node.name.endswith("View") else "mirror"


def _nouns(name: str) -> set[str]:
    return set(re.findall(r"[A-Z][a-z]+", name)) - _KIND_NOUNS


def _last(base: ast.expr) -> str:
    inner = base.value if isinstance(base, ast.Subscript) else base
    return inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")


def _fields(node: ast.ClassDef) -> frozenset[str]:
    """Return the annotated attributes and properties of a class, but for private ones and constants of the class."""
    names = {
        each.target.id
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and "ClassVar" not in ast.dump(each)
    }
    names |= {
        each.name
        for each in node.body
        if isinstance(each, ast.FunctionDef) and any(_last(mark) == "property" for mark in each.decorator_list)
    }
    return frozenset(name for name in names if not name.startswith("_"))


def _constructor(file: str, node: ast.ClassDef) -> Iterator[Described]:
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__init__" and each.args.kwonlyargs:
            names = frozenset(argument.arg for argument in each.args.kwonlyargs)
            yield Described("constructor", file, f"{node.name}()", names, (each.lineno, each.end_lineno or each.lineno))


def _translators(tree: ast.Module) -> Iterator[int]:
    for each in tree.body:
        if isinstance(each, ast.FunctionDef) and each.name.endswith(("_from", "_spec")):
            yield from range(each.lineno, (each.end_lineno or each.lineno) + 1)


if __name__ == "__main__":
    main()
