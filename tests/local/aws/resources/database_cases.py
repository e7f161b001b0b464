"""The life cycles of databases and their dependencies."""

from typing import Any

from tests.local.aws.resources.cases import Case


def parameters(client: Any, name: str, kind: str) -> dict[str, Any]:
    """Return all of RDS's data about a parameter group, with parameters set by users."""
    describe = f"describe_db_{kind}parameter_groups"
    key = "DBClusterParameterGroupName" if kind else "DBParameterGroupName"
    (group,) = getattr(client, describe)(**{key: name})[key.removesuffix("Name") + "s"]
    listed = getattr(client, f"describe_db_{kind}parameters")(**{key: name})["Parameters"]
    return group | {"set": {one["ParameterName"]: one["ParameterValue"] for one in listed}}


def tags(client: Any, arn: str) -> dict[str, str]:
    """Return the tags of an RDS resource."""
    return {tag["Key"]: tag["Value"] for tag in client.list_tags_for_resource(ResourceName=arn)["TagList"]}


def cluster(client: Any, name: str) -> dict[str, Any]:
    """Return all of RDS's data about a cluster, with its tags."""
    (found,) = client.describe_db_clusters(DBClusterIdentifier=name)["DBClusters"]
    return found | {"tags": tags(client, found["DBClusterArn"])}


def instance(client: Any, name: str) -> dict[str, Any]:
    """Return all of RDS's data about an instance, with its tags."""
    (found,) = client.describe_db_instances(DBInstanceIdentifier=name)["DBInstances"]
    return found | {"tags": tags(client, found["DBInstanceArn"])}


DATABASE_CASES = (
    Case(
        type="AWS::RDS::DBClusterParameterGroup",
        service="rds",
        properties={
            "Description": "slurmdbd",
            "Family": "aurora-mysql8.0",
            "Parameters": {"innodb_lock_wait_timeout": 900, "require_secure_transport": "ON"},
        },
        reported=lambda client, name: parameters(client, name, "cluster_"),
        expected={
            "Description": "slurmdbd",
            "DBParameterGroupFamily": "aurora-mysql8.0",
            "set": {"innodb_lock_wait_timeout": "900", "require_secure_transport": "ON"},
        },
        change={"Parameters": {"innodb_lock_wait_timeout": 901, "require_secure_transport": "OFF"}},
        changed={"set": {"innodb_lock_wait_timeout": "901", "require_secure_transport": "OFF"}},
    ),
    Case(
        type="AWS::RDS::DBParameterGroup",
        service="rds",
        properties={"Description": "slurmdbd", "Family": "mariadb11.4", "Parameters": {"log_output": "FILE"}},
        reported=lambda client, name: parameters(client, name, ""),
        expected={"DBParameterGroupFamily": "mariadb11.4", "set": {"log_output": "FILE"}},
        change={"Parameters": {"log_output": "TABLE"}},
        changed={"set": {"log_output": "TABLE"}},
    ),
    Case(
        type="AWS::RDS::DBCluster",
        service="rds",
        properties={
            "Engine": "aurora-mysql",
            "EngineVersion": "8.0.mysql_aurora.3.10.4",
            "MasterUsername": "slurm",
            "MasterUserPassword": "correcthorse",
            "Port": 3306,
            "BackupRetentionPeriod": 14,
            "CopyTagsToSnapshot": True,
            "EnableCloudwatchLogsExports": ["audit", "error"],
            "ServerlessV2ScalingConfiguration": {"MinCapacity": 0.5, "MaxCapacity": 4},
            "StorageEncrypted": True,
            "Tags": [{"Key": "kind", "Value": "accounting"}],
        },
        reported=cluster,
        expected={
            "Engine": "aurora-mysql",
            "Port": 3306,
            "BackupRetentionPeriod": 14,
            "EnabledCloudwatchLogsExports": ["audit", "error"],
            "ServerlessV2ScalingConfiguration": {"MinCapacity": 0.5, "MaxCapacity": 4.0},
            "StorageEncrypted": True,
            "tags": {"fleet": "test", "kind": "accounting"},
        },
        change={
            "BackupRetentionPeriod": 30,
            "EnableCloudwatchLogsExports": ["error", "slowquery"],
            "ServerlessV2ScalingConfiguration": {"MinCapacity": 0, "MaxCapacity": 8},
            "Tags": [],
        },
        changed={
            "BackupRetentionPeriod": 30,
            "EnabledCloudwatchLogsExports": ["error", "slowquery"],
            "ServerlessV2ScalingConfiguration": {"MinCapacity": 0.0, "MaxCapacity": 8.0},
            "tags": {"fleet": "test"},
        },
    ),
    Case(
        type="AWS::RDS::DBInstance",
        service="rds",
        properties={
            "Engine": "mariadb",
            "EngineVersion": "11.4.10",
            "DBInstanceClass": "db.t4g.medium",
            "AllocatedStorage": "20",
            "MaxAllocatedStorage": 100,
            "StorageType": "gp3",
            "MasterUsername": "slurm",
            "MasterUserPassword": "correcthorse",
            "Port": "3306",
            "BackupRetentionPeriod": 14,
            "MultiAZ": False,
            "PubliclyAccessible": False,
            "StorageEncrypted": True,
            "Tags": [{"Key": "kind", "Value": "accounting"}],
        },
        reported=instance,
        expected={
            "Engine": "mariadb",
            "DBInstanceClass": "db.t4g.medium",
            "AllocatedStorage": 20,
            "StorageEncrypted": True,
            "tags": {"fleet": "test", "kind": "accounting"},
        },
        change={"DBInstanceClass": "db.m7g.large", "MultiAZ": True, "Tags": []},
        changed={"DBInstanceClass": "db.m7g.large", "MultiAZ": True, "tags": {"fleet": "test"}},
    ),
)
