"""Answers calls that moto does not support, each with its reason. Resources in the configuration exist."""

import base64
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from botocore.model import OperationModel
from botocore.validate import ParamValidator
from pcluster.aws.aws_resources import CapacityReservationInfo, FsxStorageInfo
from pcluster.aws.common import AWSClientError, BadRequestError
from pcluster.aws.ec2 import Ec2Client
from pcluster.aws.fsx import FSxClient
from pcluster.aws.kms import KmsClient
from pcluster.aws.resource_groups import ResourceGroupsClient
from pcluster.aws.route53 import Route53Client
from pcluster.aws.secretsmanager import SecretsManagerClient
from pcluster.aws.ssm import SsmClient
from pcluster.constants import CAPACITY_RESERVATION_OS_MAP

from llm_fleet_local.parallelcluster import named
from llm_fleet_local.parallelcluster.inside.account_context import AccountContext, World
from llm_fleet_local.parallelcluster.inside.reservations import reservations
from llm_fleet_local.parallelcluster.inside.world_storage import volumes_file_system


@contextmanager
def answering(configuration: dict[str, Any], account_context: AccountContext, world: World) -> Iterator[None]:
    """Replace these calls to moto while a configuration is validated."""
    answers = _Answers(configuration, account_context, world)
    replaced: list[tuple[type, str, Callable[..., Any]]] = [
        # moto has no capacity reservations and Capacity Blocks, and cannot add them to groups.
        (Ec2Client, "describe_capacity_reservations", answers.capacity_reservations),
        (Ec2Client, "describe_capacity_block_status", answers.capacity_block_status),
        (ResourceGroupsClient, "get_capacity_reservation_ids_from_group_resources", answers.group_members),
        (ResourceGroupsClient, "get_group_configuration", answers.group_configuration),
        # moto has no placement groups, and its dry run rejects ephemeral devices of instance stores.
        (Ec2Client, "describe_placement_group", answers.existing("placement group")),
        (Ec2Client, "run_instances", answers.dry_run),
        # moto chooses ids and ARNs of these itself; ParallelCluster only queries whether they exist.
        (Ec2Client, "describe_volume", answers.volume),
        (Ec2Client, "get_ebs_snapshot_info", answers.snapshot),
        (Ec2Client, "get_eip_allocation_id", answers.existing("address")),
        (Ec2Client, "describe_launch_template_version", answers.launch_template),
        (KmsClient, "describe_key", answers.existing("key")),
        (SecretsManagerClient, "describe_secret", answers.existing("secret", code="ResourceNotFoundExceptionSecrets")),
        (SecretsManagerClient, "get_secret_value", answers.secret_value),
        (SsmClient, "get_parameter", answers.existing("parameter", code="ParameterNotFound")),
        (Route53Client, "get_hosted_zone", answers.hosted_zone),
        # moto's FSx has neither volumes nor caches, and backups only of its own file systems.
        (FSxClient, "describe_volumes", answers.fsx_volumes),
        (FSxClient, "describe_file_caches", answers.file_caches),
        (FSxClient, "describe_backup", answers.existing("backup")),
    ]
    with ExitStack() as stack:
        for client, name, answer in replaced:
            stack.enter_context(patch.object(client, name, _method(answer)))
        yield


def _method(answer: Callable[..., Any]) -> Callable[..., Any]:
    def call(client: Any, *arguments: Any, **named_arguments: Any) -> Any:
        if answer.__name__ == "dry_run":
            return answer(client, *arguments, **named_arguments)
        return answer(*arguments, **named_arguments)

    return call


