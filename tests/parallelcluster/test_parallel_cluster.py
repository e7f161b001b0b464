"""The cluster: its template, and invalid values, which are rejected before anything is created."""

import re
from datetime import date
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk.assertions import Annotations, Match, Template

from llm_fleet import (
    Accounting,
    ClusterUser,
    ComputeResource,
    ExistingLustre,
    ExistingNetworkSpec,
    ExistingOpenZfs,
    FleetError,
    FleetNetwork,
    HeadNode,
    InternetAccess,
    LoginPool,
    LustreFileSystem,
    LustreSpec,
    NetworkSpec,
    NeuronHost,
    NodeScripts,
    OpenZfsFileSystem,
    ParallelCluster,
    ParallelClusterSpec,
    Queue,
    SlurmSettings,
)
from llm_fleet_local.parallelcluster.client import Oracle
from tests.conftest import ENVIRONMENT
from tests.parallelcluster.conftest import OTHER_ZONE, SECURITY_GROUP, SUBNETS, ZONE, Make, Read


def codes(error: pytest.ExceptionInfo[FleetError]) -> list[tuple[str, str]]:
    return [(problem.code.value, problem.where) for problem in error.value.problems]


def stringified(value: Any) -> Any:
    """Return a property as CloudFormation passes it: numbers and booleans are text."""
    match value:
        case dict():
            return {key: stringified(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case list():
            return [stringified(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def test_the_custom_resource_has_only_arguments_of_the_provider(make: Make, properties: Read):
    cluster = make()
    given = properties()
    assert set(given) == {"ServiceToken", "ClusterName", "ClusterConfiguration"}
    assert given["ClusterName"] == cluster.cluster_name
    assert re.fullmatch(r"train-[0-9a-f]{8}", cluster.cluster_name)


def test_parallelcluster_accepts_the_properties_as_cloudformation_passes_them(
    make: Make, properties: Read, oracle: Oracle
):
    make(login_pools=[LoginPool(name="login", instance_type="m5.large")], tags={"team": "llm"})
    given = properties()
    configuration = stringified(given["ClusterConfiguration"])
    assert oracle.schema(configuration, given["ClusterName"]) == []
    found = oracle.validate(configuration, given["ClusterName"])
    assert [finding for finding in found if finding.level == "ERROR"] == []


def test_a_name_from_the_construct_path_leaves_space_for_names_of_nodes():
    """The name does not depend on names of queues: otherwise a longer queue name would create another cluster."""
    names: list[str] = []
    for queue in ("trn1", "pre-training"):
        stack = cdk.Stack(cdk.App(), "AStackWithAName", env=ENVIRONMENT)
        network = FleetNetwork.from_attributes(
            stack, "Network", ExistingNetworkSpec(vpc="vpc-0123456789abcdef0", subnets=SUBNETS)
        )
        cluster = ParallelCluster(
            stack,
            "AnEndlessConstructIdThatNobodyWouldWriteButSomeGeneratorMight",
            ParallelClusterSpec(
                head_node=HeadNode(instance_type="m5.2xlarge"),
                queues=[Queue(name=queue, resources=[ComputeResource(name="n", instance_types=["c5.large"])])],
                scripts=None,
            ),
            network=network,
        )
        names.append(cluster.cluster_name)
    assert len(names[0]) == 29
    assert names[0] == names[1]


def test_nodes_are_in_private_subnets_and_share_the_networks_security_group(make: Make, properties: Read):
    far = Queue.cpu("far", instance_type="c5.4xlarge", max_count=2, availability_zone_id=OTHER_ZONE)
    near = Queue.trainium("trn1", max_count=4)
    make(queues=[near, far], login_pools=[LoginPool(name="login", instance_type="m5.large")])
    configuration = properties()["ClusterConfiguration"]
    head, pool = configuration["HeadNode"], configuration["LoginNodes"]["Pools"][0]
    queues = configuration["Scheduling"]["SlurmQueues"]
    assert head["Networking"] == {"SubnetId": SUBNETS[ZONE], "AdditionalSecurityGroups": [SECURITY_GROUP]}
    for part, zone in ((pool, ZONE), (queues[0], ZONE), (queues[1], OTHER_ZONE)):
        networking = {"SubnetIds": [SUBNETS[zone]], "AdditionalSecurityGroups": [SECURITY_GROUP]}
        assert part["Networking"] | networking == part["Networking"]


def test_given_subnets_and_security_groups_are_kept(stack: cdk.Stack, make: Make, properties: Read):
    subnet = ec2.Subnet.from_subnet_id(stack, "Own", "subnet-0123456789abcdef9")
    group = ec2.SecurityGroup.from_security_group_id(stack, "OwnGroup", "sg-0123456789abcdef9")
    make(
        head_node=HeadNode(instance_type="m5.2xlarge", subnet=subnet, security_groups=[group]),
        login_pools=[LoginPool(name="login", instance_type="m5.large")],
    )
    configuration = properties()["ClusterConfiguration"]
    assert configuration["HeadNode"]["Networking"] == {
        "SubnetId": "subnet-0123456789abcdef9",
        "AdditionalSecurityGroups": [SECURITY_GROUP, "sg-0123456789abcdef9"],
    }
    pool = configuration["LoginNodes"]["Pools"][0]["Networking"]
    assert pool["SubnetIds"] == ["subnet-0123456789abcdef9"], "login nodes are in the head node's subnet"


def test_file_systems_are_referenced_by_id_and_deleted_after_the_cluster(
    make: Make, stack: cdk.Stack, properties: Read
):
    own = ec2.SecurityGroup.from_security_group_id(stack, "FsxGroup", "sg-0123456789abcdef8")
    lustre = LustreFileSystem.from_attributes(
        stack, "Fsx", ExistingLustre(file_system_id="fs-0123456789abcdef0", mount_name="abcdefgh", security_group=own)
    )
    home = OpenZfsFileSystem.from_attributes(
        stack, "Home", ExistingOpenZfs(file_system_id="fs-0123456789abcdef1", volume_id="fsvol-0123456789abcdef0")
    )
    make(lustre=lustre, open_zfs=home)
    configuration = properties()["ClusterConfiguration"]
    assert configuration["SharedStorage"] == [
        {
            "Name": "fsx",
            "MountDir": "/fsx",
            "StorageType": "FsxLustre",
            "FsxLustreSettings": {"FileSystemId": "fs-0123456789abcdef0"},
        },
        {
            "Name": "home",
            "MountDir": "/home",
            "StorageType": "FsxOpenZfs",
            "FsxOpenZfsSettings": {"VolumeId": "fsvol-0123456789abcdef0"},
        },
    ]
    rules = Template.from_stack(stack).find_resources("AWS::EC2::SecurityGroupIngress").values()
    opened = {(rule["Properties"]["GroupId"], rule["Properties"]["SourceSecurityGroupId"]) for rule in rules}
    assert opened == {("sg-0123456789abcdef8", SECURITY_GROUP), (SECURITY_GROUP, "sg-0123456789abcdef8")}


def test_a_cluster_is_in_the_az_of_its_file_system(make: Make, stack: cdk.Stack, properties: Read):
    lustre = LustreFileSystem.from_attributes(
        stack,
        "Fsx",
        ExistingLustre(file_system_id="fs-0123456789abcdef0", mount_name="abcdefgh", availability_zone_id=OTHER_ZONE),
    )
    make(lustre=lustre)
    head = properties()["ClusterConfiguration"]["HeadNode"]
    assert head["Networking"]["SubnetId"] == SUBNETS[OTHER_ZONE]


def test_all_errors_are_reported_together_and_nothing_is_created(make: Make, stack: cdk.Stack):
    home = OpenZfsFileSystem.from_attributes(stack, "Home", ExistingOpenZfs(file_system_id="fs-0123456789abcdef1"))
    with pytest.raises(FleetError) as error:
        make(
            scheduler="pbs",
            head_node=HeadNode(instance_type="m7g.2xlarge"),
            queues=[Queue.trainium("trn1", max_count=4, availability_zone_id="usw2-az3")],
            open_zfs=home,
            lustre_mount_path="fsx",
            iam_resource_prefix="/research/",
            users=[ClusterUser(name="ada", uid=0)],
            scripts=NodeScripts(skip_steps=["no_such_step"]),
            neuron=NeuronHost(release="0.0.0"),
        )
    reported = codes(error)
    assert [code for code, _ in reported if code in ("LF617", "LF625", "LF206", "LF670", "LF671")] != []
    assert {
        ("LF617", "scheduler"),
        ("LF206", "queues.trn1.availability_zone_id"),
        ("LF670", "open_zfs.volume_id"),
        ("LF671", "iam_resource_prefix"),
    } <= set(reported)
    assert {"LF625"} <= {code for code, _ in reported}
    assert {"users", "scripts", "neuron"} <= {where.split(".")[0].split("[")[0] for _, where in reported}
    assert Template.from_stack(stack).to_json().get("Resources") is None


def test_errors_in_mount_paths_are_reported_at_their_parameters(make: Make, stack: cdk.Stack):
    lustre = LustreFileSystem.from_attributes(
        stack, "Fsx", ExistingLustre(file_system_id="fs-0123456789abcdef0", mount_name="abcdefgh")
    )
    with pytest.raises(FleetError) as error:
        make(lustre=lustre, lustre_mount_path="fsx data")
    assert {where for _, where in codes(error)} == {"lustre_mount_path"}


def test_a_text_that_yaml_reads_as_a_date_is_rejected(make: Make):
    """The provider would fail an hour later."""
    with pytest.raises(FleetError) as error:
        make(slurm=SlurmSettings(custom_settings=[{"Comment": date(2026, 11, 20)}]))
    (problem,) = error.value.problems
    assert (problem.code.value, problem.value, problem.path[-1]) == ("LF672", "2026-11-20", "Comment")


def test_an_az_without_a_subnet_is_reported(make: Make):
    with pytest.raises(FleetError) as error:
        make(availability_zone_id="usw2-az3")
    assert ("LF206", "availability_zone_id") in codes(error)


def test_more_nodes_than_the_subnet_has_addresses_are_reported(stack: cdk.Stack, make: Make):
    small = FleetNetwork(stack, "Small", NetworkSpec(availability_zone_ids=[ZONE], compute_cidr="10.1.0.0/24"))
    make("Fits", network=small, queues=[Queue.trainium("trn1", max_count=100)])
    with pytest.raises(FleetError) as error:
        make("Too", network=small, queues=[Queue.trainium("trn1", max_count=200)])
    assert "network" in codes(error)[0][1]


def test_a_closed_network_is_rejected(stack: cdk.Stack, make: Make):
    closed = FleetNetwork(stack, "Closed", NetworkSpec(availability_zone_ids=[ZONE], internet=InternetAccess.NONE))
    with pytest.raises(FleetError) as error:
        make(network=closed)
    assert codes(error) == [("LF122", "network.internet")]


def test_adding_or_removing_scripts_creates_a_new_cluster(make: Make):
    """ParallelCluster neither adds nor removes OnNodeConfigured of the head node."""
    with_scripts, without = make("With"), make("Without", cluster_name="train", scripts=None)
    assert with_scripts.cluster_name != without.cluster_name


def test_scripts_with_another_location_create_a_new_cluster(stack: cdk.Stack, make: Make):
    """Their location is in OnNodeConfigured of the head node."""
    here, there = (s3.Bucket.from_bucket_name(stack, name, f"sagemaker-{name}") for name in ("here", "there"))
    clusters = [
        make("Made"),
        make("Here", cluster_name="train", scripts=NodeScripts(bucket=here)),
        make("There", cluster_name="train", scripts=NodeScripts(bucket=there)),
        make("Other", cluster_name="train", scripts=NodeScripts(bucket=here), fleet_name="other"),
    ]
    assert len({cluster.cluster_name.rpartition("-")[2] for cluster in clusters}) == 4


def test_the_cluster_is_created_after_the_accounting_database(stack: cdk.Stack, make: Make):
    server = cdk.CfnResource(stack, "Server", type="AWS::RDS::DBInstance")
    elsewhere = Accounting(slurmdbd_host="slurmdbd.example.com", munge_key_secret=_secret(stack), servers=[server])
    cluster = make(accounting=elsewhere)
    assert server.node.path in [each.node.path for each in cluster.resource.node.dependencies]


def test_accounting_is_named_after_the_cluster_and_its_port_is_opened(stack: cdk.Stack, make: Make, properties: Read):
    guard = ec2.SecurityGroup.from_security_group_id(stack, "Guard", "sg-0123456789abcdef7")
    elsewhere = Accounting(slurmdbd_host="slurmdbd.example.com", munge_key_secret=_secret(stack), connections=guard)
    make(accounting=elsewhere)
    settings = properties()["ClusterConfiguration"]["Scheduling"]["SlurmSettings"]
    assert settings["ExternalSlurmdbd"] == {"Host": "slurmdbd.example.com"}
    rules = Template.from_stack(stack).find_resources("AWS::EC2::SecurityGroupIngress")
    (opened,) = rules.values()
    assert (opened["Properties"]["FromPort"], opened["Properties"]["SourceSecurityGroupId"]) == (6819, SECURITY_GROUP)
    assert set(rules) <= set(depends_on(stack)), "the head node needs it as soon as it boots"


def test_the_cluster_is_deleted_first(stack: cdk.Stack, make: Make):
    network = FleetNetwork(stack, "Own", NetworkSpec(availability_zone_ids=[ZONE]))
    make(network=network, lustre=LustreFileSystem(stack, "Fsx", LustreSpec(storage_capacity_gib=1200), network=network))
    needed = reachable(stack, "Custom::PclusterCluster")
    for kind in (
        "AWS::EC2::NatGateway",
        "AWS::EC2::Route",
        "AWS::EC2::SubnetRouteTableAssociation",
        "AWS::EC2::VPCEndpoint",
        "AWS::EC2::SecurityGroupIngress",
        "AWS::FSx::FileSystem",
        "AWS::IAM::ManagedPolicy",
        "AWS::CloudFormation::Stack",
        "Custom::LlmFleetBundle",
    ):
        there = {
            name
            for name in Template.from_stack(stack).find_resources(kind)
            if "Private" not in name and "FlowLogs" not in name
        }
        assert there, kind
        assert there <= needed, f"{kind} could be deleted under a living cluster"


def test_attributes_for_other_constructs(stack: cdk.Stack, make: Make):
    cluster = make()
    assert [group.security_group_id for group in cluster.connections.security_groups] == [SECURITY_GROUP]
    metric = cluster.metric("InsufficientCapacityErrors")
    assert (metric.namespace, metric.dimensions) == ("ParallelCluster", {"ClusterName": cluster.cluster_name})
    assert cluster.node.default_child is cluster.resource
    cluster.add_outputs()
    values = {str(output["Value"]) for output in Template.from_stack(stack).to_json()["Outputs"].values()}
    assert any("headNode.instanceId" in value for value in values)
    assert any("Outputs.LogGroupArn" in value for value in values)


def test_an_existing_cluster(stack: cdk.Stack):
    known = ParallelCluster.from_cluster_name(stack, "Old", "train-01234567")
    assert known.cluster_name == "train-01234567"
    with pytest.raises(FleetError) as error:
        _ = known.connections
    assert [code for code, _ in codes(error)] == ["LF572"]
    group = ec2.SecurityGroup.from_security_group_id(stack, "Nodes", SECURITY_GROUP)
    reachable_one = ParallelCluster.from_cluster_name(stack, "Older", "train-0", security_groups=[group])
    assert len(reachable_one.connections.security_groups) == 1


def test_a_retained_cluster_retains_the_resources_that_it_requires(stack: cdk.Stack, make: Make):
    network = FleetNetwork(stack, "Own", NetworkSpec(availability_zone_ids=[ZONE]))
    make(network=network, removal_policy=cdk.RemovalPolicy.RETAIN)
    template = Template.from_stack(stack)
    for kind in (
        "Custom::PclusterCluster",
        "AWS::CloudFormation::Stack",
        "Custom::LlmFleetBundle",
        "AWS::EC2::Subnet",
        "AWS::EC2::SecurityGroup",
    ):
        kept = [body.get("DeletionPolicy") for body in template.find_resources(kind).values()]
        assert any(policy in ("Retain", "RetainExceptOnCreate") for policy in kept), kind
    named = template.find_resources("AWS::IAM::ManagedPolicy")
    policies = {body["Properties"].get("ManagedPolicyName"): body.get("DeletionPolicy") for body in named.values()}
    assert {policy for name, policy in policies.items() if name} == {"Retain"}


def test_by_default_the_cluster_is_deleted_with_its_stack(stack: cdk.Stack, make: Make):
    make()
    (cluster,) = Template.from_stack(stack).find_resources("Custom::PclusterCluster").values()
    assert cluster["DeletionPolicy"] == "Delete"


def test_a_stack_without_account_and_region(app: cdk.App):
    anywhere = cdk.Stack(app, "Anywhere")
    network = FleetNetwork(anywhere, "Network", NetworkSpec(availability_zone_ids=[ZONE]))
    cluster = ParallelCluster(
        anywhere,
        "Train",
        ParallelClusterSpec(
            head_node=HeadNode(instance_type="m5.2xlarge"), queues=[Queue.trainium("trn1", max_count=4)]
        ),
        network=network,
    )
    (made,) = Template.from_stack(anywhere).find_resources("Custom::PclusterCluster").values()
    assert made["Properties"]["ClusterConfiguration"]["Region"] == {"Ref": "AWS::Region"}
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9-]+-[0-9a-f]{8}", cluster.cluster_name)


def depends_on(stack: cdk.Stack) -> list[str]:
    (cluster,) = Template.from_stack(stack).find_resources("Custom::PclusterCluster").values()
    return cluster["DependsOn"]


def reachable(stack: cdk.Stack, kind: str) -> set[str]:
    """Return the logical ids of all resources that the resource of `kind` depends on, directly or not."""
    template = Template.from_stack(stack)
    resources: dict[str, Any] = template.to_json()["Resources"]
    (start,) = template.find_resources(kind)
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            text = str({key: value for key, value in resources[name].items() if key in ("Properties", "DependsOn")})
            waiting += [other for other in resources if f"'{other}'" in text]
    return seen


def _secret(stack: cdk.Stack) -> Any:
    return secretsmanager.Secret.from_secret_complete_arn(
        stack, "Munge", "arn:aws:secretsmanager:us-west-2:111122223333:secret:munge-abcdef"
    )


@pytest.mark.parametrize(("os", "version"), [("rhel8", "3.6"), ("rhel9", None), ("ubuntu2404", None)])
def test_an_operating_system_with_an_old_python_causes_a_warning(
    stack: cdk.Stack, make: Make, os: str, version: str | None
) -> None:
    make(os=os)
    annotations = Annotations.from_stack(stack)
    if version is None:
        annotations.has_no_warning("*", Match.string_like_regexp("python3 of"))
    else:
        annotations.has_warning("/Test/Train", Match.string_like_regexp(f"python3 of {os} is {version}"))
