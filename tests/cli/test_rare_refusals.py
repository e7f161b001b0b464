"""Errors of commands that otherwise only a deployed fleet reports. The pages of errors show their texts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from llm_fleet.catalog.notebook import studio_facts
from llm_fleet.cli.nodes.nodes_table import check_group, check_status, rows_of
from llm_fleet.cli.write_files import check_place, write_archive
from llm_fleet.rules.feature_codes import LogsCode, NodesCode, SageMakerCode
from llm_fleet.rules.problem import AnyCode, FleetError, raise_problems
from llm_fleet.rules.sagemaker.notebook import check_script_size
from llm_fleet.sagemaker.notebook import check_lifecycle_script
from tests.cli.nodes.made_nodes import listing, node

NODES = listing(node("trn1"), node("controller"))
STUDIO_MOST = studio_facts().script_characters.maximum or 0


@pytest.mark.parametrize(
    ("refused", "code", "text"),
    [
        (lambda: check_group(NODES, "trn2"), NodesCode.GROUP_UNKNOWN, "write `trn1`"),
        (lambda: check_status(rows_of(NODES, None), "runing", "ml-cluster"), NodesCode.STATUS_UNKNOWN, "`Running`"),
        (
            lambda: raise_problems(check_lifecycle_script("x" * 12_289)),
            SageMakerCode.NOTEBOOK_SCRIPT,
            "would have 16388 characters",
        ),
        (
            lambda: raise_problems(check_script_size("x" * STUDIO_MOST, STUDIO_MOST, SageMakerCode.STUDIO_SCRIPT)),
            SageMakerCode.STUDIO_SCRIPT,
            "fewer clusters",
        ),
    ],
)
def test_one_error_with_its_remedy(refused: Callable[[], None], code: AnyCode, text: str) -> None:
    with pytest.raises(FleetError) as caught:
        refused()
    assert [problem.code for problem in caught.value.problems] == [code]
    assert text in str(caught.value)


def test_what_is_right_is_accepted() -> None:
    check_group(NODES, "trn1")
    check_status(rows_of(NODES, None), "running", "ml-cluster")
    assert check_lifecycle_script("x" * 12_288) == []
    assert check_script_size("x" * (STUDIO_MOST // 4 * 3), STUDIO_MOST, SageMakerCode.STUDIO_SCRIPT) == []


def test_a_bundle_replaces_no_file_and_needs_a_directory(tmp_path: Path) -> None:
    taken = tmp_path / "bundle.tar.gz"
    taken.write_text("mine")
    for refused in (lambda: check_place(taken), lambda: write_archive(taken, {"a": "b"})):
        with pytest.raises(FleetError) as caught:
            refused()
        assert caught.value.problems[0].code is LogsCode.BUNDLE_EXISTS
    assert taken.read_text() == "mine"
    with pytest.raises(FleetError, match=r"LF1141.*\n.*the directory .*none does not exist"):
        check_place(tmp_path / "none" / "bundle.tar.gz")
    assert list(tmp_path.iterdir()) == [taken]
