"""Validators of ParallelCluster's without a rule of ours, each with its reason.

The rest has a defect in `defects_of_*`. A new validator of a newer package is in neither, which a test tells.
"""

from typing import Literal

Reason = Literal[
    "asks AWS",
    "warns only",
    "cannot happen",
    "another rule of ours",
    "pcluster build-image",
    "the schema, by overrides",
]

NOT_OURS: dict[str, tuple[Reason, str]] = {
    # What is true of resources that exist is not known at synth.
    "AdditionalIamPolicyValidator": ("asks AWS", "whether a managed policy exists"),
    "AmiOsCompatibleValidator": ("asks AWS", "the operating system of an image"),
    "CapacityBlockHealthStatusValidator": ("asks AWS", "the state of a Capacity Block"),
    "CapacityReservationResourceGroupValidator": ("asks AWS", "what is in a resource group"),
    "CapacityReservationSizeValidator": ("asks AWS", "how many instances are reserved"),
    "ComputeResourceLaunchTemplateValidator": ("asks AWS", "a launch without launching"),
    "CustomAmiTagValidator": ("asks AWS", "which version made an image"),
    "EbsVolumeSizeSnapshotValidator": ("asks AWS", "the size of a snapshot"),
    "EfaSecurityGroupValidator": ("asks AWS", "the rules of a security group"),
    "EfsIdValidator": ("asks AWS", "mount targets and their security groups"),
    "ElasticIpValidator": ("asks AWS", "whether an address exists; its form is checked here"),
    "ExistingFsxNetworkingValidator": ("asks AWS", "VPC and security groups of a file system"),
    "FsxAutoImportValidator": ("asks AWS", "the region of a bucket"),
    "FsxBackupIdValidator": ("asks AWS", "whether a backup exists"),
    "HeadNodeLaunchTemplateValidator": ("asks AWS", "a launch without launching"),
    "HostedZoneValidator": ("asks AWS", "the domain and VPCs of a hosted zone"),
    "IamPolicyValidator": ("asks AWS", "whether a managed policy exists"),
    "InstanceProfileValidator": ("asks AWS", "whether an instance profile exists"),
    "KeyPairValidator": ("asks AWS", "whether a key pair exists and what kind it is"),
    "KmsKeyValidator": ("asks AWS", "whether a key exists"),
    "LambdaFunctionsVpcConfigValidator": ("asks AWS", "the VPC of subnets and security groups"),
    "LaunchTemplateValidator": ("asks AWS", "what is in a launch template"),
    "MultiAzEbsVolumeValidator": ("asks AWS", "the AZ of a volume that exists"),
    "MungeKeySecretSizeAndBase64Validator": ("asks AWS", "what is in a secret"),
    "PlacementGroupCapacityReservationValidator": ("asks AWS", "the placement group of a reservation"),
    "RoleValidator": ("asks AWS", "whether a role exists"),
    "S3BucketRegionValidator": ("asks AWS", "the region of a bucket"),
    "S3BucketValidator": ("asks AWS", "whether a bucket exists and keeps versions"),
    "SecurityGroupsValidator": ("asks AWS", "whether security groups exist"),
    "SharedEbsVolumeIdValidator": ("asks AWS", "whether a volume is free"),
    "SubnetsValidator": ("asks AWS", "the VPC of subnets, and its DNS"),
    "UltraserverCapacityBlockSizeValidator": ("asks AWS", "the size of a Capacity Block"),
    # What only warns or informs refuses no cluster. Some of it we refuse: see `stricter`.
    "DeletionPolicyValidator": ("warns only", "that storage goes or stays"),
    "DetailedMonitoringValidator": ("warns only", "that it costs"),
    "DomainAddrValidator": ("warns only", "ldap in place of ldaps"),
    "ExternalSlurmdbdTrafficNotEncrypted": ("warns only", "that traffic is not encrypted"),
    "InstanceTypeAcceleratorManufacturerValidator": ("warns only", "GPUs that are not NVIDIA's"),
    "InstancesMemorySchedulingWarningValidator": ("warns only", "that memory lies idle"),
    "InstancesNetworkingValidator": ("warns only", "types of different numbers of network cards"),
    "LdapTlsReqCertValidator": ("warns only", "certificates that are not checked"),
    "LogRotationValidator": ("warns only", "that logs are lost"),
    "MixedSecurityGroupOverwriteValidator": ("warns only", "security groups of one's own on some nodes"),
    "MultiAzRootVolumeValidator": ("warns only", "traffic between AZs"),
    "PlacementGroupCapacityTypeValidator": ("warns only", "a placement group of a Capacity Block; refused here"),
    "RootVolumeEncryptionConsistencyValidator": ("warns only", "queues of which some are encrypted"),
    "SharedEbsPerformanceBottleNeckValidator": ("warns only", "more than 100 nodes on EBS"),
    "SlurmNodePrioritiesWarningValidator": ("warns only", "dynamic nodes before static ones"),
    "UnmanagedFsxMultiAzValidator": ("warns only", "traffic between AZs"),
    # What no configuration of ours can hold, or none of this version at all.
    "ArchitectureOsValidator": ("cannot happen", "every operating system has both architectures (constants.py)"),
    "CliAttributeOverridesValidator": ("cannot happen", "its key is not in the schema of clusters"),
    "DcvValidator": ("cannot happen", "every operating system has DCV (constants.py); the rest of it warns"),
    "EfaOsArchitectureValidator": ("cannot happen", "every operating system has EFA (cluster_validators.py)"),
    "EfaPlacementGroupValidator": ("cannot happen", "EFA is always rendered with a word about placement"),
    "FeatureRegionValidator": ("cannot happen", "features are missing in isolated regions only"),
    "FsxArchitectureOsValidator": ("cannot happen", "every operating system has Lustre (constants.py)"),
    "InstanceTypeMemoryInfoValidator": ("cannot happen", "EC2 tells the memory of every type in the catalog"),
    "SingleInstanceTypeSubnetValidator": ("cannot happen", "one type in several subnets is rendered as `Instances`"),
    # What another rule refuses before, or with it.
    "ArnServiceAndResourceValidator": ("another rule of ours", "the type of a secret takes its ARN alone, LF116"),
    "InstanceTypeOSCompatibleValidator": ("another rule of ours", "PC_INSTANCE_OS; see test_old_systems_of_gb200"),
    "IntelHpcArchitectureValidator": ("another rule of ours", "PC_SETTING: Intel's platform is refused everywhere"),
    "RootVolumeSizeValidator": ("another rule of ours", "PC_ROOT_VOLUME, by the size told in the release notes"),
    "SchedulerValidator": ("another rule of ours", "PC_SCHEDULER: the schema refuses before"),
    # Of images, not of clusters.
    "AMIVolumeSizeValidator": ("pcluster build-image", "the size of an image"),
    "ComponentsValidator": ("pcluster build-image", "components of an image"),
    "SecurityGroupsAndSubnetValidator": ("pcluster build-image", "where an image is built"),
    "InstanceTypeSoftwareValidator": ("pcluster build-image", "the instance that builds an image"),
}
