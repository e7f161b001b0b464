"""Changes of `configurations.base` by name: previous edits, and the change itself. At least one for each policy."""

from tests.rules.parallelcluster.update.configurations import MANAGED_LUSTRE, Edit, append, drop, put

_SUBNETS = ["subnet-0123456789abcdef1", "subnet-0123456789abcdef2"]
_TRN1 = "Scheduling/SlurmQueues/trn1"
_RESOURCE = f"{_TRN1}/ComputeResources/trn1"
_POOL = "LoginNodes/Pools/users"
_CHEF = "DevSettings/Cookbook/ExtraChefAttributes"
_CPU = {
    "Name": "more",
    "ComputeResources": [{"Name": "more", "InstanceType": "c5.large"}],
    "Networking": {"SubnetIds": _SUBNETS[:1]},
}
_NEW_FSX = {
    "Name": "new",
    "MountDir": "/new",
    "StorageType": "FsxLustre",
    "FsxLustreSettings": {"FileSystemId": "fs-0123456789abcdef9"},
}
_NEW_EBS = {"Name": "new", "MountDir": "/new", "StorageType": "Ebs", "EbsSettings": {"Size": 50}}
_NEW_POOL = {
    "Name": "more",
    "InstanceType": "c5.large",
    "Count": 1,
    "Networking": {"SubnetIds": _SUBNETS[:1]},
}
_DIRECTORY = {
    "DomainName": "corp.example.com",
    "DomainAddr": "ldaps://corp.example.com",
    "PasswordSecretArn": "arn:aws:secretsmanager:us-west-2:111122223333:secret:directory-abc123",
    "DomainReadOnlyUser": "cn=reader,dc=corp",
}
_SEQUENCE = {"Sequence": [{"Script": "s3://scripts/a.sh"}, {"Script": "s3://scripts/b.sh"}]}

