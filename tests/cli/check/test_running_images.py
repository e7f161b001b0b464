"""The image of a cluster that is deployed already, against what the fleet file asks of it now."""

from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.check.account import Account
from llm_fleet.cli.check.images import features_of
from llm_fleet.cli.check.question import Answer
from llm_fleet.cli.check.running_images import running_images
from llm_fleet.config.load import load_fleet
from tests.cli.check.conftest import TRN1
from tests.pains.told import told

_DATABASE = """
    accounting:
      endpoint: slurm.cluster-abc.us-west-2.rds.amazonaws.com
      secret: arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf
"""


class _Described(Account):
    """Answers DescribeCluster as the service does, with releases that the emulation does not have."""

    def __init__(self, release: str | None) -> None:
        super().__init__(AwsClients(region="us-west-2"))
        group = {"InstanceGroupName": "trn1", **({} if release is None else {"CurrentImageReleaseVersion": release})}
        self._told = {"InstanceGroups": [group]}

    def ask(self, service: str, operation: str, *, first_page: bool = False, **parameters: Any) -> dict[str, Any]:
        assert (service, operation, parameters) == ("sagemaker", "describe_cluster", {"ClusterName": "train"})
        return self._told


def _asked(folder: Path, release: str | None, text: str = TRN1) -> Answer:
    file = folder / "fleet.yaml"
    file.write_text(text, encoding="utf-8")
    cluster = load_fleet(file).hyperpod_clusters["train"]
    return running_images(cluster, "train", features_of(cluster))(_Described(release))


def test_an_image_that_is_older_than_a_feature_is_told_with_the_way_to_a_newer_one(tmp_path: Path):
    (problem,) = _asked(tmp_path, "2026-01-10").problems
    told(6, problem.message, "(SlurmConfig) needs one of 2026-01-25 or later")
    assert "aws sagemaker update-cluster-software --cluster-name train --region us-west-2`" in problem.remedy
    assert "llm-fleet upgrade train" in problem.remedy


def test_a_database_outside_of_the_cluster_asks_for_a_newer_image(tmp_path: Path):
    (problem,) = _asked(tmp_path, "20260701", TRN1.rstrip() + _DATABASE).problems
    assert "an accounting database outside of the cluster needs one of 2026-08-31 or later" in problem.message


@pytest.mark.parametrize(
    ("release", "detail"),
    [
        ("2026-09-01", "2026-09-01"),
        ("1.2.0", "1.2.0"),
        ("20269999", "20269999"),
        (None, "AWS does not tell its release"),
    ],
)
def test_what_is_new_or_tells_no_date_is_good(tmp_path: Path, release: str | None, detail: str):
    answer = _asked(tmp_path, release)
    assert (answer.detail, list(answer.problems)) == (detail, [])
