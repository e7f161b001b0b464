"""Finds the message and remedy of each error code in the sources, with a name for each value in them.

A text is looked up where it is written: a constant of the file, a variable of the function, a function that returns it,
and a rule that takes the code as an argument.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from tools.synth_environment import ROOT

_SOURCES = ("constructs", "stacks")
_DEEPEST = 4
"""Maximum number of look-ups: from a rule to the rule that it calls, to the function that returns the text."""
_RANGE = ("llm_fleet.rules.values", "check_number")
"""The rule that reports values of a field out of range."""
_Function = ast.FunctionDef
_Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """Texts of one use of a code. A text is empty if it is only known when the program runs."""

    message: str
    remedy: str


@cache
def reported_codes() -> Mapping[str, list[Reported]]:
    """Return the texts of each code, by its name in the sources: `Code.FILE_EMPTY`."""
    found: dict[str, list[Reported]] = {}
    for name in _names():
        if (module := _module(name)) is not None:
            for function, call in module.calls:
                reported = module.reported(call, function, _DEEPEST)
                for code in _codes(call):
                    found.setdefault(code, []).append(reported)
    return found


_FORMAT = re.compile(r"\{[a-z_]+\}")
_SHORTEST = 5
"""Length of the shortest literal text that identifies a template."""


@cache
def source_templates() -> Mapping[str, tuple[str, re.Pattern[str]]]:
    """Return every text of the sources with `…` for its values, its longest literal part and its pattern; the most
    specific text is first."""
    found: dict[str, tuple[str, re.Pattern[str]]] = {}
    for folder in _SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                literals = _literals(node)
                longest = max((part for part in literals if part is not None), key=len, default="")
                if len(longest) >= _SHORTEST and not longest.isspace() and "\n\n" not in longest:
                    pattern = "".join(".*" if part is None else re.escape(part) for part in literals)
                    name = "".join("…" if part is None else part for part in literals)
                    found[name] = (longest, re.compile(pattern, re.DOTALL))
    return dict(sorted(found.items(), key=lambda each: (-len(each[1][0]), each[0])))


def _literals(node: ast.AST) -> list[str | None]:
    """Return the literal parts of a text, with `None` for each value in it; empty for any other node."""
    if isinstance(node, ast.Constant):
        parts = _FORMAT.split(node.value) if isinstance(node.value, str) else []
        return [part for text in parts for part in (None, text)][1:]
    if not isinstance(node, ast.JoinedStr):
        return []
    return [part.value if isinstance(part, ast.Constant) else None for part in node.values]  # pyright: ignore


class _Module:
    """One file of the sources."""

    def __init__(self, tree: ast.Module) -> None:
        self.functions = {one.name: one for one in ast.walk(tree) if isinstance(one, _Function)}
        self.constants = _assigned(tree.body)
        self.homes = {
            alias.asname or alias.name: (one.module, alias.name)
            for one in ast.walk(tree)
            if isinstance(one, ast.ImportFrom) and one.module
            for alias in one.names
        }
        self.calls = [(function, call) for function, call in _calls(tree, None) if any(_codes(call))]
        self._variables: dict[str, dict[str, ast.expr]] = {}

    def reported(self, call: ast.Call, function: _Function | None, steps: int) -> Reported:
        """Return the texts of `call` in `function`: its own, or those of the rule that it calls."""
        named = {keyword.arg: self.text(keyword.value, function, steps) for keyword in call.keywords if keyword.arg}
        given = [text for value in _texts(call) if (text := self.text(value, function, steps))]
        remedy = named.get("remedy") or (given[-1] if len(given) > 1 else "")
        message = named.get("message") or (given[0] if len(given) > 1 else "")
        if (message and remedy) or steps == 0:
            return Reported(message=message, remedy=remedy)
        return self._shared(call, steps) or Reported(message=message, remedy=remedy)

    def text(self, value: ast.expr, function: _Function | None, steps: int) -> str:
        """Return a text with `{name}` for each value in it; an empty text if the value cannot be looked up."""
        match value:
            case ast.Constant(value=str() as text):
                return text
            case ast.JoinedStr(values=parts):
                return "".join(self._piece(part, function, steps) for part in parts)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.text(left, function, steps) + self.text(right, function, steps)
            case ast.IfExp(body=one, orelse=other):
                return self.text(one, function, steps) or self.text(other, function, steps)
            case ast.Name(id=name):
                return self._named(name, function, steps)
            case ast.Call(func=ast.Name(id=name)) if steps > 0:
                return self._returned(name, steps - 1)
            case _:
                return ""

    def _piece(self, part: ast.expr, function: _Function | None, steps: int) -> str:
        if isinstance(part, ast.FormattedValue):
            return f"{{{_called(part.value)}}}"
        return self.text(part, function, steps)

    def _named(self, name: str, function: _Function | None, steps: int) -> str:
        own: dict[str, ast.expr] = {}
        if function is not None:
            own = self._variables.setdefault(function.name, {}) or _assigned(function.body)
            self._variables[function.name] = own
        value = own.get(name) or self.constants.get(name)
        return self.text(value, function, steps - 1) if value is not None and steps > 0 else ""

    def _returned(self, name: str, steps: int) -> str:
        found = self._function(name)
        if found is None:
            return ""
        module, function = found
        returned = [one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None]
        return next((text for value in returned if (text := module.text(value, function, steps))), "")

    def _shared(self, call: ast.Call, steps: int) -> Reported | None:
        """Return the texts of the rule to which `call` passes its code."""
        found = self._function(call.func.id) if isinstance(call.func, ast.Name) else None
        if found is None:
            return None
        module, function = found
        names = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}
        for _, inner in _calls(function, function):
            given = [*inner.args, *(keyword.value for keyword in inner.keywords)]
            if any(isinstance(one, ast.Name) and one.id in names and one.id.endswith("code") for one in given):
                reported = module.reported(inner, function, steps - 1)
                if reported.message and reported.remedy:
                    return reported
        return None

    def _function(self, name: str) -> tuple["_Module", _Function] | None:
        if name in self.functions:
            return self, self.functions[name]
        home, original = _RANGE if name == "Within" else self.homes.get(name, ("", ""))
        module = _module(home)
        return (module, module.functions[original]) if module is not None and original in module.functions else None


def _names() -> Iterator[str]:
    """Yield the modules that report codes, in a fixed order."""
    for folder in _SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "Code." in path.read_text(encoding="utf-8"):
                yield path.relative_to(ROOT / folder).with_suffix("").as_posix().replace("/", ".")


@cache
def _module(name: str) -> _Module | None:
    """Return the module of that name, if it is part of llm-fleet."""
    for folder in _SOURCES:
        path = (ROOT / folder).joinpath(*name.split(".")).with_suffix(".py")
        if name and path.is_file():
            return _Module(ast.parse(path.read_text(encoding="utf-8")))
    return None


def _calls(node: ast.AST, function: _Function | None) -> Iterator[tuple[_Function | None, ast.Call]]:
    """Yield every call below `node`, with its function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield function, child
        yield from _calls(child, child if isinstance(child, _Function) else function)


def _texts(call: ast.Call) -> list[ast.expr]:
    """Return the positional arguments of `call`; of `spec.wrong(field, …)` without the field."""
    of_field = isinstance(call.func, ast.Attribute) and call.func.attr == "wrong"
    return call.args[1:] if of_field else call.args


def _codes(call: ast.Call) -> Iterator[str]:
    for value in (*call.args, *(keyword.value for keyword in call.keywords)):
        if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id.endswith("Code"):
            yield f"{value.value.id}.{value.attr}"


def _assigned(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """Return the first value of each name in `body` and in its branches."""
    found: dict[str, ast.expr] = {}
    for statement in body:
        for one in ast.walk(statement):
            if isinstance(one, ast.Assign) and len(one.targets) == 1:
                found |= {name: value for name, value in _pairs(one.targets[0], one.value) if name not in found}
    return found


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, part in zip(target.elts, value.elts, strict=False):
            yield from _pairs(one, part)


def _called(value: ast.expr) -> str:
    """Return the first name in an expression, in words."""
    names = [
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in ast.walk(value)
        if isinstance(node, ast.Attribute | ast.Name)
    ]
    return names[0].strip("_").replace("_", " ") if names else "…"
