"""The storage page matches the catalog, and its examples run."""

import aws_cdk as cdk
from aws_cdk.assertions import Template

from llm_fleet import LustreSpec
from llm_fleet.catalog.fsx import lustre_variants, open_zfs_limits
from llm_fleet.rules.lustre import check_lustre
from llm_fleet.rules.problem import FleetError
from tests.pages import CONSTRUCTS, check_made, examples, run_examples

PAGE = CONSTRUCTS / "storage.md"


def lustre_table() -> str:
    rows = [
        "| deployment type | storage | throughput, MB/s/TiB | capacity | capacity with EFA |",
        "|---|---|---|---|---|",
    ]
    for variant in lustre_variants():
        head = f"| `{variant.deployment_type}` | {variant.storage_type} "
        if variant.throughput_capacity:
            rows.append(
                f"{head}| whole file system: {variant.throughput_capacity.describe('MB/s')} | elastic | elastic |"
            )
        for tier in variant.tiers:
            efa = tier.efa_capacity.describe("GiB") if tier.efa_capacity else "none"
            rows.append(f"{head}| {tier.throughput or 'fixed'} | {tier.capacity.describe('GiB')} | {efa} |")
    return "\n".join(rows)


def open_zfs_table() -> str:
    limits = open_zfs_limits()
    rows = ["| deployment type | throughput, MB/s |", "|---|---|"]
    rows += [f"| `{name}` | {', '.join(map(str, steps.single))} |" for name, steps in limits.throughputs.items()]
    least, most = limits.storage_capacity_gib
    return "\n".join([*rows, "", f"Capacity: any whole number of GiB from {least} to {most}."])


def test_generated_tables_are_up_to_date():
    check_made(PAGE, lustre=lustre_table(), openzfs=open_zfs_table())


def test_the_documented_error_is_the_one_that_is_raised():
    (shown,) = examples(PAGE.read_text(), "text")
    error = FleetError(check_lustre(LustreSpec(storage_capacity_gib=1300)), subject="Storage/Fsx")
    assert f"{error}\n" == shown


def test_the_examples_run(stack: cdk.Stack):
    run_examples(PAGE.read_text(), stack)
    template = Template.from_stack(stack)
    template.resource_count_is("AWS::FSx::FileSystem", 3)
    template.resource_count_is("AWS::FSx::DataRepositoryAssociation", 1)
    template.resource_count_is("AWS::S3::Bucket", 3)
