"""Updates that CloudFormation would reject, from templates alone."""

from collections.abc import Mapping
from typing import Any

import pytest

from llm_fleet.cli.plan.refused_updates import RefusedUpdate, refused_updates
from llm_fleet.cli.plan.stack_templates import StackTemplate
from llm_fleet.cli.plan.template_changes import ChangeKind, template_changes

FILES = "AWS::FSx::FileSystem"
EXPORT = {"Value": {"Fn::GetAtt": ["Files", "DNSName"]}, "Export": {"Name": "storage:Files"}}
USER = {"Job": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": {"Fn::ImportValue": "storage:Files"}}}}


def stack(name: str, resources: Mapping[str, Any], **outputs: Mapping[str, Any]) -> StackTemplate:
    return StackTemplate(name=name, region=None, resources=resources, paths={}, outputs=outputs)


def storage(**properties: Any) -> StackTemplate:
    return stack("storage", {"Files": {"Type": FILES, "Properties": properties}}, Files=EXPORT)


def refused(deployed: list[StackTemplate], planned: list[StackTemplate]) -> list[RefusedUpdate]:
    before = {one.name: one for one in deployed}
    changes = [change for one in planned for change in template_changes(before[one.name], one)]
    return list(refused_updates(before, planned, changes))


def test_values_that_other_stacks_import_are_neither_replaced_nor_removed() -> None:
    train = stack("train", USER)
    (one,) = refused([storage(KmsKeyId="a"), train], [storage(KmsKeyId="b"), train])
    assert (one.stack, one.where, one.used_by, one.certain) == ("storage", "Files", ("train",), True)
    # The user's new template does not import it, but is deployed after the storage.
    (one,) = refused([storage(), train], [stack("storage", {}), stack("train", {})])
    assert "does not delete" in one.why
    assert refused([storage(KmsKeyId="a")], [storage(KmsKeyId="b")]) == [], "no stack uses it"
    assert refused([storage(StorageCapacity=1), train], [storage(StorageCapacity=2), train]) == [], "in place"


def test_a_rejected_replacement_leaves_a_second_copy_of_a_retained_resource() -> None:
    def files(key: str, **policy: str) -> StackTemplate:
        return stack("storage", {"Files": {"Type": FILES, "Properties": {"KmsKeyId": key}, **policy}}, Files=EXPORT)

    train = stack("train", USER)
    (one,) = refused([files("a"), train], [files("b", UpdateReplacePolicy="Retain"), train])
    assert (one.leaves_copy, one.type) == (True, FILES)
    (one,) = refused([files("a"), train], [files("b", DeletionPolicy="Retain"), train])
    assert not one.leaves_copy
    (one,) = refused([files("a", UpdateReplacePolicy="Retain"), train], [stack("storage", {}), train])
    assert not one.leaves_copy, "it is removed, and not replaced"


def test_references_to_a_replaced_resource_change_with_it() -> None:
    def network(cidr: str) -> StackTemplate:
        subnet = {"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.1.0.0/17"}
        return stack(
            "network",
            {
                "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": cidr}},
                "Subnet": {"Type": "AWS::EC2::Subnet", "Properties": subnet},
                "Files": {"Type": FILES, "Properties": {"SubnetIds": [{"Ref": "Subnet"}]}},
                "Topic": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": {"Fn::Sub": "of ${Files.Arn}"}}},
            },
            Vpc={"Value": {"Ref": "Subnet"}, "Export": {"Name": "storage:Files"}},
        )

    changes = template_changes(network("10.0.0.0/16"), network("10.4.0.0/16"))
    assert {one.logical_id: one.kind for one in changes} == {
        "Vpc": ChangeKind.REPLACED,
        "Subnet": ChangeKind.REPLACED,
        "Files": ChangeKind.REPLACED,
        "Topic": ChangeKind.CHANGED,
    }
    (one,) = refused([network("10.0.0.0/16"), stack("train", USER)], [network("10.4.0.0/16"), stack("train", USER)])
    assert (one.where, one.used_by) == ("Subnet", ("train",))


