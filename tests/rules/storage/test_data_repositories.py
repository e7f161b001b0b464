"""Rules of FSx for Lustre's links to S3."""

from typing import Any

import pytest

from llm_fleet import DataRepository, LustreBackups, LustreDeploymentType, LustreSpec, LustreStorageType
from llm_fleet.rules.buckets import check_data_repositories
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, Problem


def link(directory: str = "/data", s3_path: str = "s3://corpus/", **options: Any) -> DataRepository:
    return DataRepository(file_system_path=directory, s3=s3_path, **options)


def check(*repositories: DataRepository, **settings: Any) -> list[Problem]:
    return check_data_repositories(LustreSpec(**settings), repositories)


def test_the_default_file_system_can_be_linked():
    assert check(link()) == []
    assert check() == []


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"deployment_type": LustreDeploymentType.SCRATCH_1}, ("data_repositories",)),
        ({"storage_type": LustreStorageType.INTELLIGENT_TIERING}, ("data_repositories",)),
        ({"deployment_type": LustreDeploymentType.SCRATCH_2, "version": "2.10"}, ("version",)),
    ],
)
def test_some_file_systems_cannot_be_linked(settings: dict[str, Any], path: tuple[str, ...]):
    (problem,) = check(link(), **settings)
    assert (problem.code, problem.path) == (Code.DATA_REPOSITORY_UNSUPPORTED, path)
    assert check(**settings) == []


@pytest.mark.parametrize(("name", "requested", "none"), [("retention_days", 7, 0), ("copy_tags", True, False)])
def test_a_linked_file_system_has_no_backups(name: str, requested: Any, none: Any):
    (problem,) = check(link(), backups=LustreBackups(**{name: requested}))
    assert (problem.code, problem.path) == (Code.FILE_SYSTEM_BACKUP, ("backups", name))
    assert problem.remedy == "remove it if nothing is deployed yet, or link a second file system to S3"
    assert check(link(), backups=LustreBackups(**{name: none})) == []


def test_eight_links_are_allowed_and_one_more_is_not():
    eight = [link(f"/data{n}", f"s3://corpus-{n}") for n in range(8)]
    assert check(*eight) == []
    (problem,) = check(*eight, link("/more", "s3://more-of-it"))
    assert (problem.code, problem.value, problem.allowed) == (Code.DATA_REPOSITORY_LIMIT, 9, "at most 8")


@pytest.mark.parametrize(
    ("first", "second"),
    [("/data", "/data"), ("/data", "/data/"), ("/data/", "/data/sub"), ("/data/sub", "/data"), ("/", "/data")],
)
def test_directories_must_not_overlap(first: str, second: str):
    (problem,) = check(link(first, "s3://one-bucket"), link(second, "s3://another-bucket"))
    assert problem.code == Code.DATA_REPOSITORY_OVERLAP
    assert problem.where == "data_repositories[1].file_system_path"
    assert repr(first) in problem.message


def test_s3_paths_must_not_overlap():
    (problem,) = check(link("/a", "s3://corpus/en"), link("/b", "s3://corpus/en/books/"))
    assert problem.where == "data_repositories[1].s3"


@pytest.mark.parametrize(("first", "second"), [("/data", "/data2"), ("/data/a", "/data/b")])
def test_neighbors_do_not_overlap(first: str, second: str):
    assert check(link(first, "s3://one-bucket"), link(second, "s3://one-bucket2")) == []


def test_tokens_that_look_alike_are_the_same_bucket():
    token = "s3://${Token[TOKEN.7]}/"
    assert check(link("/a", token), link("/b", "s3://${Token[TOKEN.8]}/")) == []
    (problem,) = check(link("/a", token), link("/b", token + "books/"))
    assert problem.code == Code.DATA_REPOSITORY_OVERLAP


@pytest.mark.parametrize(
    "s3_path", ["corpus", "s3://", "s3://A-Bucket", "https://corpus.s3.amazonaws.com", "s3:/corpus", "s3://ab"]
)
def test_an_invalid_s3_path_is_reported(s3_path: str):
    (problem,) = check(link(s3_path=s3_path))
    assert (problem.code, problem.value) == (Code.DATA_REPOSITORY_PATH, s3_path)
    assert problem.where == "data_repositories[0].s3"


def test_a_directory_without_a_slash_gets_a_suggestion():
    (problem,) = check(link("data"))
    assert (problem.code, problem.remedy) == (Code.DATA_REPOSITORY_PATH, "write `/data`")


@pytest.mark.parametrize("name", ["auto_import", "auto_export"])
def test_an_unknown_event_is_reported(name: str):
    options: dict[str, Any] = {name: ("NEW", "DELETE")}
    with pytest.raises(FleetError) as rejected:
        link(**options)
    (problem,) = rejected.value.problems
    assert (problem.code, problem.where, problem.value) == (Code.NOT_A_CHOICE, f"{name}[1]", "DELETE")
    assert problem.allowed == "'NEW' or 'CHANGED' or 'DELETED'"


def test_a_prefix_requires_a_bucket_construct():
    (problem,) = check(link(prefix="books/"))
    assert (problem.code, problem.where) == (Code.DATA_REPOSITORY_PATH, "data_repositories[0].prefix")
    assert problem.remedy == "write the prefix in the URI, s3://bucket/prefix/"
