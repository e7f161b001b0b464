"""LLM infrastructure on AWS as CDK constructs: network, storage, accounting, training clusters, inference services.

The public names are loaded when they are first used, so that `import llm_fleet` takes little time compared with the
CDK.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llm_fleet.accounting.slurm_database import SlurmDatabase as SlurmDatabase
    from llm_fleet.catalog.ec2_instances import Ec2InstanceType as Ec2InstanceType
    from llm_fleet.catalog.hyperpod import InstanceType as InstanceType
    from llm_fleet.catalog.notebook import NotebookPlatform as NotebookPlatform
    from llm_fleet.catalog.parallelcluster import Os as Os
    from llm_fleet.catalog.parallelcluster import ParallelClusterVersion as ParallelClusterVersion
    from llm_fleet.hyperpod.hyperpod_cluster import HyperPodCluster as HyperPodCluster
    from llm_fleet.iam.deploy_role import DeployRole as DeployRole
    from llm_fleet.iam.node_role import NodeFeatures as NodeFeatures
    from llm_fleet.iam.node_role import NodeRole as NodeRole
    from llm_fleet.iam.session_document import SessionDocument as SessionDocument
    from llm_fleet.inference.export import ModelExport as ModelExport
    from llm_fleet.inference.service import InferenceService as InferenceService
    from llm_fleet.jobs.settings import TrainingRun as TrainingRun
    from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBucket as LifecycleBucket
    from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBundle as LifecycleBundle
    from llm_fleet.lifecycle.node_manifest import NodeManifest as NodeManifest
    from llm_fleet.monitoring.cluster_monitoring import ClusterMonitoring as ClusterMonitoring
    from llm_fleet.monitoring.grafana import GrafanaWorkspace as GrafanaWorkspace
    from llm_fleet.monitoring.grafana import PrometheusWorkspace as PrometheusWorkspace
    from llm_fleet.monitoring.monitored_cluster import MonitoredCluster as MonitoredCluster
    from llm_fleet.named_files.deployed_configuration import DeployedConfiguration as DeployedConfiguration
    from llm_fleet.named_files.named_file import shape_from_config as shape_from_config
    from llm_fleet.network.fleet_network import FleetNetwork as FleetNetwork
    from llm_fleet.network.security_group import EfaSecurityGroup as EfaSecurityGroup
    from llm_fleet.notifications.alarm_topic import AlarmTopic as AlarmTopic
    from llm_fleet.parallelcluster.parallel_cluster import ParallelCluster as ParallelCluster
    from llm_fleet.rules.problem import FleetError as FleetError
    from llm_fleet.rules.problem import Problem as Problem
    from llm_fleet.rules.terms import AllocationStrategy as AllocationStrategy
    from llm_fleet.rules.terms import CapacityType as CapacityType
    from llm_fleet.rules.terms import DeepHealthCheck as DeepHealthCheck
    from llm_fleet.rules.terms import ImmutableChanges as ImmutableChanges
    from llm_fleet.rules.terms import InternalStorage as InternalStorage
    from llm_fleet.rules.terms import InternetAccess as InternetAccess
    from llm_fleet.rules.terms import LifecycleHook as LifecycleHook
    from llm_fleet.rules.terms import NodeProvisioningMode as NodeProvisioningMode
    from llm_fleet.rules.terms import NodeRecovery as NodeRecovery
    from llm_fleet.rules.terms import NodeReports as NodeReports
    from llm_fleet.rules.terms import NodeType as NodeType
    from llm_fleet.rules.terms import PatchingStrategy as PatchingStrategy
    from llm_fleet.rules.terms import QueueUpdateStrategy as QueueUpdateStrategy
    from llm_fleet.rules.terms import ScalingStrategy as ScalingStrategy
    from llm_fleet.rules.terms import SlurmConfigStrategy as SlurmConfigStrategy
    from llm_fleet.rules.terms import StorageKind as StorageKind
    from llm_fleet.rules.training.run_plan import MemoryEstimate as MemoryEstimate
    from llm_fleet.sagemaker.endpoint import HuggingFaceEndpoint as HuggingFaceEndpoint
    from llm_fleet.sagemaker.notebook import TrainingNotebook as TrainingNotebook
    from llm_fleet.sagemaker.studio import StudioDomain as StudioDomain
    from llm_fleet.sagemaker.training_job import TrainingJob as TrainingJob
    from llm_fleet.sagemaker.watch import TrainingWatch as TrainingWatch
    from llm_fleet.spec.cluster import ClusterSpec as ClusterSpec
    from llm_fleet.spec.cluster import Downloads as Downloads
    from llm_fleet.spec.cluster import LifecycleScripts as LifecycleScripts
    from llm_fleet.spec.cluster import NeuronHost as NeuronHost
    from llm_fleet.spec.cluster import NodeScripts as NodeScripts
    from llm_fleet.spec.cluster import OwnStep as OwnStep
    from llm_fleet.spec.cluster import OwnSteps as OwnSteps
    from llm_fleet.spec.cluster import S3Mount as S3Mount
    from llm_fleet.spec.endpoint import EndpointImage as EndpointImage
    from llm_fleet.spec.endpoint import EndpointModel as EndpointModel
    from llm_fleet.spec.endpoint import EndpointSpec as EndpointSpec
    from llm_fleet.spec.endpoint import NeuronSettings as NeuronSettings
    from llm_fleet.spec.endpoint_operations import DataCapture as DataCapture
    from llm_fleet.spec.endpoint_operations import EndpointAlarms as EndpointAlarms
    from llm_fleet.spec.endpoint_operations import EndpointBudget as EndpointBudget
    from llm_fleet.spec.endpoint_operations import EndpointRollout as EndpointRollout
    from llm_fleet.spec.endpoint_operations import EndpointScaling as EndpointScaling
    from llm_fleet.spec.endpoint_operations import RolloutKind as RolloutKind
    from llm_fleet.spec.hyperpod_cluster import HyperPodClusterSpec as HyperPodClusterSpec
    from llm_fleet.spec.instance_group import AutoPatch as AutoPatch
    from llm_fleet.spec.instance_group import BatchSize as BatchSize
    from llm_fleet.spec.instance_group import InstanceGroup as InstanceGroup
    from llm_fleet.spec.instance_group import Lifecycle as Lifecycle
    from llm_fleet.spec.instance_group import NetworkInterfaceType as NetworkInterfaceType
    from llm_fleet.spec.instance_group import RollingUpdate as RollingUpdate
    from llm_fleet.spec.instance_group import ScheduledUpdate as ScheduledUpdate
    from llm_fleet.spec.jobs import ActivationCheckpointing as ActivationCheckpointing
    from llm_fleet.spec.jobs import Backend as Backend
    from llm_fleet.spec.jobs import Checkpoint as Checkpoint
    from llm_fleet.spec.jobs import Precision as Precision
    from llm_fleet.spec.jobs import ServedExport as ServedExport
    from llm_fleet.spec.jobs import TrainingData as TrainingData
    from llm_fleet.spec.jobs import TrainingPartition as TrainingPartition
    from llm_fleet.spec.model_server import AwsVllmNeuronServer as AwsVllmNeuronServer
    from llm_fleet.spec.model_server import AwsVllmServer as AwsVllmServer
    from llm_fleet.spec.model_server import HuggingFaceVllmServer as HuggingFaceVllmServer
    from llm_fleet.spec.model_server import ServerKind as ServerKind
    from llm_fleet.spec.model_server import TgiServer as TgiServer
    from llm_fleet.spec.model_shape import Model as Model
    from llm_fleet.spec.model_shape import ModelShape as ModelShape
    from llm_fleet.spec.model_shape import TrainedShape as TrainedShape
    from llm_fleet.spec.monitoring import BudgetDenial as BudgetDenial
    from llm_fleet.spec.monitoring import ClusterAlarms as ClusterAlarms
    from llm_fleet.spec.monitoring import ClusterAlarmThresholds as ClusterAlarmThresholds
    from llm_fleet.spec.monitoring import ClusterMetrics as ClusterMetrics
    from llm_fleet.spec.monitoring import FleetBudget as FleetBudget
    from llm_fleet.spec.monitoring import MonitoringSpec as MonitoringSpec
    from llm_fleet.spec.monitoring import SlackChannel as SlackChannel
    from llm_fleet.spec.monitoring import TeamsChannel as TeamsChannel
    from llm_fleet.spec.network import ExistingNetworkSpec as ExistingNetworkSpec
    from llm_fleet.spec.network import ExistingParts as ExistingParts
    from llm_fleet.spec.network import NetworkSpec as NetworkSpec
    from llm_fleet.spec.notebook import GitRepository as GitRepository
    from llm_fleet.spec.notebook import NotebookSpec as NotebookSpec
    from llm_fleet.spec.parallelcluster import ParallelClusterSpec as ParallelClusterSpec
    from llm_fleet.spec.parallelcluster import SharedStorage as SharedStorage
    from llm_fleet.spec.parallelcluster import SlurmSettings as SlurmSettings
    from llm_fleet.spec.parallelcluster_nodes import Dcv as Dcv
    from llm_fleet.spec.parallelcluster_nodes import HeadNode as HeadNode
    from llm_fleet.spec.parallelcluster_nodes import LoginPool as LoginPool
    from llm_fleet.spec.parallelcluster_nodes import RootVolume as RootVolume
    from llm_fleet.spec.parallelcluster_queue import CapacityReservation as CapacityReservation
    from llm_fleet.spec.parallelcluster_queue import ComputeResource as ComputeResource
    from llm_fleet.spec.parallelcluster_queue import PlacementGroup as PlacementGroup
    from llm_fleet.spec.parallelcluster_queue import Queue as Queue
    from llm_fleet.spec.people import ClusterUser as ClusterUser
    from llm_fleet.spec.people import Directory as Directory
    from llm_fleet.spec.people import SlurmAccount as SlurmAccount
    from llm_fleet.spec.service import Alarms as Alarms
    from llm_fleet.spec.service import Authentication as Authentication
    from llm_fleet.spec.service import Capacity as Capacity
    from llm_fleet.spec.service import ClaimFormat as ClaimFormat
    from llm_fleet.spec.service import ExportSpec as ExportSpec
    from llm_fleet.spec.service import Front as Front
    from llm_fleet.spec.service import Hosts as Hosts
    from llm_fleet.spec.service import Jwt as Jwt
    from llm_fleet.spec.service import JwtClaim as JwtClaim
    from llm_fleet.spec.service import Scaling as Scaling
    from llm_fleet.spec.service import ServiceSpec as ServiceSpec
    from llm_fleet.spec.service import SidecarImages as SidecarImages
    from llm_fleet.spec.slurm_database import Accounting as Accounting
    from llm_fleet.spec.slurm_database import AccountingDatabase as AccountingDatabase
    from llm_fleet.spec.slurm_database import DatabaseEngine as DatabaseEngine
    from llm_fleet.spec.slurm_database import SlurmDatabaseSpec as SlurmDatabaseSpec
    from llm_fleet.spec.smp import SmpConfiguration as SmpConfiguration
    from llm_fleet.spec.storage import Backups as Backups
    from llm_fleet.spec.storage import BucketSpec as BucketSpec
    from llm_fleet.spec.storage import DataRepository as DataRepository
    from llm_fleet.spec.storage import ExistingLustre as ExistingLustre
    from llm_fleet.spec.storage import ExistingOpenZfs as ExistingOpenZfs
    from llm_fleet.spec.storage import LustreBackups as LustreBackups
    from llm_fleet.spec.storage import LustreDeploymentType as LustreDeploymentType
    from llm_fleet.spec.storage import LustreSpec as LustreSpec
    from llm_fleet.spec.storage import LustreStorageType as LustreStorageType
    from llm_fleet.spec.storage import LustreThroughput as LustreThroughput
    from llm_fleet.spec.storage import OpenZfsSpec as OpenZfsSpec
    from llm_fleet.spec.storage import OpenZfsVolumeSpec as OpenZfsVolumeSpec
    from llm_fleet.spec.studio import StudioSignIn as StudioSignIn
    from llm_fleet.spec.studio import StudioSpec as StudioSpec
    from llm_fleet.spec.studio import StudioUser as StudioUser
    from llm_fleet.spec.training_job import CapacityRetries as CapacityRetries
    from llm_fleet.spec.training_job import JobSchedule as JobSchedule
    from llm_fleet.spec.training_job import Spot as Spot
    from llm_fleet.spec.training_job import TrainingJobSpec as TrainingJobSpec
    from llm_fleet.spec.training_job import WarmPool as WarmPool
    from llm_fleet.spec.training_job_code import Distribution as Distribution
    from llm_fleet.spec.training_job_code import SourceBundle as SourceBundle
    from llm_fleet.spec.training_job_code import TrainingImage as TrainingImage
    from llm_fleet.spec.training_job_data import Channel as Channel
    from llm_fleet.spec.training_job_data import Checkpoints as Checkpoints
    from llm_fleet.spec.training_job_data import InputMode as InputMode
    from llm_fleet.spec.training_job_data import JobMetric as JobMetric
    from llm_fleet.spec.training_job_data import JobOutput as JobOutput
    from llm_fleet.spec.training_job_data import Tracking as Tracking
    from llm_fleet.spec.training_runtime import CompileCache as CompileCache
    from llm_fleet.spec.training_runtime import CondaEnvironment as CondaEnvironment
    from llm_fleet.spec.training_runtime import ContainerEnvironment as ContainerEnvironment
    from llm_fleet.spec.training_runtime import EnvironmentUse as EnvironmentUse
    from llm_fleet.spec.training_runtime import NeuronEnvironment as NeuronEnvironment
    from llm_fleet.spec.training_runtime import ServerEnvironment as ServerEnvironment
    from llm_fleet.spec.training_runtime import SmpEnvironment as SmpEnvironment
    from llm_fleet.spec.training_runtime import TrainingEnvironment as TrainingEnvironment
    from llm_fleet.spec.training_runtime import TrainingRuntime as TrainingRuntime
    from llm_fleet.spec.training_runtime import WheelsEnvironment as WheelsEnvironment
    from llm_fleet.spec.watch import CheckpointLayout as CheckpointLayout
    from llm_fleet.spec.watch import JobWatch as JobWatch
    from llm_fleet.spec.watch import LossSpike as LossSpike
    from llm_fleet.spec.watch import NotANumber as NotANumber
    from llm_fleet.spec.watch import RestartPolicy as RestartPolicy
    from llm_fleet.spec.watch import Stall as Stall
    from llm_fleet.spec.watch import ThroughputDrop as ThroughputDrop
    from llm_fleet.spec.watch import WatchConditions as WatchConditions
    from llm_fleet.spec.watch import WatchedJobs as WatchedJobs
    from llm_fleet.spec.watch import WatchSpec as WatchSpec
    from llm_fleet.storage.buckets import DataBucket as DataBucket
    from llm_fleet.storage.buckets import FleetKey as FleetKey
    from llm_fleet.storage.lustre import LustreFileSystem as LustreFileSystem
    from llm_fleet.storage.open_zfs import OpenZfsFileSystem as OpenZfsFileSystem
    from llm_fleet.storage.open_zfs import OpenZfsVolume as OpenZfsVolume

_HOMES = {
    "accounting.slurm_database": ("SlurmDatabase",),
    "catalog.ec2_instances": ("Ec2InstanceType",),
    "catalog.hyperpod": ("InstanceType",),
    "catalog.notebook": ("NotebookPlatform",),
    "catalog.parallelcluster": ("Os", "ParallelClusterVersion"),
    "hyperpod.hyperpod_cluster": ("HyperPodCluster",),
    "iam.deploy_role": ("DeployRole",),
    "iam.node_role": ("NodeFeatures", "NodeRole"),
    "iam.session_document": ("SessionDocument",),
    "inference.export": ("ModelExport",),
    "inference.service": ("InferenceService",),
    "jobs.settings": ("TrainingRun",),
    "lifecycle.lifecycle_bundle": ("LifecycleBucket", "LifecycleBundle"),
    "lifecycle.node_manifest": ("NodeManifest",),
    "monitoring.cluster_monitoring": ("ClusterMonitoring",),
    "monitoring.grafana": ("GrafanaWorkspace", "PrometheusWorkspace"),
    "monitoring.monitored_cluster": ("MonitoredCluster",),
    "named_files.deployed_configuration": ("DeployedConfiguration",),
    "named_files.named_file": ("shape_from_config",),
    "network.fleet_network": ("FleetNetwork",),
    "network.security_group": ("EfaSecurityGroup",),
    "notifications.alarm_topic": ("AlarmTopic",),
    "parallelcluster.parallel_cluster": ("ParallelCluster",),
    "rules.problem": ("FleetError", "Problem"),
    "rules.terms": (
        "AllocationStrategy",
        "CapacityType",
        "DeepHealthCheck",
        "ImmutableChanges",
        "InternalStorage",
        "InternetAccess",
        "LifecycleHook",
        "NodeProvisioningMode",
        "NodeRecovery",
        "NodeReports",
        "NodeType",
        "PatchingStrategy",
        "QueueUpdateStrategy",
        "ScalingStrategy",
        "SlurmConfigStrategy",
        "StorageKind",
    ),
    "rules.training.run_plan": ("MemoryEstimate",),
    "sagemaker.endpoint": ("HuggingFaceEndpoint",),
    "sagemaker.notebook": ("TrainingNotebook",),
    "sagemaker.studio": ("StudioDomain",),
    "sagemaker.training_job": ("TrainingJob",),
    "sagemaker.watch": ("TrainingWatch",),
    "spec.cluster": (
        "ClusterSpec",
        "Downloads",
        "LifecycleScripts",
        "NeuronHost",
        "NodeScripts",
        "OwnStep",
        "OwnSteps",
        "S3Mount",
    ),
    "spec.endpoint": ("EndpointImage", "EndpointModel", "EndpointSpec", "NeuronSettings"),
    "spec.endpoint_operations": (
        "DataCapture",
        "EndpointAlarms",
        "EndpointBudget",
        "EndpointRollout",
        "EndpointScaling",
        "RolloutKind",
    ),
    "spec.hyperpod_cluster": ("HyperPodClusterSpec",),
    "spec.instance_group": (
        "AutoPatch",
        "BatchSize",
        "InstanceGroup",
        "Lifecycle",
        "NetworkInterfaceType",
        "RollingUpdate",
        "ScheduledUpdate",
    ),
    "spec.jobs": (
        "ActivationCheckpointing",
        "Backend",
        "Checkpoint",
        "Precision",
        "ServedExport",
        "TrainingData",
        "TrainingPartition",
    ),
    "spec.model_server": ("AwsVllmNeuronServer", "AwsVllmServer", "HuggingFaceVllmServer", "ServerKind", "TgiServer"),
    "spec.model_shape": ("Model", "ModelShape", "TrainedShape"),
    "spec.monitoring": (
        "BudgetDenial",
        "ClusterAlarmThresholds",
        "ClusterAlarms",
        "ClusterMetrics",
        "FleetBudget",
        "MonitoringSpec",
        "SlackChannel",
        "TeamsChannel",
    ),
    "spec.network": ("ExistingNetworkSpec", "ExistingParts", "NetworkSpec"),
    "spec.notebook": ("GitRepository", "NotebookSpec"),
    "spec.parallelcluster": ("ParallelClusterSpec", "SharedStorage", "SlurmSettings"),
    "spec.parallelcluster_nodes": ("Dcv", "HeadNode", "LoginPool", "RootVolume"),
    "spec.parallelcluster_queue": ("CapacityReservation", "ComputeResource", "PlacementGroup", "Queue"),
    "spec.people": ("ClusterUser", "Directory", "SlurmAccount"),
    "spec.service": (
        "Alarms",
        "Authentication",
        "Capacity",
        "ClaimFormat",
        "ExportSpec",
        "Front",
        "Hosts",
        "Jwt",
        "JwtClaim",
        "Scaling",
        "ServiceSpec",
        "SidecarImages",
    ),
    "spec.slurm_database": ("Accounting", "AccountingDatabase", "DatabaseEngine", "SlurmDatabaseSpec"),
    "spec.smp": ("SmpConfiguration",),
    "spec.storage": (
        "Backups",
        "BucketSpec",
        "DataRepository",
        "ExistingLustre",
        "ExistingOpenZfs",
        "LustreBackups",
        "LustreDeploymentType",
        "LustreSpec",
        "LustreStorageType",
        "LustreThroughput",
        "OpenZfsSpec",
        "OpenZfsVolumeSpec",
    ),
    "spec.studio": ("StudioSignIn", "StudioSpec", "StudioUser"),
    "spec.training_job": ("CapacityRetries", "JobSchedule", "Spot", "TrainingJobSpec", "WarmPool"),
    "spec.training_job_code": ("Distribution", "SourceBundle", "TrainingImage"),
    "spec.training_job_data": ("Channel", "Checkpoints", "InputMode", "JobMetric", "JobOutput", "Tracking"),
    "spec.training_runtime": (
        "CompileCache",
        "CondaEnvironment",
        "ContainerEnvironment",
        "EnvironmentUse",
        "NeuronEnvironment",
        "ServerEnvironment",
        "SmpEnvironment",
        "TrainingEnvironment",
        "TrainingRuntime",
        "WheelsEnvironment",
    ),
    "spec.watch": (
        "CheckpointLayout",
        "JobWatch",
        "LossSpike",
        "NotANumber",
        "RestartPolicy",
        "Stall",
        "ThroughputDrop",
        "WatchConditions",
        "WatchSpec",
        "WatchedJobs",
    ),
    "storage.buckets": ("DataBucket", "FleetKey"),
    "storage.lustre": ("LustreFileSystem",),
    "storage.open_zfs": ("OpenZfsFileSystem", "OpenZfsVolume"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

# Not a second list of names in `__all__`: a test compares the imports above, which type checkers read, with this table.
__all__ = sorted(_HOME_OF)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used (PEP 562)."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names as well."""
    return sorted({*globals(), *_HOME_OF})
