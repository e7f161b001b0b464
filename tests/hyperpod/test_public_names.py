"""The names of `from llm_fleet import …`, which are imported only when they are used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import llm_fleet


def test_every_public_name_can_be_imported() -> None:
    for name in llm_fleet.__all__:
        assert getattr(llm_fleet, name).__name__ == name
        assert name in dir(llm_fleet)


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(llm_fleet.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname: f"{node.module}.{alias.name}" for node in imports for alias in node.names}
    homes = {
        name: f"llm_fleet.{home}.{name}"
        for home, names in llm_fleet._HOMES.items()  # pyright: ignore[reportPrivateUsage]
        for name in names
    }
    assert seen == homes


def test_an_unknown_name_is_an_import_error() -> None:
    with pytest.raises(AttributeError, match="HyperPodClustr"):
        llm_fleet.__getattr__("HyperPodClustr")


def test_import_loads_neither_the_cdk_nor_what_only_the_cli_needs() -> None:
    program = (
        "import llm_fleet, sys; print(sorted({'aws_cdk', 'boto3', 'jsii', 'pydantic', 'yaml'} & set(sys.modules)))"
    )
    assert run(program) == "[]"


def test_constructs_load_no_module_that_only_the_cli_needs() -> None:
    program = (
        "import sys; from llm_fleet import HyperPodCluster, FleetNetwork, LustreFileSystem; "
        "print(sorted({'boto3', 'yaml'} & set(sys.modules)))"
    )
    assert run(program) == "[]"


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()
