"""CDK tokens are not checked at synth."""

import re
from dataclasses import fields
from typing import Any

from llm_fleet.catalog.ec2_instances import Ec2InstanceType
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.parallelcluster import check_parallelcluster
from llm_fleet.rules.terms import StorageKind
from llm_fleet.spec.parallelcluster import PlacedParallelCluster, SlurmSettings
from llm_fleet.spec.parallelcluster_nodes import Dcv, RootVolume
from llm_fleet.spec.parallelcluster_queue import CapacityReservation, PlacementGroup
from llm_fleet.spec.spec import Spec
from tests.rules.parallelcluster.shapes import (
    LIST_TOKEN,
    NUMBER_TOKEN,
    TOKEN,
    Cluster,
    Database,
    Head,
    Partition,
    Pool,
    Resource,
    Storage,
    changed,
    codes,
    with_head,
    with_resource,
)


def tokens(part: Any, *keep: str) -> Any:
    """Return the part with a token for each text and number, except those in `keep`: paths require the names."""
    changes: dict[str, Any] = {}
    for name, annotation in _annotations(part).items():
        if name in keep or name == "name" or "overrides" in name:
            continue
        if re.search(r"\bstr\b", annotation) and "Mapping" not in annotation and "Sequence" not in annotation:
            changes[name] = TOKEN
        elif re.search(r"\b(int|float)\b", annotation):
            changes[name] = NUMBER_TOKEN
    return changed(part, **changes)


def _annotations(part: Any) -> dict[str, str]:
    if isinstance(part, Spec):
        return {name: str(field.annotation) for name, field in type(part).model_fields.items()}
    return {field.name: str(field.type) for field in fields(part)}


def everything_unknown() -> PlacedParallelCluster:
    resource = tokens(
        Resource(instance_types=LIST_TOKEN, placement_group=PlacementGroup.managed(), tags={TOKEN: TOKEN}, efa=False),
    )
    reservation = CapacityReservation(reservation_id=TOKEN)
    queue = tokens(
        Partition(
            resources=(changed(resource, capacity_reservation=reservation, spot_price=None),),
            subnets=LIST_TOKEN,
            security_groups=LIST_TOKEN,
            root_volume=tokens(RootVolume()),
            tags={TOKEN: TOKEN},
        )
    )
    return changed(
        tokens(Cluster(), "slurm", "accounting"),
        head_node=tokens(Head(root_volume=tokens(RootVolume()), dcv=tokens(Dcv()), security_groups=LIST_TOKEN)),
        queues=(queue,),
        login_pools=(tokens(Pool(dcv=tokens(Dcv()), security_groups=LIST_TOKEN)),),
        shared_storage=(
            tokens(Storage(name="a", settings={"VolumeType": TOKEN, "Size": NUMBER_TOKEN}), "existing_id"),
            tokens(Storage(name="b", kind=StorageKind.EFS), "mount_dir"),
            tokens(
                Storage(
                    name="c",
                    kind=StorageKind.FSX_LUSTRE,
                    mount_dir="/c",
                    settings={
                        "StorageCapacity": NUMBER_TOKEN,
                        "DeploymentType": TOKEN,
                        "PerUnitStorageThroughput": NUMBER_TOKEN,
                        "KmsKeyId": TOKEN,
                        "ImportPath": TOKEN,
                    },
                ),
                "existing_id",
                "mount_dir",
            ),
        ),
        slurm=changed(SlurmSettings(), scaledown_idletime_minutes=NUMBER_TOKEN),
        accounting=tokens(Database(), "slurmdbd_host", "port", "munge_key_secret"),
        tags={TOKEN: TOKEN},
    )


def test_tokens_pass_every_rule():
    cluster = everything_unknown()
    assert cluster.cluster_name == TOKEN
    assert cluster.head_node.instance_type == TOKEN
    assert cluster.queues[0].compute_resources[0].max_count == NUMBER_TOKEN
    assert [str(problem) for problem in check_parallelcluster(cluster)] == []


def test_a_newer_instance_type_passes_and_its_facts_are_checked():
    newer = Ec2InstanceType.of("trn9.48xlarge", architecture="arm64", vcpus=192, memory_gib=2048)
    assert codes(with_resource(instance_types=(str(newer),))) == [Code.PC_INSTANCE_TYPE]
    assert codes(with_resource(instance_types=(newer,))) == [Code.PC_ARCHITECTURE]
    assert codes(with_resource(instance_types=(newer,), efa=True)) == [Code.PC_ARCHITECTURE, Code.PC_EFA_TYPE]


def test_values_of_the_method_of_pass():
    class Newer(str):
        unchecked = True

    assert codes(Cluster(version=Newer("4.0.0"), os=Newer("alinux2027"))) == []
    assert codes(Cluster(version="4.0.0", os="alinux2027")) == [Code.PC_VERSION, Code.PC_OS]


def test_an_unknown_type_is_reported_once():
    assert codes(with_head(instance_type="m5.huge")) == [Code.PC_INSTANCE_TYPE]
    assert codes(with_resource(instance_types=("c5.huge",), efa=True, schedulable_memory_mib=10)) == [
        Code.PC_INSTANCE_TYPE
    ]