def test_a_new_subnet_that_overlaps_an_existing_one() -> None:
    def network(*cidrs: str) -> StackTemplate:
        made = {f"Subnet{n}": {"Type": "AWS::EC2::Subnet", "Properties": {"CidrBlock": c}} for n, c in enumerate(cidrs)}
        return stack("network", made)

    (one,) = refused([network("10.1.0.0/16")], [network("10.1.0.0/17")])
    assert one.why.startswith("InvalidSubnet.Conflict: 10.1.0.0/17 overlaps 10.1.0.0/16, which is deleted only at")
    assert refused([network("10.1.0.0/17")], [network("10.1.0.0/17", "10.1.128.0/18")]) == []
    assert refused([network("10.1.0.0/17")], [network("10.1.128.0/17")]) == []


def test_a_resource_with_a_fixed_name_is_not_replaced() -> None:
    def cluster(**properties: Any) -> StackTemplate:
        return stack("train", {"Cluster": {"Type": "AWS::SageMaker::Cluster", "Properties": properties}})

    (one,) = refused([cluster(ClusterName="a", VpcConfig="x")], [cluster(ClusterName="a", VpcConfig="y")])
    assert one.why.startswith("CloudFormation creates the new cluster before it deletes the old one")
    assert one.why.endswith("so they need different names: change `name` of the cluster, too")
    assert refused([cluster(ClusterName="a", VpcConfig="x")], [cluster(ClusterName="b", VpcConfig="y")]) == []

    def of_studio(kind: str, **properties: Any) -> StackTemplate:
        return stack("studio", {"It": {"Type": f"AWS::SageMaker::{kind}", "Properties": properties}})

    (one,) = refused(
        [of_studio("Domain", DomainName="a", KmsKeyId="x")], [of_studio("Domain", DomainName="a", KmsKeyId="y")]
    )
    assert one.why.endswith("so they need different names: change its `DomainName`, too")
    old, new = (of_studio("UserProfile", UserProfileName="ada", DomainId=domain) for domain in ("x", "y"))
    assert refused([old], [new]) == [], "its name differs within its domain"


def test_the_metadata_of_the_cdk_is_not_a_change() -> None:
    note = {"CDKMetadata": {"Type": "AWS::CDK::Metadata", "Properties": {"Analytics": "v2:deflate64:x"}}}
    assert template_changes(stack("s", note), stack("s", {})) == ()
    assert template_changes(stack("s", {}), stack("s", note)) == ()


def test_fsx_does_not_reduce_storage() -> None:
    def files(capacity: int, kind: str = "LUSTRE", deployment: str = "PERSISTENT_2") -> StackTemplate:
        settings = {"FileSystemType": kind, "LustreConfiguration": {"DeploymentType": deployment}}
        return storage(StorageCapacity=capacity, **settings)

    (one,) = refused([files(4800)], [files(2400)])
    assert one.why == "FSx does not reduce the storage capacity: from 4800 GiB to 2400 GiB"
    assert refused([files(4800)], [files(7200)]) == []
    (one,) = refused([files(512, "OPENZFS")], [files(520, "OPENZFS")])
    assert one.why.startswith("FSx increases OpenZFS by at least a tenth")
    assert refused([files(500, "OPENZFS")], [files(550, "OPENZFS")]) == []
    (one,) = refused([files(1200, deployment="SCRATCH_1")], [files(3600, deployment="SCRATCH_1")])
    assert one.why.startswith("SCRATCH_1 keeps its size")


def lustre(size: int = 19200, **configuration: Any) -> StackTemplate:
    reported = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250} | configuration
    return storage(FileSystemType="LUSTRE", StorageCapacity=size, LustreConfiguration=reported)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (lustre(4800), lustre(19200, EfaEnabled=True), "it is off and would be on. Set `efa: false`"),
        (lustre(EfaEnabled=True), lustre(21600), "it is on and would be off. Set `efa: true`"),
        (
            lustre(EfaEnabled=True),
            lustre(EfaEnabled=True, PerUnitStorageThroughput=500),
            "FSx does not change the throughput of a file system on SSD with EFA: from 250 to 500 MB/s/TiB",
        ),
        (
            lustre(EfaEnabled=True),
            lustre(21600, EfaEnabled=True),
            "increases sizes to multiples of 19200 GiB, but not from 19200 GiB to 21600 GiB",
        ),
        (
            lustre(MetadataConfiguration={"Iops": 12000}),
            lustre(MetadataConfiguration={"Iops": 6000}),
            "FSx does not reduce metadata IOPS: from 12000 IOPS to 6000 IOPS",
        ),
        (
            lustre(MetadataConfiguration={"Mode": "USER_PROVISIONED", "Iops": 12000}),
            lustre(MetadataConfiguration={"Mode": "AUTOMATIC"}),
            "to the automatic number for the size",
        ),
        (
            lustre(ThroughputCapacity=8000),
            lustre(ThroughputCapacity=4000),
            "not reduce the throughput of Intelligent-Tiering",
        ),
        (storage(StorageType="SSD"), storage(StorageType="INTELLIGENT_TIERING"), "does not change StorageType"),
    ],
)
def test_what_fsx_does_not_change(old: StackTemplate, new: StackTemplate, why: str) -> None:
    (one,) = refused([old], [new])
    assert why in one.why
    assert one.certain is ("automatic" not in why)


