"""Writes docs/reference from docstrings: a page for each public construct, and one for the values of each package.

griffe reads the sources; only the specs are imported, so the CDK is not started.
"""

import os
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path

import griffe

from llm_fleet.spec.spec import Spec
from tools.make_docs_markdown import GENERATED, code, table
from tools.synth_environment import ROOT

PLACE = ROOT / "docs" / "reference"
_DESCRIBED = re.compile(r"(?:^|(?<=[.:;)\n]\s)|(?<=\n))((?:`\w+`(?:, | and )?)+): ")
_ASSUMPTION = re.compile(r"\bassumption: ((?:[a-z0-9]+-)+[a-z0-9]+)\b")
_NAME = re.compile(r"\b[A-Z]\w+\b")
_OF_SPEC = frozenset({"from_shorthand", "shorthand_schemas", "in_python"})
_SCOPE = "scope"
_UNREAD = ("cli", "fleet_file", "functions", "needs")
_PACKAGES = {
    "accounting": "Accounting",
    "catalog": "Instance types, versions",
    "hyperpod": "HyperPod",
    "iam": "IAM roles",
    "inference": "Inference",
    "jobs": "Training runs",
    "lifecycle": "Lifecycle scripts",
    "monitoring": "Monitoring",
    "named_files": "Input files",
    "network": "Network",
    "notifications": "Notifications",
    "parallelcluster": "ParallelCluster",
    "rules": "Values of settings, and errors",
    "sagemaker": "SageMaker",
    "spec": "Specs: settings in Python and in the fleet file",
    "storage": "Storage",
}


def pages() -> Mapping[str, str]:
    """Return the text of every page by its file name."""
    classes = public_classes()
    homes = {name: _page_of(one) for name, one in classes.items()}
    made: dict[str, str] = {}
    for page in sorted(set(homes.values())):
        members = {name: one for name, one in classes.items() if homes[name] == page}
        made[page] = _page(members, homes)
    return {name: _with_links(text) for name, text in {**made, "index.md": _index(classes, homes)}.items()}


def _with_links(text: str) -> str:
    """Return the page `text` with a link from each assumption's id to its entry in the register."""
    return _ASSUMPTION.sub(r"[assumption: \1](../assumptions.md#\1)", text)


class _Finder(griffe.ModuleFinder):
    """Skips modules without public classes: reading them would take longer than all the others."""

    def submodules(self, module: griffe.Module) -> list[tuple[tuple[str, ...], Path]]:
        """Return the modules below `module` to read."""
        found = super().submodules(module)
        return [one for one in found if one[0][0] not in _UNREAD and (one[0][0] != "rules" or _is_read(one[1]))]


def _is_read(rules: Path) -> bool:
    """Return whether a module of rules has a public name, or contains one that has."""
    return rules.stem == "__init__" or any(home.endswith(f".{rules.stem}") for home in _homes())


@cache
def _homes() -> dict[str, list[str]]:
    """Return the public names of each module."""
    source = (ROOT / "constructs" / "llm_fleet" / "__init__.py").read_text(encoding="utf-8")
    table = re.findall(r'^    "([a-z_.]+)": \(([^)]*)\),$', source, re.MULTILINE)
    return {home: re.findall(r'"(\w+)"', names) for home, names in table}


def public_classes() -> dict[str, griffe.Class]:
    """Return the public classes of `llm_fleet`, by name."""
    loader = griffe.GriffeLoader(search_paths=[ROOT / "constructs"], allow_inspection=False)
    loader.finder = _Finder([ROOT / "constructs"])
    package = loader.load("llm_fleet")
    found: dict[str, griffe.Class] = {}
    for home, names in _homes().items():
        for name in names:
            member = package[f"{home}.{name}"]
            if isinstance(member, griffe.Class):
                found[name] = member
    return dict(sorted(found.items()))


def is_construct(one: griffe.Class) -> bool:
    """Return whether the constructor of `one` has a scope, as constructs do."""
    made = one.all_members.get("__init__")
    return isinstance(made, griffe.Function) and _SCOPE in [parameter.name for parameter in made.parameters]


