"""A Lustre file system of a fleet file that is linked to a bucket of the same file."""

import aws_cdk as cdk
from aws_cdk.assertions import Template

from llm_fleet.config.load import parse_fleet
from llm_fleet_stacks.fleet_stacks import FleetStacks

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


def test_the_link_waits_for_the_bucket_and_fsx_may_use_its_key(app: cdk.App) -> None:
    stacks = FleetStacks.make(app, parse_fleet(FLEET, subject="fleet.yaml"), account="111122223333")
    template = Template.from_stack(stacks.storage)
    bucket = stacks.storage.resolve(stacks.storage.buckets["corpus"].bucket_name)
    (link,) = template.find_resources("AWS::FSx::DataRepositoryAssociation").values()
    assert link["Properties"]["DataRepositoryPath"] == {"Fn::Join": ["", ["s3://", bucket, "/books/"]]}
    (key,) = template.find_resources("AWS::KMS::Key").values()
    assert "AWSServiceRoleForFSxS3Access" in str(key["Properties"]["KeyPolicy"])
