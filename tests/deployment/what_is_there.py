"""The names of everything that a service is made of, and of what costs money or stands in the way."""

from typing import Any

from local_aws.client import LocalAws


def what_is_there(aws: LocalAws) -> dict[str, list[str]]:
    """Ask each service what it has now."""
    return {**_in_ecs(aws), **_in_front(aws), **_in_ec2(aws), **_elsewhere(aws)}


def _in_ecs(aws: LocalAws) -> dict[str, list[str]]:
    ecs, scaling = aws.client("ecs"), aws.client("autoscaling")
    clusters = ecs.describe_clusters(clusters=ecs.list_clusters()["clusterArns"])["clusters"]
    groups = scaling.describe_auto_scaling_groups()["AutoScalingGroups"]
    targets = aws.client("application-autoscaling").describe_scalable_targets(ServiceNamespace="ecs")
    return {
        "clusters": [one["clusterName"] for one in clusters if one["status"] == "ACTIVE"],
        "task definitions": ecs.list_task_definitions(status="ACTIVE")["taskDefinitionArns"],
        "groups of hosts": [one["AutoScalingGroupName"] for one in groups],
        "scalable targets": [one["ResourceId"] for one in targets["ScalableTargets"]],
    }


def _in_front(aws: LocalAws) -> dict[str, list[str]]:
    elb = aws.client("elbv2")
    return {
        "load balancers": [one["LoadBalancerName"] for one in elb.describe_load_balancers()["LoadBalancers"]],
        "target groups": [one["TargetGroupName"] for one in elb.describe_target_groups()["TargetGroups"]],
        "web ACLs": [one["Name"] for one in aws.client("wafv2").list_web_acls(Scope="REGIONAL")["WebACLs"]],
    }


def _in_ec2(aws: LocalAws) -> dict[str, list[str]]:
    ec2 = aws.client("ec2")
    hosts = [one for each in ec2.describe_instances()["Reservations"] for one in each["Instances"]]
    nat = ec2.describe_nat_gateways(Filters=[{"Name": "state", "Values": ["available"]}])["NatGateways"]
    return {
        "hosts": [one["InstanceId"] for one in hosts if one["State"]["Name"] == "running"],
        "hosts ever": [one["InstanceId"] for one in hosts],
        "launch templates": [one["LaunchTemplateName"] for one in ec2.describe_launch_templates()["LaunchTemplates"]],
        "VPCs": [one["VpcId"] for one in ec2.describe_vpcs()["Vpcs"]],
        "interfaces": [_interface(one) for one in ec2.describe_network_interfaces()["NetworkInterfaces"]],
        "security groups": [one["GroupName"] for one in ec2.describe_security_groups()["SecurityGroups"]],
        "addresses": [one["AllocationId"] for one in ec2.describe_addresses()["Addresses"]],
        "NAT gateways": [one["NatGatewayId"] for one in nat],
    }


def _interface(told: dict[str, Any]) -> str:
    return f"{told['NetworkInterfaceId']} {told.get('Description', '')}"


def _elsewhere(aws: LocalAws) -> dict[str, list[str]]:
    iam, kms, watch = aws.client("iam"), aws.client("kms"), aws.client("cloudwatch")
    keys = [kms.describe_key(KeyId=one["KeyId"])["KeyMetadata"] for one in kms.list_keys()["Keys"]]
    # The emulated EC2 makes its default key for volumes as if a customer had.
    keys = [one for one in keys if not one["Description"].startswith("Default master key")]
    return {
        "buckets": [one["Name"] for one in aws.client("s3").list_buckets()["Buckets"]],
        "keys": [one["KeyId"] for one in keys if one["KeyManager"] == "CUSTOMER" and one["KeyState"] == "Enabled"],
        "roles": [one["RoleName"] for one in iam.list_roles()["Roles"]],
        "policies": [one["PolicyName"] for one in iam.list_policies(Scope="Local")["Policies"]],
        "profiles": [one["InstanceProfileName"] for one in iam.list_instance_profiles()["InstanceProfiles"]],
        "functions": [one["FunctionName"] for one in aws.client("lambda").list_functions()["Functions"]],
        "secrets": [one["Name"] for one in aws.client("secretsmanager").list_secrets()["SecretList"]],
        "log groups": [one["logGroupName"] for one in aws.client("logs").describe_log_groups()["logGroups"]],
        "log policies": [
            one["policyName"] for one in aws.client("logs").describe_resource_policies()["resourcePolicies"]
        ],
        "rules": [one["Name"] for one in aws.client("events").list_rules()["Rules"]],
        "alarms": [one["AlarmName"] for one in watch.describe_alarms()["MetricAlarms"]],
        "dashboards": [one["DashboardName"] for one in watch.list_dashboards()["DashboardEntries"]],
    }
