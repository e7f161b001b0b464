"""Names of all resources of a fleet, and of others that cost money or block a new deployment."""

from collections.abc import Callable
from typing import Any

from llm_fleet_local.aws.client import LocalAws

_Client = Callable[[str], Any]


def what_is_there(aws: LocalAws, region: str | None = None) -> dict[str, list[str]]:
    """Ask each service what it has now, in `region`; default: that of `aws`."""

    def client(service: str) -> Any:
        return aws.client(service, region)

    return {
        **_in_ecs(client),
        **_in_front(client),
        **_in_the_network(client),
        **_hosts(client),
        **_in_sagemaker(client),
        **_kept(client),
        **_watching(client),
        **_acting(client),
    }


def _in_ecs(client: _Client) -> dict[str, list[str]]:
    ecs, scaling = client("ecs"), client("autoscaling")
    clusters = ecs.describe_clusters(clusters=ecs.list_clusters()["clusterArns"])["clusters"]
    groups = scaling.describe_auto_scaling_groups()["AutoScalingGroups"]
    targets = client("application-autoscaling").describe_scalable_targets(ServiceNamespace="ecs")
    return {
        "clusters": [one["clusterName"] for one in clusters if one["status"] == "ACTIVE"],
        "task definitions": ecs.list_task_definitions(status="ACTIVE")["taskDefinitionArns"],
        "groups of hosts": [one["AutoScalingGroupName"] for one in groups],
        "scalable targets": [one["ResourceId"] for one in targets["ScalableTargets"]],
    }


def _in_front(client: _Client) -> dict[str, list[str]]:
    elb = client("elbv2")
    return {
        "load balancers": [one["LoadBalancerName"] for one in elb.describe_load_balancers()["LoadBalancers"]],
        "target groups": [one["TargetGroupName"] for one in elb.describe_target_groups()["TargetGroups"]],
        "web ACLs": [one["Name"] for one in client("wafv2").list_web_acls(Scope="REGIONAL")["WebACLs"]],
    }


def _in_the_network(client: _Client) -> dict[str, list[str]]:
    ec2 = client("ec2")
    nat = ec2.describe_nat_gateways(Filters=[{"Name": "state", "Values": ["available"]}])["NatGateways"]
    endpoints = ec2.describe_vpc_endpoints()["VpcEndpoints"]
    gateways = ec2.describe_internet_gateways()["InternetGateways"]
    return {
        "VPCs": [one["VpcId"] for one in ec2.describe_vpcs()["Vpcs"]],
        "subnets": [one["SubnetId"] for one in ec2.describe_subnets()["Subnets"]],
        "interfaces": [_interface(one) for one in ec2.describe_network_interfaces()["NetworkInterfaces"]],
        "security groups": [one["GroupId"] for one in ec2.describe_security_groups()["SecurityGroups"]],
        "addresses": [one["AllocationId"] for one in ec2.describe_addresses()["Addresses"]],
        "NAT gateways": [one["NatGatewayId"] for one in nat],
        "VPC endpoints": [one["VpcEndpointId"] for one in endpoints if one["State"] != "deleted"],
        "internet gateways": [one["InternetGatewayId"] for one in gateways],
        "flow logs": [one["FlowLogId"] for one in ec2.describe_flow_logs()["FlowLogs"]],
    }


def _interface(reported: dict[str, Any]) -> str:
    return f"{reported['NetworkInterfaceId']} {reported.get('Description', '')}"


def _hosts(client: _Client) -> dict[str, list[str]]:
    ec2 = client("ec2")
    hosts = [one for each in ec2.describe_instances()["Reservations"] for one in each["Instances"]]
    return {
        "hosts": [one["InstanceId"] for one in hosts if one["State"]["Name"] == "running"],
        "hosts ever": [one["InstanceId"] for one in hosts],
        "launch templates": [one["LaunchTemplateName"] for one in ec2.describe_launch_templates()["LaunchTemplates"]],
    }


def _in_sagemaker(client: _Client) -> dict[str, list[str]]:
    sagemaker = client("sagemaker")
    notebooks = sagemaker.list_notebook_instances()["NotebookInstances"]
    return {
        "HyperPod clusters": [one["ClusterName"] for one in sagemaker.list_clusters()["ClusterSummaries"]],
        "models": [one["ModelName"] for one in sagemaker.list_models()["Models"]],
        "endpoints": [one["EndpointName"] for one in sagemaker.list_endpoints()["Endpoints"]],
        "notebook instances": [one["NotebookInstanceName"] for one in notebooks],
        "domains": [one["DomainId"] for one in sagemaker.list_domains()["Domains"]],
    }


def _kept(client: _Client) -> dict[str, list[str]]:
    """What holds data, and the keys of it."""
    kms = client("kms")
    keys = [kms.describe_key(KeyId=one["KeyId"])["KeyMetadata"] for one in kms.list_keys()["Keys"]]
    # The emulated EC2 makes its default key for volumes as if a customer had.
    keys = [one for one in keys if not one["Description"].startswith("Default master key")]
    return {
        "file systems": [one["FileSystemId"] for one in client("fsx").describe_file_systems()["FileSystems"]],
        "buckets": [one["Name"] for one in client("s3").list_buckets()["Buckets"]],
        "tables": client("dynamodb").list_tables()["TableNames"],
        "keys": [one["KeyId"] for one in keys if one["KeyManager"] == "CUSTOMER" and one["KeyState"] == "Enabled"],
        "secrets": [one["Name"] for one in client("secretsmanager").list_secrets()["SecretList"]],
    }


def _watching(client: _Client) -> dict[str, list[str]]:
    logs, watch = client("logs"), client("cloudwatch")
    return {
        "log groups": [one["logGroupName"] for one in logs.describe_log_groups()["logGroups"]],
        "log policies": [one["policyName"] for one in logs.describe_resource_policies()["resourcePolicies"]],
        "rules": [one["Name"] for one in client("events").list_rules()["Rules"]],
        "alarms": [one["AlarmName"] for one in watch.describe_alarms()["MetricAlarms"]],
        "dashboards": [one["DashboardName"] for one in watch.list_dashboards()["DashboardEntries"]],
        "topics": [one["TopicArn"] for one in client("sns").list_topics()["Topics"]],
    }


def _acting(client: _Client) -> dict[str, list[str]]:
    iam, machines = client("iam"), client("stepfunctions")
    return {
        "roles": [one["RoleName"] for one in iam.list_roles()["Roles"]],
        "policies": [one["PolicyName"] for one in iam.list_policies(Scope="Local")["Policies"]],
        "profiles": [one["InstanceProfileName"] for one in iam.list_instance_profiles()["InstanceProfiles"]],
        "functions": [one["FunctionName"] for one in client("lambda").list_functions()["Functions"]],
        "queues": client("sqs").list_queues().get("QueueUrls", []),
        "state machines": [one["name"] for one in machines.list_state_machines()["stateMachines"]],
        "schedules": [one["Name"] for one in client("scheduler").list_schedules()["Schedules"]],
    }
