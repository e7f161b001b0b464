import pytest

from llm_fleet.catalog.hyperpod import InstanceType
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_cluster
from llm_fleet.rules.hyperpod.instance_group import check_lifecycle_source
from llm_fleet.rules.instance_type import check_instance_type, nearest_type, sizes_of
from tests.rules.hyperpod.findings import TOKEN, only
from tests.rules.hyperpod.shapes import cluster, cluster_with

HERE = ("groups", "worker-group", "instance_type")


def test_type_without_prefix():
    problem = only(check_cluster(cluster_with(instance_type="trn1.32xlarge")), Code.INSTANCE_TYPE_PREFIX, *HERE)
    assert problem.remedy == "write 'ml.trn1.32xlarge'"


@pytest.mark.parametrize("name", ["ml.inf2.xlarge", "inf2.48xlarge", "ml.inf1.6xlarge", "INF2.xlarge"])
def test_inferentia_is_pointed_to_where_it_belongs(name: str):
    problem = only(check_cluster(cluster_with(instance_type=name)), Code.INSTANCE_TYPE_INFERENTIA, *HERE)
    assert "inference service on ECS" in problem.remedy
    assert "ml.trn2.48xlarge" in problem.allowed
    assert "inf" not in problem.allowed


@pytest.mark.parametrize(
    ("name", "offer"),
    [
        ("ml.trn1.32xlrage", "ml.trn1.32xlarge"),
        ("ml.tn1.32xlarge", "ml.trn1.32xlarge"),
        ("ml.trn1.2xlarge", "ml.trn1.32xlarge"),
        ("ml.p5.48xl", "ml.p5.48xlarge"),
        ("p5.48xl", "ml.p5.48xlarge"),
        ("ml.trn1-32xlarge", "ml.trn1.32xlarge"),
        ("ml.p6-b200.48xlarg", "ml.p6-b200.48xlarge"),
    ],
)
def test_misspelt_type_gets_an_offer(name: str, offer: str):
    problem = only(check_cluster(cluster_with(instance_type=name)), Code.INSTANCE_TYPE_UNKNOWN, *HERE)
    assert problem.remedy.startswith(f"write {offer!r}, or InstanceType.of(…)")


def test_type_in_capitals_or_with_spaces():
    problem = only(check_instance_type(" ML.TRN1.32XLARGE"), Code.INSTANCE_TYPE_UNKNOWN)
    assert problem.remedy == "write 'ml.trn1.32xlarge'"
    assert "lower case" in problem.message


@pytest.mark.parametrize("name", ["ml.p3.16xlarge", "banana", ""])
def test_no_misleading_offer(name: str):
    assert nearest_type(name) is None
    problem = only(check_instance_type(name), Code.INSTANCE_TYPE_UNKNOWN)
    assert problem.remedy.startswith("write one of the allowed")
    assert "trn2" in problem.allowed


def test_family_without_size_lists_its_sizes():
    problem = only(check_instance_type("ml.p5"), Code.INSTANCE_TYPE_UNKNOWN)
    assert problem.allowed == "ml.p5.4xlarge, ml.p5.48xlarge"
    assert sizes_of("p5") == ["4xlarge", "48xlarge"]


def test_type_newer_than_the_catalog_passes_by_the_escape_alone():
    assert check_instance_type("ml.trn9.48xlarge") != []
    assert check_instance_type(InstanceType("ml.trn9.48xlarge")) != []
    assert check_instance_type(InstanceType.of("ml.trn9.48xlarge", network_cards=16)) == []


def test_no_type():
    problem = only(check_cluster(cluster_with(instance_type=None)), Code.INSTANCE_TYPE_CHOICE, *HERE)
    assert problem.message == "the group has no instance type"


def test_one_type_and_flexible_ones():
    found = check_cluster(cluster_with(instance_types=("ml.trn1n.32xlarge",)))
    problem = only(found, Code.INSTANCE_TYPE_CHOICE, "groups", "worker-group", "instance_types")
    assert problem.value == ["ml.trn1.32xlarge", "ml.trn1n.32xlarge"]


FLEXIBLE = ("groups", "worker-group", "instance_types")


def test_each_flexible_type_is_checked():
    found = check_cluster(cluster_with(instance_type=None, instance_types=("ml.trn1.32xlarge", "trn1n.32xlarge")))
    problem = only(found, Code.INSTANCE_TYPE_PREFIX, *FLEXIBLE, 1)
    assert problem.remedy == "write 'ml.trn1n.32xlarge'"


