"""Rules of notebook instances: each mistake with its code, path and remedy."""

from typing import Any

import pytest

from llm_fleet.catalog.notebook import NotebookPlatform
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.notebook import check_notebook
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.notebook import GitRepository, NotebookSpec

CODE_COMMIT = "https://git-codecommit.us-west-2.amazonaws.com/v1/repos/notebooks"
TOKEN = "${Token[TOKEN.12]}"


REPOSITORY = "https://github.com/aws/amazon-sagemaker-examples.git"


def found(**changes: Any) -> list[Problem]:
    """Return the problems of the valid notebook with these changes."""
    place = {
        "has_network": changes.pop("has_network", True),
        "network_internet": changes.pop("network_internet", InternetAccess.NAT),
    }
    good: dict[str, Any] = {"name": "lab", "repositories": (GitRepository(url=REPOSITORY),)}
    return check_notebook(NotebookSpec(**{**good, **changes}), **place)


CLOSED: dict[str, Any] = {"network_internet": InternetAccess.NONE}
FIVE = tuple(GitRepository(url=f"https://github.com/a/r{index}") for index in range(5))


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"name": None},
        {"idle_minutes": None},
        {"pins": ("sagemaker<3", "numpy >=1.26, <3", "torch==2.10.0", "x~=1.2")},
        {"pins": ()},
        {"name_prefixes": ("my-team-", "x")},
        {"has_network": False, "network_internet": None, "internet": True},
        {"internet": True},
        {"platform": NotebookPlatform.of("notebook-al2028-v1")},
        {"platform": NotebookPlatform.al2023()},
        {**CLOSED, "repositories": (GitRepository(url=CODE_COMMIT),)},
        {"repositories": FIVE[:4]},
        {"instance_type": "ml.p5.48xlarge"},
        {"instance_type": TOKEN, "platform": TOKEN, "volume_gib": -1.8881545897087e289, "pins": (TOKEN,)},
        {"repositories": (GitRepository(url=TOKEN, branch=TOKEN, secret_arn=TOKEN),), "name_prefixes": (TOKEN,)},
    ],
)
def test_valid_notebooks_have_no_problems(change: dict[str, Any]):
    assert found(**change) == []


@pytest.mark.parametrize(
    ("change", "code", "where", "words"),
    [
        ({"name": "my_lab"}, "LF900", "name", "`my-lab`"),
        ({"platform": "notebook-al1-v1"}, "LF910", "platform", "2023-02-01"),
        ({"platform": "notebook-al2-v3"}, "LF910", "platform", "`notebook-al2023-v1`"),
        ({"platform": NotebookPlatform.of("notebook-al2-v2")}, "LF910", "platform", "2025-06-30"),
        ({"platform": "notebook-al2023-v11"}, "LF911", "platform", "`notebook-al2023-v1`"),
        ({"platform": NotebookPlatform.of("ubuntu")}, "LF911", "platform", "notebook-al2023-v1"),
        ({"instance_type": "ml.p2.xlarge"}, "LF901", "instance_type", "`ml.g5.xlarge`"),
        ({"instance_type": "ml.p3.16xlarge"}, "LF901", "instance_type", "`ml.g5.2xlarge`"),
        ({"instance_type": "ml.inf1.xlarge"}, "LF901", "instance_type", "`ml.inf2.xlarge`"),
        ({"instance_type": "t3.medium"}, "LF902", "instance_type", "the instance type's name in EC2"),
        ({"instance_type": "ml.t3.nano"}, "LF902", "instance_type", "ml.t3.medium"),
        ({"instance_type": "ml.g9.xlarge"}, "LF902", "instance_type", "families"),
        ({"has_network": False, "network_internet": None}, "LF912", "internet", "internet=True"),
        ({**CLOSED, "internet": True, "repositories": ()}, "LF912", "internet", "bypasses"),
        ({"volume_gib": 4}, "LF913", "volume_gib", "5"),
        ({"volume_gib": 16385}, "LF913", "volume_gib", "16384"),
        ({"idle_minutes": 0}, "LF914", "idle_minutes", "None"),
        ({"idle_minutes": 9}, "LF914", "idle_minutes", "10"),
        ({"idle_minutes": 10081}, "LF914", "idle_minutes", "10080"),
        ({"repositories": (GitRepository(url="git@github.com:a/b.git"),)}, "LF915", "repositories[0].url", "https"),
        ({"repositories": (GitRepository(url="https://[host/a/b"),)}, "LF915", "repositories[0].url", "https"),
        ({"repositories": (GitRepository(url="http://github.com/a/b"),)}, "LF915", "repositories[0].url", "https"),
        ({"repositories": (GitRepository(url="https://github.com/"),)}, "LF915", "repositories[0].url", "https"),
        (
            {"repositories": (GitRepository(url=REPOSITORY, branch="a b"),)},
            "LF915",
            "repositories[0].branch",
            "git branch",
        ),
        (CLOSED, "LF915", "repositories[0].url", "CodeCommit"),
        ({"repositories": FIVE}, "LF916", "repositories[4]", "these are 5"),
        (
            {"repositories": (FIVE[0], GitRepository(url="https://x.org/b/r0.git"))},
            "LF916",
            "repositories[1].url",
            "r0",
        ),
        ({"pins": ("sagemaker",)}, "LF917", "pins[0]", "`sagemaker<3`"),
        ({"pins": ("sagemaker<3\ntorch<2",)}, "LF917", "pins[0]", "`sagemaker<3`"),
        ({"pins": ("-r https://example.com/x",)}, "LF917", "pins[0]", "`sagemaker<3`"),
        ({"name_prefixes": ("",)}, "LF919", "name_prefixes[0]", "every job"),
        ({"name_prefixes": ("my*",)}, "LF919", "name_prefixes[0]", "`my-team-`"),
    ],
)
def test_a_mistake_is_reported_with_its_remedy(change: dict[str, Any], code: str, where: str, words: str):
    (problem,) = found(**change)
    assert (problem.code.value, problem.where) == (code, where)
    assert words in str(problem)


def test_a_password_is_never_repeated():
    url = "https://ada:ghp_secret@github.com/a/b.git"
    (problem,) = found(repositories=(GitRepository(url=url),))
    assert (problem.code.value, problem.where) == ("LF915", "repositories[0].url")
    assert "ghp_secret" not in str(problem)
    assert "Secrets Manager secret" in problem.remedy


def test_all_problems_are_reported_together():
    wrong = found(
        name="-", instance_type="ml.p3.2xlarge", platform="notebook-al2-v1", volume_gib=1, idle_minutes=1,
        repositories=(GitRepository(url="x"),), pins=("x",), name_prefixes=("",), has_network=False,
        network_internet=None,
    )  # fmt: skip
    codes = [problem.code.value for problem in wrong]
    assert codes == ["LF900", "LF901", "LF910", "LF913", "LF914", "LF912", "LF915", "LF917", "LF919"]
