"""Validators of ParallelCluster without a rule in llm-fleet, each with its reason.

All others have a defect in `defects_of_*`. A validator that a newer package adds is in neither, and a test fails.
"""

from typing import Literal

Reason = Literal[
    "queries AWS",
    "only warns",
    "cannot happen",
    "another rule of llm-fleet",
    "pcluster build-image",
    "the schema, by overrides",
]

NOT_OURS: dict[str, tuple[Reason, str]] = {
    # The state of existing resources is not available at synth time.
    "AdditionalIamPolicyValidator": ("queries AWS", "whether a managed policy exists"),
    "AmiOsCompatibleValidator": ("queries AWS", "the operating system of an image"),
    "CapacityBlockHealthStatusValidator": ("queries AWS", "the state of a Capacity Block"),
    "CapacityReservationResourceGroupValidator": ("queries AWS", "what is in a resource group"),
    "CapacityReservationSizeValidator": ("queries AWS", "how many instances are reserved"),
    "ComputeResourceLaunchTemplateValidator": ("queries AWS", "a launch without launching"),
    "CustomAmiTagValidator": ("queries AWS", "which version made an image"),
    "EbsVolumeSizeSnapshotValidator": ("queries AWS", "the size of a snapshot"),
    "EfaSecurityGroupValidator": ("queries AWS", "the rules of a security group"),
    "EfsIdValidator": ("queries AWS", "mount targets and their security groups"),
    "ElasticIpValidator": ("queries AWS", "whether an address exists; its form is checked here"),
    "ExistingFsxNetworkingValidator": ("queries AWS", "VPC and security groups of a file system"),
    "FsxAutoImportValidator": ("queries AWS", "the region of a bucket"),
    "FsxBackupIdValidator": ("queries AWS", "whether a backup exists"),
    "HeadNodeLaunchTemplateValidator": ("queries AWS", "a launch without launching"),
    "HostedZoneValidator": ("queries AWS", "the domain and VPCs of a hosted zone"),
    "IamPolicyValidator": ("queries AWS", "whether a managed policy exists"),
    "InstanceProfileValidator": ("queries AWS", "whether an instance profile exists"),
    "KeyPairValidator": ("queries AWS", "whether a key pair exists and what kind it is"),
    "KmsKeyValidator": ("queries AWS", "whether a key exists"),
    "LambdaFunctionsVpcConfigValidator": ("queries AWS", "the VPC of subnets and security groups"),
    "LaunchTemplateValidator": ("queries AWS", "what is in a launch template"),
    "MultiAzEbsVolumeValidator": ("queries AWS", "the AZ of a volume that exists"),
    "MungeKeySecretSizeAndBase64Validator": ("queries AWS", "what is in a secret"),
    "PlacementGroupCapacityReservationValidator": ("queries AWS", "the placement group of a reservation"),
    "RoleValidator": ("queries AWS", "whether a role exists"),
    "S3BucketRegionValidator": ("queries AWS", "the region of a bucket"),
    "S3BucketValidator": ("queries AWS", "whether a bucket exists and keeps versions"),
    "SecurityGroupsValidator": ("queries AWS", "whether security groups exist"),
    "SharedEbsVolumeIdValidator": ("queries AWS", "whether a volume is free"),
    "SubnetsValidator": ("queries AWS", "the VPC of subnets, and its DNS"),
    "UltraserverCapacityBlockSizeValidator": ("queries AWS", "the size of a Capacity Block"),
    # Validators that only warn or inform do not reject a cluster. Some of these cases are errors here: see `stricter`.
    "DeletionPolicyValidator": ("only warns", "that storage is deleted or retained"),
    "DetailedMonitoringValidator": ("only warns", "that it causes costs"),
    "DomainAddrValidator": ("only warns", "ldap instead of ldaps"),
    "ExternalSlurmdbdTrafficNotEncrypted": ("only warns", "that traffic is not encrypted"),
    "InstanceTypeAcceleratorManufacturerValidator": ("only warns", "GPUs of other vendors than NVIDIA"),
    "InstancesMemorySchedulingWarningValidator": ("only warns", "that memory is unused"),
    "InstancesNetworkingValidator": ("only warns", "types of different numbers of network cards"),
    "LdapTlsReqCertValidator": ("only warns", "certificates that are not checked"),
    "LogRotationValidator": ("only warns", "that logs are lost"),
    "MixedSecurityGroupOverwriteValidator": ("only warns", "custom security groups on some nodes"),
    "MultiAzRootVolumeValidator": ("only warns", "traffic between AZs"),
    "PlacementGroupCapacityTypeValidator": ("only warns", "a placement group of a Capacity Block; an error here"),
    "RootVolumeEncryptionConsistencyValidator": ("only warns", "queues of which some are encrypted"),
    "SharedEbsPerformanceBottleNeckValidator": ("only warns", "more than 100 nodes on EBS"),
    "SlurmNodePrioritiesWarningValidator": ("only warns", "dynamic nodes before static ones"),
    "UnmanagedFsxMultiAzValidator": ("only warns", "traffic between AZs"),
    # Cases that no configuration of llm-fleet, or of this version, can contain.
    "ArchitectureOsValidator": ("cannot happen", "every operating system has both architectures (constants.py)"),
    "CliAttributeOverridesValidator": ("cannot happen", "its key is not in the schema of clusters"),
    "DcvValidator": ("cannot happen", "every operating system has DCV (constants.py); the rest of it warns"),
    "EfaOsArchitectureValidator": ("cannot happen", "every operating system has EFA (cluster_validators.py)"),
    "EfaPlacementGroupValidator": ("cannot happen", "EFA is always rendered with a placement setting"),
    "FeatureRegionValidator": ("cannot happen", "features are missing in isolated regions only"),
    "FsxArchitectureOsValidator": ("cannot happen", "every operating system has Lustre (constants.py)"),
    "InstanceTypeMemoryInfoValidator": ("cannot happen", "EC2 reports the memory of every type in the catalog"),
    "SingleInstanceTypeSubnetValidator": ("cannot happen", "one type in several subnets is rendered as `Instances`"),
    # Cases that another rule reports first, or as well.
    "ArnServiceAndResourceValidator": ("another rule of llm-fleet", "the type of a secret accepts only its ARN, LF116"),
    "InstanceTypeOSCompatibleValidator": (
        "another rule of llm-fleet",
        "PC_INSTANCE_OS; see test_unsupported_operating_systems_of_gb200",
    ),
    "IntelHpcArchitectureValidator": ("another rule of llm-fleet", "PC_SETTING: Intel's platform is always rejected"),
    "RootVolumeSizeValidator": ("another rule of llm-fleet", "PC_ROOT_VOLUME, by the size in the release notes"),
    "SchedulerValidator": ("another rule of llm-fleet", "PC_SCHEDULER: the schema rejects it first"),
    # Validators of images, not of clusters.
    "AMIVolumeSizeValidator": ("pcluster build-image", "the size of an image"),
    "ComponentsValidator": ("pcluster build-image", "components of an image"),
    "SecurityGroupsAndSubnetValidator": ("pcluster build-image", "where an image is built"),
    "InstanceTypeSoftwareValidator": ("pcluster build-image", "the instance that builds an image"),
}
