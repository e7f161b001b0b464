"""Mistakes in a cluster's name, numbers, tags, operating system, head node, login pools and settings of Slurm."""

from dataclasses import replace

from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.terms import InternalStorage
from tests.agreement.parallelcluster.defect import SCHEMA, Defect
from tests.rules.parallelcluster.shapes import (
    Cluster,
    Database,
    Head,
    Partition,
    Pool,
    RemoteDesktop,
    Resource,
    Root,
    with_head,
    with_pool,
    with_queue,
    with_resource,
    with_slurm,
)

OWN_DOMAIN = {"Dns": {"DisableManagedDns": True}}
"""Host names of nodes are then not bound to the cluster's name, which may be as long as ParallelCluster lets it."""
SLURM_WITH_OWN_DOMAIN = with_slurm(overrides=OWN_DOMAIN).slurm
MUNGE_KEY = "arn:aws:secretsmanager:us-west-2:123456789012:secret:munge-AbCdEf"
SLURMDBD = Database(
    database_uri=None,
    user_name=None,
    password_secret_arn=None,
    slurmdbd_host="dbd.example.com",
    munge_key_secret_arn=MUNGE_KEY,
)
IMAGE = "ami-0123456789abcdef0"
DIRECTORY = {
    "DomainName": "corp.example.com",
    "DomainAddr": "ldaps://corp.example.com",
    "PasswordSecretArn": "arn:aws:secretsmanager:us-west-2:123456789012:secret:ad-AbCdEf",
    "DomainReadOnlyUser": "cn=reader,dc=corp,dc=example,dc=com",
}


def _queues(number: int, each: int = 1) -> Cluster:
    resources = tuple(Resource(name=f"r{index}", max_count=1) for index in range(each))
    return Cluster(queues=tuple(Partition(name=f"q{index}", compute_resources=resources) for index in range(number)))


def _named(length: int, **attributes: object) -> Cluster:
    return Cluster(cluster_name="a" * length, slurm=SLURM_WITH_OWN_DOMAIN, **attributes)  # pyright: ignore[reportArgumentType]


def _tagged(of_cluster: int, of_queue: int, of_resource: int) -> Cluster:
    return Cluster(
        tags={f"c{index}": "x" for index in range(of_cluster)},
        queues=(
            Partition(
                tags={f"q{index}": "x" for index in range(of_queue)},
                compute_resources=(Resource(tags={f"r{index}": "x" for index in range(of_resource)}),),
            ),
        ),
    )


def _directory(**changes: object) -> Cluster:
    return Cluster(overrides={"DirectoryService": {**DIRECTORY, **changes}})


def _chef(text: str) -> Cluster:
    return Cluster(overrides={"DevSettings": {"Cookbook": {"ExtraChefAttributes": text}}})