def _page_of(one: griffe.Class) -> str:
    package = one.canonical_path.split(".")[1]
    return f"{one.name}.md" if is_construct(one) else f"{package}-values.md"


def _page(members: Mapping[str, griffe.Class], homes: Mapping[str, str]) -> str:
    first = next(iter(members.values()))
    if is_construct(first):
        return f"# {first.name}\n\n{GENERATED}\n{_class(first, homes)}"
    title = _PACKAGES.get(first.canonical_path.split(".")[1], "More")
    parts = [f"## {name}\n\n{_class(one, homes)}" for name, one in members.items()]
    return f"# {title}: values\n\n{GENERATED}\n" + "\n".join(parts)


def _class(one: griffe.Class, homes: Mapping[str, str]) -> str:
    parts = [f"{code(f'from llm_fleet import {one.name}')}\n", _text(one), _own_page(one)]
    made = one.all_members.get("__init__")
    if isinstance(made, griffe.Function) and is_construct(one):
        parts.append(_parameters(made, homes))
    parts += [_fields(one, homes), _methods(one, homes)]
    return "\n".join(part for part in parts if part)


def _own_page(one: griffe.Class) -> str:
    """Return a link to the guide of `one`, if there is one: InferenceService, inference-service."""
    for page in sorted((ROOT / "docs" / "constructs").glob("*.md")):
        if page.stem.replace("-", "") == one.name.casefold():
            return f"Guide: [{page.stem}](../constructs/{page.name}).\n"
    return ""


def _text(one: griffe.Class | griffe.Function | griffe.Attribute) -> str:
    return f"{one.docstring.value.strip()}\n" if one.docstring is not None else ""


def _parameters(made: griffe.Function, homes: Mapping[str, str]) -> str:
    names = [one.name for one in made.parameters if one.name not in ("self", _SCOPE, "id")]
    descriptions = described(made.docstring.value if made.docstring is not None else "", names)
    rows = [
        (
            code(one.name),
            _type(str(one.annotation or ""), homes),
            code(str(one.default)) if one.default is not None else "required",
            descriptions.get(one.name, ""),
        )
        for one in made.parameters
        if one.name in names
    ]
    return table(("parameter", "type", "default", "description"), rows) if rows else ""


def described(docstring: str, names: list[str]) -> dict[str, str]:
    """Return the description of each of `names`: the text from "`name`: " or "`one`, `other`: " to the next."""
    found: dict[str, str] = {}
    starts = [
        (match, known)
        for match in _DESCRIBED.finditer(docstring)
        if (known := re.findall(r"`(\w+)`", match.group(1))) and set(known) <= set(names)
    ]
    for number, (match, known) in enumerate(starts):
        end = starts[number + 1][0].start() if number + 1 < len(starts) else len(docstring)
        for name in known:
            found[name] = docstring[match.end() : end].strip()
    return found


def _fields(one: griffe.Class, homes: Mapping[str, str]) -> str:
    """Return the fields of a value, the members of an enum, or the attributes of a construct."""
    own = [
        field
        for member in one.all_members.values()
        if isinstance(field := _written(member), griffe.Attribute)
        and field.is_public
        and "property" not in field.labels
    ]
    if _is_spec(one):
        return _spec_fields(one, homes)
    if is_construct(one):
        rows = [(code(field.name), _annotation(field, homes), _text(field)) for field in own if field.docstring]
        return "\n" + table(("attribute", "type", "what it is"), rows) if rows else ""
    rows = [(code(field.name), _annotation(field, homes), _default(field), _text(field)) for field in own]
    return table(("name", "type", "value or default", "what it is"), rows) if rows else ""


def _written(member: griffe.Object | griffe.Alias) -> griffe.Object | griffe.Alias:
    """Return a member where it is defined: an inherited member is an alias of the base's."""
    return member.final_target if isinstance(member, griffe.Alias) else member


def _is_spec(one: griffe.Class) -> bool:
    """Return whether `one` is a spec, whose fields also have keys in a fleet file."""
    return any(base.name == "Spec" for base in one.mro())