def test_what_fsx_changes() -> None:
    for old, new in (
        (lustre(4800), lustre(9600, EfaEnabled=False)),
        (lustre(), lustre(PerUnitStorageThroughput=500)),
        (lustre(EfaEnabled=True), lustre(38400, EfaEnabled=True)),
        (lustre(EfaEnabled=True), lustre(EfaEnabled=True, DataCompressionType="NONE")),
        (lustre(MetadataConfiguration={"Mode": "AUTOMATIC"}), lustre(MetadataConfiguration={"Iops": 12000})),
    ):
        assert refused([old], [new]) == []


def test_disks_of_notebooks_and_databases_cannot_shrink() -> None:
    def one_of(kind: str, **properties: Any) -> StackTemplate:
        return stack("s", {"It": {"Type": kind, "Properties": properties}})

    notebook, database = "AWS::SageMaker::NotebookInstance", "AWS::RDS::DBInstance"
    (one,) = refused([one_of(notebook, VolumeSizeInGB=50)], [one_of(notebook, VolumeSizeInGB=20)])
    assert one.why.endswith("from 50 GiB to 20 GiB")
    (one,) = refused([one_of(database, AllocatedStorage="100")], [one_of(database, AllocatedStorage="50")])
    assert (one.certain, one.why) == (True, "RDS does not reduce the storage: from 100 GiB to 50 GiB")
    (one,) = refused([one_of(database, AllocatedStorage="100")], [one_of(database, AllocatedStorage="105")])
    assert not one.certain
    assert refused([one_of(database, AllocatedStorage="100")], [one_of(database, AllocatedStorage="110")]) == []
    assert refused([one_of(database, AllocatedStorage={"Ref": "P"})], [one_of(database, AllocatedStorage="1")]) == []


def test_a_directory_with_an_existing_link_is_not_linked_again() -> None:
    def links(*paths: tuple[str, str], **system: Any) -> StackTemplate:
        made: dict[str, Any] = {"Files": {"Type": FILES, "Properties": system}}
        for n, (folder, bucket) in enumerate(paths):
            reported = {"FileSystemId": {"Ref": "Files"}, "FileSystemPath": folder, "DataRepositoryPath": bucket}
            made[f"Link{n}"] = {"Type": "AWS::FSx::DataRepositoryAssociation", "Properties": reported}
        return stack("storage", made)

    a, b = ("/a", "s3://a"), ("/b", "s3://b")
    (one,) = refused([links(a)], [links(("/a/in", "s3://b"))])
    assert "/a is still linked to s3://a when /a/in is linked" in one.why
    (one,) = refused([links(a, b)], [links(b)])
    assert one.where == "Link0", "the second link moves to the place of the first"
    assert refused([links(a)], [links(a, b)]) == []
    assert refused([links(a)], [links(b)]) == []
    assert refused([links(a, KmsKeyId="x")], [links(("/a", "s3://b"), KmsKeyId="y")]) == [], "another file system"


def test_a_retained_subnet_keeps_its_cidr_block() -> None:
    def network(name: str, **policy: str) -> StackTemplate:
        return stack(
            "network", {name: {"Type": "AWS::EC2::Subnet", "Properties": {"CidrBlock": "10.1.0.0/18"}, **policy}}
        )

    (one,) = refused([network("A", DeletionPolicy="Retain")], [network("B", DeletionPolicy="Retain")])
    assert "which is removed from the stack and retained: delete it first" in one.why