def test_flexible_type_twice():
    found = check_cluster(cluster_with(instance_type=None, instance_types=("ml.p5.48xlarge", "ml.p5.48xlarge")))
    problem = only(found, Code.INSTANCE_TYPES_TWICE, *FLEXIBLE)
    assert "stands 2 times" in problem.message


def test_twenty_flexible_types_fit_and_one_more_does_not():
    sizes = [f"ml.{family}.{size}xlarge" for family in ("c6i", "m6i", "r6i") for size in (2, 4, 8, 12, 16, 24, 32)]
    assert check_cluster(cluster_with(instance_type=None, instance_types=sizes[:20])) == []
    found = check_cluster(cluster_with(instance_type=None, instance_types=sizes))
    problem = only(found, Code.INSTANCE_TYPES_NUMBER, *FLEXIBLE)
    assert problem.value == 21


@pytest.mark.parametrize(
    ("types", "kind"),
    [
        (("ml.c6i.large", "ml.c6g.large"), "architecture"),
        (("ml.p5.48xlarge", "ml.trn1.32xlarge"), "accelerator"),
        (("ml.p5.48xlarge", "ml.m5.xlarge"), "accelerator"),
    ],
)
def test_flexible_types_of_unlike_kind(types: tuple[str, ...], kind: str):
    found = check_cluster(cluster_with(instance_type=None, instance_types=types))
    problem = only(found, Code.INSTANCE_TYPES_MIXED, *FLEXIBLE)
    assert f"differ in {kind}" in problem.message
    assert all(name in problem.message for name in types)


@pytest.mark.parametrize("threads", [0, 3])
def test_threads_per_core_out_of_range(threads: int):
    found = check_cluster(cluster_with(threads_per_core=threads))
    problem = only(found, Code.THREADS_PER_CORE, "groups", "worker-group", "threads_per_core")
    assert problem.allowed == "1 to 2"


def test_two_threads_on_a_processor_that_has_one():
    found = check_cluster(cluster_with(instance_type="ml.c7g.16xlarge", threads_per_core=2))
    problem = only(found, Code.THREADS_PER_CORE, "groups", "worker-group", "threads_per_core")
    assert "ml.c7g.16xlarge has one thread a core" in problem.message
    assert check_cluster(cluster_with(instance_type="ml.c7g.16xlarge", threads_per_core=1)) == []
    assert check_cluster(cluster_with(instance_type="ml.c6i.16xlarge", threads_per_core=2)) == []


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


def test_on_create_with_on_init_complete():
    found = check_cluster(cluster_with(on_create="on_create.sh", on_init_complete="on_init_complete.sh"))
    problem = only(found, Code.LIFECYCLE_BOTH_HOOKS, "groups", "worker-group", "on_create")
    assert "exclude each other" in problem.message
    assert "keep OnInitComplete" in problem.remedy


@pytest.mark.parametrize(
    ("script", "in_message"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        ("s" * 129, "is 129 characters long"),
        ("s3://bucket/on_create.sh", "is a path or an address"),
        ("/opt/on_create.sh", "is a path or an address"),
    ],
)
def test_script_names(script: str, in_message: str):
    problem = only(
        check_cluster(cluster_with(on_create=script, on_init_complete=None)),
        Code.LIFECYCLE_SCRIPT,
        "groups",
        "worker-group",
        "on_create",
    )
    assert in_message in problem.message


@pytest.mark.parametrize("uri", ["my-bucket/prefix", "", "ftp://my-bucket/x"])
def test_source_that_is_no_uri(uri: str):
    problem = only(
        check_cluster(cluster(lifecycle_source_s3_uri=uri)), Code.LIFECYCLE_SOURCE, "lifecycle_source_s3_uri"
    )
    assert problem.remedy == "write s3://<bucket>/<prefix>/"


def test_source_that_is_too_long():
    problem = only(
        check_lifecycle_source("s3://sagemaker-x/" + "p" * 1024, has_script=True),
        Code.LIFECYCLE_SOURCE,
        "lifecycle_source_s3_uri",
    )
    assert "is 1041 characters long" in problem.message


def test_script_without_a_source():
    problem = only(check_lifecycle_source(None, has_script=True), Code.LIFECYCLE_SOURCE, "lifecycle_source_s3_uri")
    assert "nothing says where it lies" in problem.message
    assert check_lifecycle_source(None, has_script=False) == []
    assert check_lifecycle_source(TOKEN, has_script=True) == []
