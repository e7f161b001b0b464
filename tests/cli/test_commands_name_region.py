"""AWS CLI commands in messages name the Region: the settings of the AWS CLI may have another one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import llm_fleet.cli

_CLI = Path(llm_fleet.cli.__file__).parent
_COMMAND = re.compile(r"`(aws (?:cloudformation|ec2|ecs|fsx|logs|sagemaker|ssm) [^`]*)`")
_IMPORTS = "importing"
"""It reads a file without calls to AWS; its texts name the command of the request."""


def _texts(tree: ast.AST) -> Iterator[str]:
    """Yield the strings, with `{}` for inserted values, without docstrings."""
    for parent in ast.walk(tree):
        for child in ast.iter_child_nodes(parent):
            if isinstance(parent, ast.Expr | ast.JoinedStr):
                continue
            if isinstance(child, ast.Constant) and isinstance(child.value, str):
                yield child.value
            elif isinstance(child, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in child.values)


def _commands() -> list[tuple[str, str]]:
    return [
        (file.relative_to(_CLI).as_posix(), command)
        for file in sorted(_CLI.rglob("*.py"))
        if _IMPORTS not in file.parts
        for text in _texts(ast.parse(file.read_text()))
        for command in _COMMAND.findall(text)
    ]


def test_each_command_of_a_regional_service_names_the_region():
    commands = _commands()
    assert len(commands) >= 10
    assert [one for one in commands if "--region {}" not in one[1]] == []
