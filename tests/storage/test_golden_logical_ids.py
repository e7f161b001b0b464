"""Logical ids are API: a changed one replaces a resource, here one that holds data, in every user's account."""

import os

import aws_cdk as cdk
from aws_cdk.assertions import Template

from llm_fleet import DataRepository, LustreSpec
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.spec.buckets import BucketSpec
from llm_fleet.storage.buckets import AccessLogBucket, DataBucket
from llm_fleet.storage.fleet_key import FleetKey
from llm_fleet.storage.lustre import LustreFileSystem
from llm_fleet.storage.open_zfs import OpenZfsFileSystem
from tools.synth_environment import ROOT

GOLDEN = ROOT / "tests" / "storage" / "golden" / "logical-ids.txt"


def test_golden_logical_ids(app: cdk.App, stack: cdk.Stack, network: FleetNetwork):
    storage = cdk.Stack(app, "Storage", env=cdk.Environment(account=stack.account, region=stack.region))
    fsx = LustreFileSystem(storage, "Fsx", network=network)
    fsx.add_data_repository("Corpus", DataRepository(s3="s3://corpus", file_system_path="/corpus"))
    LustreFileSystem(storage, "Efa", LustreSpec(storage_capacity_gib=19200), network=network)
    OpenZfsFileSystem(storage, "Home", network=network).add_volume("apps")
    key = FleetKey(storage, "Key", alias="alias/fleet")
    logs = AccessLogBucket(storage, "AccessLogs")
    DataBucket(storage, "Data", BucketSpec(encryption_key=key), access_log_bucket=logs)
    resources = Template.from_stack(storage).to_json()["Resources"]
    listed = "".join(f"{name} {resource['Type']}\n" for name, resource in sorted(resources.items()))
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(listed)
    assert GOLDEN.read_text() == listed, "logical ids have changed; if users are to bear it: run `make golden`"
