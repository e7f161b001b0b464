"""Reads the source of the separately installed aws-parallelcluster package, without importing or running it."""

import ast
import operator
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from llm_fleet_local.parallelcluster.client import provide_environment

_OPERATIONS: dict[type, Any] = {ast.Mult: operator.mul, ast.Add: operator.add, ast.Sub: operator.sub}


def folder() -> Path:
    """The package."""
    return next(provide_environment().glob("lib/python3.*/site-packages/pcluster"))


def assigned(module: str) -> Mapping[str, Any]:
    """Return the constants that a module assigns at its top, as far as they are plain values."""
    found: dict[str, Any] = {}
    for node in _tree(module).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = _value(node.value, found)
            except ValueError:
                continue
    return found


@cache
def validators() -> Mapping[str, str]:
    """Return every validator class that reports findings, with its module."""
    bases: dict[str, list[str]] = {}
    modules: dict[str, str] = {}
    for path in sorted(folder().glob("validators/*.py")):
        for node in _tree(f"validators/{path.stem}").body:
            if isinstance(node, ast.ClassDef):
                bases[node.name] = [base.id for base in node.bases if isinstance(base, ast.Name)]
                modules[node.name] = path.stem
    return {
        name: module
        for name, module in modules.items()
        if module != "common" and not name.startswith("_") and "Validator" in _ancestors(name, bases)
    }


def _ancestors(name: str, bases: Mapping[str, list[str]]) -> set[str]:
    direct = bases.get(name, [])
    return {*direct, *(far for near in direct for far in _ancestors(near, bases))}


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse((folder() / f"{module}.py").read_text(encoding="utf-8"))


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """Return the value of an expression of literals, names and sums."""
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_value(node.left, known), _value(node.right, known))
    if isinstance(node, ast.Dict):
        return {_value(k, known): _value(v, known) for k, v in zip(node.keys, node.values, strict=True) if k}
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(each, known) for each in node.elts]
    return ast.literal_eval(node)