NAMES = (
    Defect(
        name="cluster name of 52 and 9 characters",
        cluster=_named(52),
        code=Code.PC_CLUSTER_NAME,
        validator="ClusterNameValidator",
        good=_named(51),
    ),
    Defect(
        name="cluster name of 32 and 9 characters with accounting",
        cluster=_named(32, accounting=Database()),
        code=Code.PC_CLUSTER_NAME,
        validator="ClusterNameValidator",
        said="Slurm accounting",
        good=_named(31, accounting=Database()),
    ),
    Defect(
        name="cluster name with an underscore",
        cluster=Cluster(cluster_name="my_cluster"),
        code=Code.PC_CLUSTER_NAME,
        validator="ClusterNameValidator",
        good=Cluster(cluster_name="My-Cluster-2"),
    ),
    Defect(
        name="queue name of 26 characters",
        cluster=with_queue(name="q" * 26),
        code=Code.PC_NAME,
        validator="NameValidator",
        said="at most 25",
        good=with_queue(name="q" * 25),
    ),
    Defect(
        name="queue called default",
        cluster=with_queue(name="default"),
        code=Code.PC_NAME,
        validator="NameValidator",
        said="forbidden",
        good=with_queue(name="default-1"),
    ),
    Defect(
        name="compute resource in upper case",
        cluster=with_resource(name="Nodes"),
        code=Code.PC_NAME,
        validator="NameValidator",
        good=with_resource(name="nodes-1"),
    ),
    Defect(
        name="login pool that begins with a digit",
        cluster=with_pool(name="1users"),
        code=Code.PC_NAME,
        validator="NameValidator",
        good=with_pool(name="u1"),
    ),
    Defect(
        name="two queues of one name",
        cluster=Cluster(queues=(Partition(), Partition())),
        code=Code.PC_NAME_TWICE,
        validator="DuplicateNameValidator",
        good=Cluster(queues=(Partition(), Partition(name="other"))),
    ),
    Defect(
        name="two compute resources of one name",
        cluster=with_queue(compute_resources=(Resource(), Resource())),
        code=Code.PC_NAME_TWICE,
        validator="DuplicateNameValidator",
        good=with_queue(compute_resources=(Resource(), Resource(name="other"))),
    ),
    Defect(
        name="two login pools of one name",
        cluster=Cluster(login_pools=(Pool(), Pool())),
        code=Code.PC_NAME_TWICE,
        validator="DuplicateNameValidator",
        good=Cluster(login_pools=(Pool(), Pool(name="other"))),
    ),
)
NUMBERS = (
    Defect(
        name="51 queues",
        cluster=_queues(51),
        code=Code.PC_QUEUE_NUMBER,
        validator="MaxCountValidator",
        said="SlurmQueues",
        good=_queues(50),
    ),
    Defect(
        name="51 compute resources in one queue",
        cluster=_queues(1, 51),
        code=Code.PC_RESOURCE_NUMBER,
        validator="MaxCountValidator",
        said="ComputeResources per Queue",
        good=_queues(1, 50),
    ),
    Defect(
        name="52 compute resources in two queues",
        cluster=_queues(2, 26),
        code=Code.PC_RESOURCE_NUMBER,
        validator="MaxCountValidator",
        said="ComputeResources per Cluster",
        good=_queues(2, 25),
    ),
    Defect(
        name="11 login pools",
        cluster=Cluster(login_pools=tuple(Pool(name=f"p{index}") for index in range(11))),
        code=Code.PC_POOL_NUMBER,
        validator="MaxCountValidator",
        said="LoginNodePools",
        good=Cluster(login_pools=tuple(Pool(name=f"p{index}") for index in range(10))),
    ),
    Defect(
        name="41 tags that meet on a node",
        cluster=_tagged(15, 15, 11),
        code=Code.PC_TAGS,
        validator="ComputeResourceTagsValidator",
        good=_tagged(15, 15, 9),
    ),
    Defect(
        name="tag of ParallelCluster's own",
        cluster=Cluster(tags={"parallelcluster:owner": "me"}),
        code=Code.PC_TAGS,
        validator=SCHEMA,
        good=Cluster(tags={"owner": "me"}),
    ),
    Defect(
        name="tag key of 129 characters",
        cluster=Cluster(tags={"k" * 129: "me"}),
        code=Code.PC_TAGS,
        validator=SCHEMA,
        good=Cluster(tags={"k" * 128: "v" * 256}),
    ),
    Defect(
        name="head node with too little memory for its nodes",
        cluster=Cluster(head_node=Head(instance_type="c5.xlarge"), queues=with_resource(max_count=186).queues),
        code=Code.PC_HEAD_MEMORY,
        validator="HeadNodeMemorySizeValidator",
        good=Cluster(head_node=Head(instance_type="c5.xlarge"), queues=with_resource(max_count=185).queues),
    ),
)
RELEASE = (
    Defect(
        name="alinux2",
        cluster=Cluster(os="alinux2"),
        code=Code.PC_OS,
        validator=SCHEMA,
        good=Cluster(os="ubuntu2404"),
    ),
    Defect(name="pbs", cluster=Cluster(scheduler="pbs"), code=Code.PC_SCHEDULER, validator=SCHEMA),
    Defect(name="awsbatch", cluster=Cluster(scheduler="awsbatch"), code=Code.PC_SCHEDULER, validator=SCHEMA),
    Defect(
        name="rocky9 without an image",
        cluster=Cluster(os="rocky9"),
        code=Code.PC_IMAGE,
        validator="OsCustomAmiValidator",
        good=Cluster(os="rocky9", image_id=IMAGE),
    ),
    Defect(
        name="text that is no AMI",
        cluster=Cluster(image_id="ami-latest"),
        code=Code.PC_IMAGE,
        validator=SCHEMA,
        good=Cluster(image_id=IMAGE),
    ),
    Defect(
        name="region without ParallelCluster",
        cluster=Cluster(region="ca-west-1"),
        code=Code.PC_REGION,
        validator="RegionValidator",
    ),
)
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
        name="an address without its bits",
        cluster=with_head(allowed_ips="203.0.113.7"),
        code=Code.PC_ALLOWED_IPS,
        validator=SCHEMA,
        good=with_head(allowed_ips="203.0.113.7/32"),
    ),
    Defect(
        name="text that is no subnet",
        cluster=with_head(subnet_id="private"),
        code=Code.PC_RESOURCE_ID,
        validator=SCHEMA,
    ),
    Defect(
        name="text that is no security group",
        cluster=with_head(security_group_ids=("sg-1",)),
        code=Code.PC_RESOURCE_ID,
        validator=SCHEMA,
        good=with_head(security_group_ids=("sg-0123456789abcdef0",)),
    ),
    Defect(
        name="gp3 root volume with too much throughput for its IOPS",
        cluster=with_head(root_volume=Root(size_gib=200, throughput_mib_s=751)),
        code=Code.PC_ROOT_VOLUME,
        validator="EbsVolumeThroughputIopsValidator",
        good=with_head(root_volume=Root(size_gib=200, throughput_mib_s=750)),
    ),
    Defect(
        name="root volume of an unknown type",
        cluster=with_head(root_volume=Root(size_gib=200, volume_type="gp4")),
        code=Code.PC_ROOT_VOLUME,
        validator=SCHEMA,
        good=with_head(root_volume=Root(size_gib=200, volume_type="io2", iops=1000)),
    ),
    Defect(
        name="remote desktop for no range of addresses",
        cluster=with_head(dcv=RemoteDesktop(allowed_ips="everybody")),
        code=Code.PC_ALLOWED_IPS,
        validator=SCHEMA,
        good=with_head(dcv=RemoteDesktop(port=8443, allowed_ips="203.0.113.0/24")),
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
        name="-1 login nodes",
        cluster=with_pool(count=-1),
        code=Code.PC_LOGIN_POOL,
        validator=SCHEMA,
        good=with_pool(count=0),
    ),
)
SLURM = (
    Defect(
        name="GresTypes",
        cluster=with_slurm(custom_settings=({"GresTypes": "neuron"},)),
        code=Code.PC_SLURM_DENIED,
        validator="CustomSlurmSettingsValidator",
        good=with_slurm(custom_settings=({"MessageTimeout": 60},)),
    ),
    Defect(
        name="grestypes in lower case",
        cluster=with_slurm(custom_settings=({"grestypes": "neuron"},)),
        code=Code.PC_SLURM_DENIED,
        validator="CustomSlurmSettingsValidator",
    ),
    Defect(
        name="storage of accounting beside a database",
        cluster=Cluster(
            accounting=Database(), slurm=with_slurm(custom_settings=({"AccountingStorageHost": "db"},)).slurm
        ),
        code=Code.PC_SLURM_DENIED,
        validator="CustomSlurmSettingsValidator",
        good=with_slurm(custom_settings=({"AccountingStorageHost": "db"},)),
    ),
    Defect(
        name="OverSubscribe of a queue",
        cluster=with_queue(custom_slurm_settings={"OverSubscribe": "EXCLUSIVE"}),
        code=Code.PC_SLURM_DENIED,
        validator="CustomSlurmSettingsValidator",
        said="Queue",
        good=with_queue(custom_slurm_settings={"MaxTime": "1-0"}),
    ),
    Defect(
        name="Gres of a compute resource",
        cluster=with_resource(custom_slurm_settings={"Gres": "neuron:16"}),
        code=Code.PC_SLURM_DENIED,
        validator="CustomSlurmSettingsValidator",
        said="ComputeResource",
        good=with_resource(custom_slurm_settings={"Features": "fast"}),
    ),
    Defect(
        name="node of one's own with a name of ParallelCluster's",
        cluster=with_slurm(custom_settings=({"NodeName": "on-st-premises", "CPUs": 4},)),
        code=Code.PC_SLURM_NODE_NAME,
        validator="CustomSlurmNodeNamesValidator",
        good=with_slurm(custom_settings=({"NodeName": "on-premises", "CPUs": 4, "State": "UNKNOWN"},)),
    ),
    Defect(
        name="settings in place and in a file",
        cluster=with_slurm(custom_settings=({"MessageTimeout": 60},), custom_settings_file="s3://bucket/slurm.conf"),
        code=Code.PC_SLURM_BOTH,
        validator="CustomSlurmSettingsIncludeFileOnlyValidator",
        good=with_slurm(custom_settings_file="s3://bucket/slurm.conf"),
    ),
    Defect(
        name="settings in a file of the user's machine",
        cluster=with_slurm(custom_settings_file="slurm.conf"),
        code=Code.PC_SETTING,
        validator="UrlValidator",
    ),
    Defect(
        name="idle time of -2 minutes",
        cluster=with_slurm(scaledown_idletime_minutes=-2),
        code=Code.PC_SETTING,
        validator=SCHEMA,
        good=with_slurm(scaledown_idletime_minutes=-1),
    ),
)
SECTIONS = (
    Defect(
        name="logs for 10 days",
        cluster=Cluster(log_retention_days=10),
        code=Code.PC_LOG_RETENTION,
        validator=SCHEMA,
        good=Cluster(log_retention_days=14),
    ),
    Defect(
        name="domain that is none",
        cluster=_directory(DomainName="corp example"),
        code=Code.PC_DIRECTORY,
        validator="DomainNameValidator",
        good=_directory(DomainName="DC=corp,DC=example,DC=com"),
    ),
    Defect(
        name="password in SSM",
        cluster=_directory(PasswordSecretArn="arn:aws:ssm:us-west-2:123456789012:parameter/password"),
        code=Code.PC_DIRECTORY,
        validator="PasswordSecretArnValidator",
        good=_directory(),
    ),
    Defect(
        name="id_provider that is not LDAP",
        cluster=_directory(AdditionalSssdConfigs={"id_provider": "ad"}),
        code=Code.PC_DIRECTORY,
        validator="AdditionalSssdConfigsValidator",
        good=_directory(AdditionalSssdConfigs={"id_provider": "ldap", "access_provider": "ad"}),
    ),
    Defect(
        name="access_provider beside an access filter",
        cluster=_directory(LdapAccessFilter="x=y", AdditionalSssdConfigs={"access_provider": "ad"}),
        code=Code.PC_DIRECTORY,
        validator="AdditionalSssdConfigsValidator",
        said="access_provider",
        good=_directory(LdapAccessFilter="x=y", AdditionalSssdConfigs={"access_provider": "ldap"}),
    ),
    Defect(
        name="IAM prefix with a space",
        cluster=Cluster(overrides={"Iam": {"ResourcePrefix": "my team-"}}),
        code=Code.PC_RESOURCE_PREFIX,
        validator="IamResourcePrefixValidator",
        good=Cluster(overrides={"Iam": {"ResourcePrefix": "/my/team/"}}),
    ),
    Defect(
        name="IAM prefix of 31 characters",
        cluster=Cluster(overrides={"Iam": {"ResourcePrefix": "/path/" + "n" * 31}}),
        code=Code.PC_RESOURCE_PREFIX,
        validator="IamResourcePrefixValidator",
        good=Cluster(overrides={"Iam": {"ResourcePrefix": "/path/" + "n" * 30}}),
    ),
    Defect(
        name="Intel's HPC platform",
        cluster=Cluster(overrides={"AdditionalPackages": {"IntelSoftware": {"IntelHpcPlatform": True}}}),
        code=Code.PC_SETTING,
        validator="IntelHpcOsValidator",
        good=Cluster(overrides={"AdditionalPackages": {"IntelSoftware": {"IntelHpcPlatform": False}}}),
    ),
    Defect(
        name="time for Slurm's reconfiguration of 300 seconds",
        cluster=_chef('{"cluster": {"slurm": {"reconfigure_timeout": 300}}}'),
        code=Code.PC_SETTING,
        validator="ExtraChefAttributesValidator",
        good=_chef('{"cluster": {"slurm": {"reconfigure_timeout": 301}}}'),
    ),
    Defect(
        name="readiness check that is neither on nor off",
        cluster=_chef('{"cluster": {"cluster_readiness_check_enabled": "maybe"}}'),
        code=Code.PC_SETTING,
        validator="ExtraChefAttributesValidator",
        good=_chef('{"cluster": {"cluster_readiness_check_enabled": "true"}}'),
    ),
)
ACCOUNTING = (
    Defect(
        name="database with a scheme",
        cluster=Cluster(accounting=Database(database_uri="mysql://db.example.com:3306")),
        code=Code.ACCOUNTING_ADDRESS,
        validator="DatabaseUriValidator",
        good=Cluster(accounting=Database()),
    ),
    Defect(
        name="database and slurmdbd",
        cluster=Cluster(accounting=Database(slurmdbd_host="dbd.example.com", munge_key_secret_arn=MUNGE_KEY)),
        code=Code.ACCOUNTING_PLACE,
        validator="ExternalSlurmdbdVsDatabaseIncompatibility",
    ),
    Defect(
        name="slurmdbd without a munge key",
        cluster=Cluster(accounting=replace(SLURMDBD, munge_key_secret_arn=None)),
        code=Code.ACCOUNTING_MUNGE_KEY,
        validator="ExternalSlurmdbdRequiresCustomMungeKey",
        good=Cluster(accounting=SLURMDBD),
    ),
    Defect(
        name="munge key that is no secret",
        cluster=Cluster(accounting=replace(SLURMDBD, munge_key_secret_arn=MUNGE_KEY.replace("secret:", "key:"))),
        code=Code.ACCOUNTING_SECRET,
        validator="ArnServiceAndResourceValidator",
    ),
)
DEFECTS = (*ACCOUNTING, *NAMES, *NUMBERS, *RELEASE, *HEAD, *POOLS, *SLURM, *SECTIONS)
