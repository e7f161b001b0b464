"""Errors in the head node and in login pools."""

from llm_fleet.rules.codes import Code
from llm_fleet.rules.terms import InternalStorage
from llm_fleet.spec.parallelcluster_nodes import Dcv, RootVolume
from tests.agreement.parallelcluster.defect import SCHEMA, Defect
from tests.rules.parallelcluster.shapes import with_head, with_pool

HEAD = (
    Defect(
        name="instance type that EC2 does not have",
        cluster=with_head(instance_type="m5.3xlarge"),
        code=Code.PC_INSTANCE_TYPE,
        validator="ConfigValidationError",
    ),
    Defect(
        name="settings of an internal EFS without one",
        cluster=with_head(overrides={"SharedStorageEfsSettings": {"Encrypted": True}}),
        code=Code.PC_SETTING,
        validator="SharedStorageEfsSettingsValidator",
        good=with_head(
            internal_storage=InternalStorage.EFS, overrides={"SharedStorageEfsSettings": {"Encrypted": True}}
        ),
    ),
    Defect(
        name="an address without a prefix length",
        cluster=with_head(allowed_ips="203.0.113.7"),
        code=Code.PC_ALLOWED_IPS,
        validator=SCHEMA,
        good=with_head(allowed_ips="203.0.113.7/32"),
    ),
    Defect(
        name="invalid subnet id",
        cluster=with_head(subnet="private"),
        code=Code.PC_RESOURCE_ID,
        validator=SCHEMA,
    ),
    Defect(
        name="invalid security group id",
        cluster=with_head(security_groups=("sg-1",)),
        code=Code.PC_RESOURCE_ID,
        validator=SCHEMA,
        good=with_head(security_groups=("sg-0123456789abcdef0",)),
    ),
    Defect(
        name="gp3 root volume with too much throughput for its IOPS",
        cluster=with_head(root_volume=RootVolume(size_gib=200, throughput_mib_s=751)),
        code=Code.PC_ROOT_VOLUME,
        validator="EbsVolumeThroughputIopsValidator",
        good=with_head(root_volume=RootVolume(size_gib=200, throughput_mib_s=750)),
    ),
    Defect(
        name="root volume of an unknown type",
        cluster=with_head(root_volume=RootVolume(size_gib=200, volume_type="gp4")),
        code=Code.PC_ROOT_VOLUME,
        validator=SCHEMA,
        good=with_head(root_volume=RootVolume(size_gib=200, volume_type="io2", iops=1000)),
    ),
    Defect(
        name="remote desktop with an invalid address range",
        cluster=with_head(dcv=Dcv(allowed_ips="everybody")),
        code=Code.PC_ALLOWED_IPS,
        validator=SCHEMA,
        good=with_head(dcv=Dcv(port=8443, allowed_ips="203.0.113.0/24")),
    ),
)
POOLS = (
    Defect(
        name="grace time of 2 minutes",
        cluster=with_pool(gracetime_minutes=2),
        code=Code.PC_LOGIN_POOL,
        validator=SCHEMA,
        good=with_pool(gracetime_minutes=3),
    ),
    Defect(
        name="grace time of 121 minutes",
        cluster=with_pool(gracetime_minutes=121),
        code=Code.PC_LOGIN_POOL,
        validator=SCHEMA,
        good=with_pool(gracetime_minutes=120),
    ),
    Defect(
        name="type of a login pool that EC2 does not have",
        cluster=with_pool(instance_type="m5.3xlarge"),
        code=Code.PC_INSTANCE_TYPE,
        validator="InstanceTypeValidator",
    ),
    Defect(
        name="-1 login nodes",
        cluster=with_pool(count=-1),
        code=Code.PC_LOGIN_POOL,
        validator=SCHEMA,
        good=with_pool(count=0),
    ),
)
DEFECTS = (*HEAD, *POOLS)
