"""The storage stack: the bucket of clusters' scripts, and links to the fleet's own buckets."""

from collections.abc import Mapping

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet_stacks import fleet_stacks
from llm_fleet_stacks.fleet_stacks import FleetStacks

HEAD = "fleet: mine\nregion: us-west-2\nnetwork: {azs: [usw2-az1, usw2-az2]}\n"
SERVICES = "services: {chat: {model: s3://my-models/tanuki-8b, instance: inf2.xlarge, front: {http: true}}}\n"
CLUSTERS = (
    "clusters: {train: {kind: parallelcluster, head: {type: c5.4xlarge}, "
    "queues: {trn1: {type: trn1.32xlarge, max: 1}}}}\n"
)


class _StorageStackError(Exception):
    """Stops the creation of stacks at the storage stack, so that nothing is synthesized."""


@pytest.mark.parametrize(
    ("parts", "made"),
    [(SERVICES, False), (CLUSTERS, True), (SERVICES + CLUSTERS, True), ("", True)],
    ids=["services", "clusters", "both", "neither, for now"],
)
def test_only_a_fleet_with_services_alone_has_no_lifecycle_bucket(
    parts: str, made: bool, monkeypatch: pytest.MonkeyPatch
):
    def storage(*_: object, **options: object) -> None:
        raise _StorageStackError(options["lifecycle_bucket"])

    def network(*_: object, **__: object) -> Mapping[str, object]:
        return (None, None)  # pyright: ignore[reportReturnType]

    monkeypatch.setattr(fleet_stacks, "StorageStack", storage)
    monkeypatch.setattr(fleet_stacks, "_network", network)
    with pytest.raises(_StorageStackError) as stopped:
        FleetStacks.make(None, parse_fleet(HEAD + parts))  # pyright: ignore[reportArgumentType]
    assert stopped.value.args == (made,)


FLEET = """
fleet: linked
region: us-west-2
network: {az: usw2-az4}
storage:
  fsx: {size: 4800 GiB, import: "s3://our-corpus/books/"}
  buckets: {corpus: {name: our-corpus}}
clusters:
  train:
    kind: hyperpod
    groups:
      controller: {role: controller, type: ml.m5.xlarge, count: 1}
      trn1: {role: compute, type: ml.trn1.32xlarge, count: 1, partition: trn1}
"""


def test_the_link_depends_on_the_bucket_and_fsx_can_use_its_key(app: cdk.App) -> None:
    stacks = FleetStacks.make(app, parse_fleet(FLEET, subject="fleet.yaml"), account="111122223333")
    template = Template.from_stack(stacks.storage)
    bucket = stacks.storage.resolve(stacks.storage.buckets["corpus"].bucket_name)
    (link,) = template.find_resources("AWS::FSx::DataRepositoryAssociation").values()
    assert link["Properties"]["DataRepositoryPath"] == {"Fn::Join": ["", ["s3://", bucket, "/books/"]]}
    (key,) = template.find_resources("AWS::KMS::Key").values()
    assert "AWSServiceRoleForFSxS3Access" in str(key["Properties"]["KeyPolicy"])