CHANGES: dict[str, tuple[list[Edit], list[Edit]]] = {
    # The head node and the cluster.
    "head node's type": ([], [put("HeadNode/InstanceType", "m5.4xlarge")]),
    "head node's subnet": ([], [put("HeadNode/Networking/SubnetId", _SUBNETS[1])]),
    "head node's root volume": ([], [put("HeadNode/LocalStorage/RootVolume/Size", 200)]),
    "head node's root volume gone": ([], [drop("HeadNode/LocalStorage")]),
    "head node's elastic ip": ([], [put("HeadNode/Networking/ElasticIp", False)]),
    "head node's security groups": ([], [put("HeadNode/Networking/AdditionalSecurityGroups", ["sg-01234567"])]),
    "head node's allowed addresses": ([], [put("HeadNode/Ssh/AllowedIps", "10.1.0.0/16")]),
    "head node's key": ([], [put("HeadNode/Ssh/KeyName", "key")]),
    "head node's desktop gone": ([], [drop("HeadNode/Dcv")]),
    "who reaches the head node's desktop": ([], [put("HeadNode/Dcv/AllowedIps", "10.1.0.0/16")]),
    "head node's policy": ([], [append("HeadNode/Iam/AdditionalIamPolicies", {"Policy": "arn:aws:iam::1:policy/p"})]),
    "head node's bucket": ([], [put("HeadNode/Iam/S3Access/0/EnableWriteAccess", True)]),
    "head node's profile": ([], [put("HeadNode/Iam/InstanceProfile", "arn:aws:iam::1:instance-profile/p")]),
    "script of the configured head node": ([], [put("HeadNode/CustomActions/OnNodeConfigured/Args", ["two"])]),
    "script of the starting head node": ([], [put("HeadNode/CustomActions/OnNodeStart", {"Script": "s3://s/x"})]),
    "script of the updated head node": ([], [put("HeadNode/CustomActions/OnNodeUpdated/Args", ["two"])]),
    "no script of the updated head node": ([], [drop("HeadNode/CustomActions/OnNodeUpdated")]),
    "no scripts of the head node": ([], [drop("HeadNode/CustomActions")]),
    "operating system": ([], [put("Image/Os", "ubuntu2204")]),
    "image": ([], [put("Image/CustomAmi", "ami-01234567")]),
    "instance metadata": ([], [put("Imds/ImdsSupport", "v1.0")]),
    "bucket of ParallelCluster": ([], [put("CustomS3Bucket", "mine")]),
    "bucket of ParallelCluster gone": ([put("CustomS3Bucket", "mine")], [drop("CustomS3Bucket")]),
    "tag": ([], [put("Tags/0/Value", "other")]),
    "another tag": ([], [append("Tags", {"Key": "owner", "Value": "me"})]),
    "prefix of roles": ([], [put("Iam/ResourcePrefix", "/mine/")]),
    "boundary of permissions": ([], [put("Iam/PermissionsBoundary", "arn:aws:iam::1:policy/p")]),
    "retention of logs": ([], [put("Monitoring/Logs/CloudWatch/RetentionInDays", 30)]),
    "rotation of logs": ([], [put("Monitoring/Logs/Rotation", {"Enabled": False})]),
    "no logs": ([], [drop("Monitoring/Logs")]),
    "no monitoring": ([], [drop("Monitoring")]),
    "detailed monitoring": ([], [put("Monitoring/DetailedMonitoring", True)]),
    "Lambda's network": ([], [put("DeploymentSettings/LambdaFunctionsVpcConfig", {"SubnetIds": _SUBNETS})]),
    "sudo": ([], [put("DeploymentSettings", {"DisableSudoAccessForDefaultUser": True})]),
    "directory": ([], [put("DirectoryService", _DIRECTORY)]),
    "directory's address": (
        [put("DirectoryService", _DIRECTORY)],
        [put("DirectoryService/DomainAddr", "ldaps://x")],
    ),
    "attribute of chef that may change": ([], [put(_CHEF, '{"cluster": {"nvidia": {"enabled": true}}}')]),
    "attribute of chef that may not": ([], [put(_CHEF, '{"cluster": {"nvidia": {"enabled": false}}}')]),
    "time limit of the head node": ([], [put("DevSettings/Timeouts/HeadNodeBootstrapTimeout", 2400)]),
    "time limit of compute nodes": ([], [put("DevSettings/Timeouts/ComputeNodeBootstrapTimeout", 2400)]),
    "interfaces of EFA": ([], [put("DevSettings/EfaInterfaceType", "efa-only")]),
    # Slurm.
    "strategy": ([], [put("Scheduling/SlurmSettings/QueueUpdateStrategy", "DRAIN")]),
    "scheduling by memory": ([], [put("Scheduling/SlurmSettings/EnableMemoryBasedScheduling", True)]),
    "scaling": ([], [put("Scheduling/ScalingStrategy", "best-effort")]),
    "idle time": ([], [put("Scheduling/SlurmSettings/ScaledownIdletime", 5)]),
    "names of hosts": ([], [put("Scheduling/SlurmSettings/Dns/UseEc2Hostnames", True)]),
    "settings of Slurm": ([], [put("Scheduling/SlurmSettings/CustomSlurmSettings", [{"MaxJobCount": 5}])]),
    "accounting": ([], [put("Scheduling/SlurmSettings/Database", {"Uri": "db", "UserName": "slurm"})]),
    "munge key": ([], [put("Scheduling/SlurmSettings/MungeKeySecretArn", "arn:aws:secretsmanager:::secret:k")]),
    # Queues.
    "another queue": ([], [append("Scheduling/SlurmQueues", _CPU)]),
    "a queue fewer": ([], [drop("Scheduling/SlurmQueues/cpu")]),
    "more nodes": ([], [put(f"{_RESOURCE}/MaxCount", 8)]),
    "fewer nodes": ([], [put(f"{_RESOURCE}/MaxCount", 2)]),
    "nodes by default": ([], [drop(f"{_RESOURCE}/MaxCount")]),
    "more static nodes": ([], [put(f"{_RESOURCE}/MinCount", 4)]),
    "fewer static nodes": ([], [put(f"{_RESOURCE}/MinCount", 0)]),
    "more nodes, static ones too": ([], [put(f"{_RESOURCE}/MinCount", 4), put(f"{_RESOURCE}/MaxCount", 6)]),
    "more static nodes than more": ([], [put(f"{_RESOURCE}/MinCount", 5), put(f"{_RESOURCE}/MaxCount", 6)]),
    "type of nodes": ([], [put(f"{_RESOURCE}/InstanceType", "trn1n.32xlarge")]),
    "another type": ([], [append(f"{_TRN1}/ComputeResources/spare/Instances", {"InstanceType": "c5d.large"})]),
    "a type fewer": ([], [put(f"{_TRN1}/ComputeResources/spare/Instances", [{"InstanceType": "c5.large"}])]),
    "another compute resource": ([], [append(f"{_TRN1}/ComputeResources", {"Name": "x", "InstanceType": "c5.large"})]),
    "a compute resource fewer": ([], [drop(f"{_TRN1}/ComputeResources/spare")]),
    "EFA": ([], [put(f"{_RESOURCE}/Efa/Enabled", False)]),
    "hyper-threading": ([], [put(f"{_RESOURCE}/DisableSimultaneousMultithreading", True)]),
    "script of a queue": ([], [put(f"{_TRN1}/CustomActions/OnNodeConfigured/Script", "s3://scripts/bbbb/entry.sh")]),
    "arguments of a queue's script": ([], [put(f"{_TRN1}/CustomActions/OnNodeConfigured/Args", ["x"])]),
    "no script of a queue": ([], [drop(f"{_TRN1}/CustomActions")]),
    "exclusive jobs": ([], [put(f"{_TRN1}/JobExclusiveAllocation", True)]),
    "capacity": ([], [put(f"{_TRN1}/CapacityType", "SPOT")]),
    "reservation": ([], [put(f"{_TRN1}/CapacityReservationTarget", {"CapacityReservationId": "cr-01234567"})]),
    "image of a queue": ([], [put(f"{_TRN1}/Image/CustomAmi", "ami-01234567")]),
    "root volume of a queue": ([], [put(f"{_TRN1}/ComputeSettings/LocalStorage/RootVolume/Size", 200)]),
    "security groups of a queue": ([], [put(f"{_TRN1}/Networking/AdditionalSecurityGroups", ["sg-01234567"])]),
    "health check of a queue": ([], [put(f"{_TRN1}/HealthChecks/Gpu/Enabled", True)]),
    "tag of a queue": ([], [put(f"{_TRN1}/Tags/0/Value", "x")]),
    "policies of a queue": ([], [put(f"{_TRN1}/Iam/AdditionalIamPolicies", [])]),
    "profile of a queue": ([], [put(f"{_TRN1}/Iam/InstanceProfile", "arn:aws:iam::1:instance-profile/p")]),
    "public addresses of a queue": ([], [put(f"{_TRN1}/Networking/AssignPublicIp", True)]),
    "another subnet": ([], [put(f"{_TRN1}/Networking/SubnetIds", _SUBNETS)]),
    "other subnets": ([], [put(f"{_TRN1}/Networking/SubnetIds", _SUBNETS[1:])]),
    "another subnet with a Lustre of its own": (
        [append("SharedStorage", MANAGED_LUSTRE)],
        [put(f"{_TRN1}/Networking/SubnetIds", _SUBNETS)],
    ),
    "another subnet when a Lustre of its own goes": (
        [append("SharedStorage", MANAGED_LUSTRE)],
        [drop("SharedStorage/scratch"), put(f"{_TRN1}/Networking/SubnetIds", _SUBNETS)],
    ),
    "placement group by name": ([], [put(f"{_TRN1}/Networking/PlacementGroup", {"Name": "mine"})]),
    "no placement group": ([], [drop(f"{_TRN1}/Networking/PlacementGroup")]),
    "placement group of a resource by name": (
        [],
        [put(f"{_RESOURCE}/Networking/PlacementGroup", {"Enabled": True, "Name": "mine"})],
    ),
    "placement group where there was none": (
        [drop(f"{_TRN1}/Networking/PlacementGroup")],
        [put(f"{_TRN1}/Networking/PlacementGroup", {"Enabled": True})],
    ),
    # Login nodes.
    "number of login nodes": ([], [put(f"{_POOL}/Count", 3)]),
    "login nodes stopped": ([], [put(f"{_POOL}/Count", 0)]),
    "grace of login nodes": ([], [put(f"{_POOL}/GracetimePeriod", 20)]),
    "type of login nodes": ([], [put(f"{_POOL}/InstanceType", "c5.xlarge")]),
    "policy of login nodes": ([], [put(f"{_POOL}/Iam", {"AdditionalIamPolicies": [{"Policy": "arn:p"}]})]),
    "image of login nodes": ([], [put(f"{_POOL}/Image/CustomAmi", "ami-01234567")]),
    "subnet of login nodes": ([], [put(f"{_POOL}/Networking/SubnetIds", _SUBNETS[1:])]),
    "who reaches login nodes": ([], [put(f"{_POOL}/Ssh/AllowedIps", "10.1.0.0/16")]),
    "desktop of login nodes": ([], [drop(f"{_POOL}/Dcv")]),
    "script of configured login nodes": ([], [put(f"{_POOL}/CustomActions/OnNodeConfigured/Args", ["two"])]),
    "script of updated login nodes": ([], [put(f"{_POOL}/CustomActions/OnNodeUpdated/Args", ["two"])]),
    "another pool": ([], [append("LoginNodes/Pools", _NEW_POOL)]),
    "a pool fewer": ([append("LoginNodes/Pools", _NEW_POOL)], [drop("LoginNodes/Pools/users")]),
    "no login nodes": ([], [drop("LoginNodes")]),
    # Shared storage.
    "another existing file system": ([], [append("SharedStorage", _NEW_FSX)]),
    "an existing file system fewer": ([], [drop("SharedStorage/fsx")]),
    "another volume of its own": ([], [append("SharedStorage", _NEW_EBS)]),
    "a volume of its own fewer": ([], [drop("SharedStorage/ebs")]),
    "no home": ([], [drop("SharedStorage/home")]),
    "a home": ([drop("SharedStorage/home")], [append("SharedStorage", {**_NEW_FSX, "MountDir": "/home"})]),
    "id of a file system": ([], [put("SharedStorage/fsx/FsxLustreSettings/FileSystemId", "fs-0123456789abcdef8")]),
    "id of the home": ([], [put("SharedStorage/home/EfsSettings/FileSystemId", "fs-0123456789abcdef8")]),
    "size of a volume": ([], [put("SharedStorage/ebs/EbsSettings/Size", 200)]),
    "speed of a volume": ([], [put("SharedStorage/ebs/EbsSettings/Iops", 4000)]),
    "size of a Lustre of its own": (
        [append("SharedStorage", MANAGED_LUSTRE)],
        [put("SharedStorage/scratch/FsxLustreSettings/StorageCapacity", 2400)],
    ),
    "compression of a Lustre of its own": (
        [append("SharedStorage", MANAGED_LUSTRE)],
        [put("SharedStorage/scratch/FsxLustreSettings/DataCompressionType", "LZ4")],
    ),
    # A sequence instead of a script.
    "sequence of the updated head node": ([], [put("HeadNode/CustomActions/OnNodeUpdated", _SEQUENCE)]),
    "sequence of a queue": ([], [put(f"{_TRN1}/CustomActions/OnNodeConfigured", _SEQUENCE)]),
    "longer sequence": (
        [put(f"{_TRN1}/CustomActions/OnNodeConfigured", _SEQUENCE)],
        [append(f"{_TRN1}/CustomActions/OnNodeConfigured/Sequence", {"Script": "s3://scripts/c.sh"})],
    ),
}

_EXISTING = {
    "Ebs": "VolumeId",
    "Efs": "FileSystemId",
    "FsxLustre": "FileSystemId",
    "FsxOntap": "VolumeId",
    "FsxOpenZfs": "VolumeId",
    "FileCache": "FileCacheId",
}
for _kind, _key in _EXISTING.items():
    _item = {"Name": "new", "MountDir": "/new", "StorageType": _kind, f"{_kind}Settings": {_key: "any"}}
    CHANGES[f"another existing {_kind}"] = ([], [append("SharedStorage", _item)])
