import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod_cluster import check_cluster
from tests.rules.hyperpod.findings import only
from tests.rules.hyperpod.shapes import cluster_with

GROUP = ("groups", "worker-group")


@pytest.mark.parametrize("image", ["my-image", "ami-xyz", "ami-0123", "ami-0123456789abcdef01", "", "Default"])
def test_image_that_is_no_ami(image: str):
    problem = only(check_cluster(cluster_with(image_id=image)), Code.IMAGE_ID, *GROUP, "image_id")
    assert "'ami-'" in problem.remedy
    assert problem.value == image


@pytest.mark.parametrize("version", ["1.2", "latest", "v1.2.3", "1.2.3-beta", "1." + "2" * 64 + ".3"])
def test_release_that_is_no_version(version: str):
    found = check_cluster(cluster_with(image_release_version=version))
    only(found, Code.IMAGE_RELEASE, *GROUP, "image_release_version")


def test_release_of_another_image():
    found = check_cluster(cluster_with(image_id="ami-0123456789abcdef0", image_release_version="1.2.3"))
    problem = only(found, Code.IMAGE_RELEASE, *GROUP, "image_release_version")
    assert problem.remedy == "drop the release, or the image"