class _Answers:
    def __init__(self, configuration: dict[str, Any], account_context: AccountContext, world: World) -> None:
        self._configuration = configuration
        self._context = account_context
        self._world = world
        os_name = str((configuration.get("Image") or {}).get("Os"))
        platform = CAPACITY_RESERVATION_OS_MAP.get(os_name, "Linux/UNIX")
        self._reservations = reservations(configuration, account_context, platform)

    def existing(self, kind: str, code: str = "NotFound") -> Callable[..., dict[str, Any]]:
        def look(*names: str, **named_names: str) -> dict[str, Any]:
            for name in (*names, *named_names.values()):
                self._must_exist(kind, name, code)
            return {}

        return look

    def _must_exist(self, kind: str, name: str, code: str = "NotFound") -> None:
        if name in self._context.missing:
            raise AWSClientError("look", f"The {kind} '{name}' does not exist", code)

    def capacity_reservations(self, capacity_reservation_ids: list[str]) -> list[CapacityReservationInfo]:
        for one in capacity_reservation_ids:
            if one in self._context.missing or one not in self._reservations:
                raise AWSClientError(
                    "describe_capacity_reservations", f"The capacity reservation ID '{one}' was not found"
                )
        return [CapacityReservationInfo(self._reservations[one]) for one in capacity_reservation_ids]

    def capacity_block_status(self, *_: Any, **__: Any) -> list[dict[str, Any]]:
        return [
            {
                "CapacityBlockId": name.replace("cr-", "cb-"),
                "InterconnectStatus": "ok",
                "TotalCapacity": facts["TotalInstanceCount"],
                "CapacityReservationStatuses": [{"CapacityReservationId": name}],
            }
            for name, facts in self._reservations.items()
            if facts.get("ReservationType") == "capacity-block"
        ]

    def group_members(self, group: str) -> list[str]:
        self._must_exist("group", group)
        return [name for name, facts in self._reservations.items() if facts["group"] == group]

    def group_configuration(self, group: str) -> dict[str, Any]:
        self._must_exist("group", group)
        return {"GroupConfiguration": {"Configuration": [{"Type": "AWS::EC2::CapacityReservationPool"}]}}

    def dry_run(self, client: Any, **launch: Any) -> None:
        """Check a launch against EC2's API model; capacity and quotas of EC2 are not emulated."""
        model: OperationModel = client._client.meta.service_model.operation_model("RunInstances")
        report = ParamValidator().validate(launch, model.input_shape)
        if report.has_errors():
            raise BadRequestError("run_instances", report.generate_report())

    def volume(self, volume_id: str) -> dict[str, Any]:
        self._must_exist("volume", volume_id)
        zone = self._context.zones.get(volume_id, self._world.zone)
        return {"VolumeId": volume_id, "State": "available", "Size": 100, "AvailabilityZone": zone}

    def snapshot(self, snapshot_id: str) -> dict[str, Any]:
        self._must_exist("snapshot", snapshot_id)
        return {"SnapshotId": snapshot_id, "State": "completed", "VolumeSize": 30}

    def launch_template(self, launch_template_id: str, version: str) -> dict[str, Any]:
        """Return the overrides of a launch template: none, because its content is unknown."""
        self._must_exist("launch template", launch_template_id)
        return {}

    def secret_value(self, secret_arn: str) -> dict[str, str]:
        self._must_exist("secret", secret_arn, "ResourceNotFoundExceptionSecrets")
        return {"SecretString": base64.b64encode(bytes(128)).decode()}

    def hosted_zone(self, hosted_zone_id: str) -> dict[str, Any]:
        self._must_exist("hosted zone", hosted_zone_id)
        zone = {"Name": "fleet.internal.", "Config": {"PrivateZone": True}}
        return {"HostedZone": zone, "VPCs": [{"VPCId": self._world.vpc_id}]}

    def file_caches(self, file_cache_ids: list[str]) -> list[FsxStorageInfo]:
        for cache_id in file_cache_ids:
            self._must_exist("file cache", cache_id)
        facts = {"FileCacheType": "LUSTRE", "VpcId": self._world.vpc_id, "LustreConfiguration": {"MountName": "mount"}}
        interface = self._world.caches_interface
        return [
            FsxStorageInfo(facts | {"FileCacheId": one, "NetworkInterfaceIds": [interface]}) for one in file_cache_ids
        ]

    def fsx_volumes(self, volume_ids: list[str]) -> list[dict[str, Any]]:
        for volume_id in volume_ids:
            self._must_exist("volume", volume_id)
        kinds = {
            str(settings.get("VolumeId")): kind
            for storage, kind in (("FsxOpenZfs", "OPENZFS"), ("FsxOntap", "ONTAP"))
            for settings in named.shared_storage(self._configuration, storage)
        }
        return [
            {
                "VolumeId": volume_id,
                "FileSystemId": volumes_file_system(volume_id),
                "VolumeType": kinds.get(volume_id, "OPENZFS"),
                "OpenZFSConfiguration": {"VolumePath": "/fsx"},
                "OntapConfiguration": {"JunctionPath": "/vol", "StorageVirtualMachineId": "svm-00000000000000001"},
            }
            for volume_id in volume_ids
        ]
