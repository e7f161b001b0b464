"""What each key of the fleet file is for, as the models say it."""

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from textwrap import dedent

from llm_fleet.spec.model import FleetModel


@cache
def descriptions(model: type[FleetModel]) -> Mapping[str, str]:
    """Return the text below each attribute of `model`, by attribute name.

    Pydantic can read it too, but does so whenever the models are imported: that took half of their time, on each synth.
    """
    tree = ast.parse(dedent(inspect.getsource(model)))
    (definition,) = tree.body
    assert isinstance(definition, ast.ClassDef)
    inherited = [base for base in model.__bases__ if issubclass(base, FleetModel)]
    found: dict[str, str] = {key: text for base in inherited for key, text in descriptions(base).items()}
    for statement, following in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text = _text(following)
            if text:
                found[statement.target.id] = text
    return {attribute: text for attribute, text in found.items() if attribute in model.model_fields}


def _text(statement: ast.stmt) -> str:
    """Return the text of a statement that is nothing but text."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return inspect.cleandoc(str(statement.value.value))
    return ""