def _spec_fields(one: griffe.Class, homes: Mapping[str, str]) -> str:
    """Return the fields of a spec from pydantic, which needs no CDK."""
    spec: type[Spec] = getattr(import_module(one.canonical_path.rpartition(".")[0]), one.name)
    keys = spec.keys()
    rows: list[tuple[str, ...]] = []
    for name, field in spec.model_fields.items():
        key = spec.key_of(name)
        written = _written(one.all_members[name])
        assert isinstance(written, griffe.Attribute)
        plain = isinstance(field.default, bool | int | str) and not isinstance(field.default, Enum)
        default = code(repr(field.default)) if plain else _default(written)
        rows.append(
            (code(name), code(key) if key in keys else "none", _annotation(written, homes), default, _text(written))
        )
    return table(("name", "key in a fleet file", "type", "default", "what it is"), rows) if rows else ""


def _bare(annotation: str) -> str:
    """Return an annotation without the metadata in its `Annotated[…]`."""
    inner, depth, end = annotation.removeprefix("Annotated["), 0, None
    if inner == annotation:
        return annotation
    for index, letter in enumerate(inner):
        depth += (letter in "[(") - (letter in ")]")
        if letter == "," and depth == 0 and end is None:
            end = index
        if depth < 0:
            return inner[:end] + inner[index + 1 :]
    return inner


def _annotation(field: griffe.Attribute, homes: Mapping[str, str]) -> str:
    return _type(_bare(str(field.annotation or "")), homes)


def _default(field: griffe.Attribute) -> str:
    if field.value is None:
        return ""
    return code(str(field.value))


def _type(annotation: str, homes: Mapping[str, str]) -> str:
    """Return the type as code, with a link if one of its names is on these pages."""
    known = [name for name in _NAME.findall(annotation) if name in homes]
    if not known:
        return code(annotation)
    page = homes[known[0]]
    anchor = f"#{known[0].casefold()}" if page.endswith("-values.md") else ""
    return f"[{code(annotation)}]({page}{anchor})"


def _methods(one: griffe.Class, homes: Mapping[str, str]) -> str:
    # Members of every spec are described once, in `spec/spec.py`.
    members = one.members if _is_spec(one) else one.all_members
    rows = [row for name, member in members.items() if name not in _OF_SPEC for row in _method(member, homes)]
    return "\n" + table(("method or property", "description"), sorted(rows)) if rows else ""


def _method(member: griffe.Object | griffe.Alias, homes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if not member.is_public or member.docstring is None or member.name.startswith("_"):
        return
    description = " ".join(member.docstring.value.split())
    # An inherited member is an alias of the base's.
    if isinstance(member, griffe.Attribute) or (isinstance(member, griffe.Alias) and member.is_attribute):
        if "property" in member.labels:
            yield code(member.name), description
        return
    if isinstance(member, griffe.Function) or (isinstance(member, griffe.Alias) and member.is_function):
        names = [one.name for one in member.parameters if one.name not in ("self", "cls")]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportAttributeAccessIssue]
        yield code(f"{member.name}({', '.join(names)})"), description


def _index(classes: Mapping[str, griffe.Class], homes: Mapping[str, str]) -> str:
    parts = [
        "# Python API\n",
        f"{GENERATED}\nAll public classes of `llm_fleet`, by package. Each construct has its own page. [The guides of "
        "the constructs](../constructs/hyperpod-cluster.md) explain how to use and combine them. "
        "[`examples/strangers_stack.py`](../../examples/strangers_stack.py) is a complete program:\n\n"
        "```console\n$ python examples/strangers_stack.py\n```\n",
    ]
    for package, title in _PACKAGES.items():
        own = [one for one in classes.values() if one.canonical_path.split(".")[1] == package]
        if own:
            rows = [(_type(one.name, homes), _summary(one)) for one in own]
            parts.append(f"## {title}\n\n{table(('name', 'description'), rows)}")
    return "\n".join(parts)


def _summary(one: griffe.Class) -> str:
    return one.docstring.value.strip().split("\n\n")[0] if one.docstring is not None else ""


def write(place: Path = PLACE) -> None:
    """Write every page, and remove pages of removed classes."""
    place.mkdir(parents=True, exist_ok=True)
    made = pages()
    for old in place.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (place / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    os.chdir(ROOT)
    write()
