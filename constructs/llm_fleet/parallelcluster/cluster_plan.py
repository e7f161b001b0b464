"""A cluster checked and with every default filled in, before any resource of it exists."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.catalog.slurm import slurm_limit_facts
from llm_fleet.lifecycle.node_setup import (
    NodeSetup,
    check_downloads,
    check_node_metrics,
    check_own_step_files,
    check_people_of,
    given_for_nodes,
)
from llm_fleet.lifecycle.people import counted_resources, sssd_options
from llm_fleet.lifecycle.training_runtime import files_of
from llm_fleet.network.network import Network
from llm_fleet.parallelcluster.cluster_storage import (
    FleetMounts,
    by_parameter,
    resolve_head_node,
    resolve_pool,
    resolve_queues,
)
from llm_fleet.parallelcluster.node_scripts import NodeScripts, node_groups
from llm_fleet.parallelcluster.render_configuration import render_configuration
from llm_fleet.rules.node_setup import NodeSettings, check_node_settings, check_nodes_told
from llm_fleet.rules.parallelcluster.cluster_names import check_prefix_path
from llm_fleet.rules.parallelcluster.configuration import check_configuration, check_plain_values
from llm_fleet.rules.parallelcluster.node_network import address_claims, check_place
from llm_fleet.rules.parallelcluster.parallelcluster import check_parallelcluster
from llm_fleet.rules.people import check_are_accounts, check_parallelcluster_enforces, directory_twice
from llm_fleet.rules.problem import FleetError, Problem, raise_problems
from llm_fleet.rules.slurm_database import keeps_records
from llm_fleet.rules.terms import StorageKind
from llm_fleet.rules.training.environment import check_training
from llm_fleet.rules.training.environment_place import SharedFolder, TrainingGroup, TrainingPlace
from llm_fleet.spec.parallelcluster import ParallelClusterSpec, PlacedParallelCluster, SlurmSettings
from llm_fleet.spec.parallelcluster_storage import SharedStorage
from llm_fleet.spec.people import Directory, SlurmAccount
from llm_fleet.spec.references import POLICY
from llm_fleet.spec.slurm_database import Accounting
from llm_fleet.storage.file_systems import MountableLustre

_SECTION = "DirectoryService"
_ENFORCE, _COUNTED = "AccountingStorageEnforce", "AccountingStorageTRES"


def directory_overrides(overrides: Mapping[str, Any], directory: Directory | None) -> dict[str, Any]:
    """Return `overrides` with the section `DirectoryService` of `directory`; one of the user's own stays."""
    if directory is None or _SECTION in overrides:
        return dict(overrides)
    return {**overrides, _SECTION: directory_section(directory)}


def iam_overrides(spec: ParallelClusterSpec) -> dict[str, Any]:
    """Return the overrides of `spec` with the section `Iam` for its roles; what the user has there stays."""
    section: dict[str, Any] = {}
    if spec.permissions_boundary is not None:
        section["PermissionsBoundary"] = POLICY.name_of(spec.permissions_boundary)
    if spec.iam_resource_prefix is not None:
        section["ResourcePrefix"] = spec.iam_resource_prefix
    if not section:
        return dict(spec.overrides)
    return {**spec.overrides, "Iam": {**spec.overrides.get("Iam", {}), **section}}


def tells_directory_twice(overrides: Mapping[str, Any], directory: Directory | None) -> bool:
    """Return whether `overrides` have a section of the user's own beside `directory`."""
    return directory is not None and overrides.get(_SECTION) != directory_section(directory)


def directory_section(directory: Directory) -> dict[str, Any]:
    """Return ParallelCluster's section for `directory`."""
    section: dict[str, Any] = {
        "DomainName": directory.domain,
        "DomainAddr": ",".join(directory.uris),
        "PasswordSecretArn": directory.bind_secret_arn,
        "DomainReadOnlyUser": directory.bind_dn,
        "LdapTlsReqCert": "hard",
        "AdditionalSssdConfigs": sssd_options(directory),
    }
    if directory.certificate_on_nodes is not None:
        section["LdapTlsCaCert"] = directory.certificate_on_nodes
    if directory.user_filter is not None:
        section["LdapAccessFilter"] = directory.user_filter
    return section


def with_limits(slurm: SlurmSettings, accounts: Sequence[SlurmAccount]) -> SlurmSettings:
    """Return `slurm` with the lines of slurm.conf that make the limits of `accounts` hold; the user's own stay.

    What is no account is left for the cluster's own checks.
    """
    if check_are_accounts(accounts) or not accounts or slurm.custom_settings_file is not None:
        return slurm
    own = {key.lower() for line in slurm.custom_settings for key in line}
    wanted = {_ENFORCE: ",".join(slurm_limit_facts().enforce), _COUNTED: ",".join(counted_resources(accounts))}
    lines = [{key: value} for key, value in wanted.items() if value and key.lower() not in own]
    return slurm.model_copy(update={"custom_settings": (*slurm.custom_settings, *lines)})


def check_training_of(shape: PlacedParallelCluster, setup: NodeSetup) -> list[Problem]:
    """Return what is wrong with the training runtime of `setup` in a cluster like `shape`, by its parameters."""
    if setup.training is None:
        return []
    place = TrainingPlace(
        groups=[
            TrainingGroup(name=group.name, role=group.role, instance_types=group.instance_types)
            for group in node_groups(shape)
        ],
        shared=[_shared(each) for each in shape.shared_storage],
        region=shape.region,
        neuron_release=setup.neuron.release if setup.neuron else None,
        os=shape.os,
        source=setup.downloads.source,
        files=files_of(setup.downloads.lock),
    )
    return [problem.under("training") for problem in check_training(setup.training, place)]


def further_shared_folders(shape: PlacedParallelCluster, mounts: FleetMounts) -> list[SharedFolder]:
    """Return the file systems of the cluster besides those of the fleet: ParallelCluster mounts each on every node."""
    of_fleet = {mount.mount_path for mount in mounts.node_mounts()}
    return [_shared(each) for each in shape.shared_storage if each.mount_dir not in of_fleet]


def _shared(storage: SharedStorage) -> SharedFolder:
    lustre = storage.kind is StorageKind.FSX_LUSTRE
    return SharedFolder(kind="lustre" if lustre else storage.kind.value, path=storage.mount_dir)


_OF_SCRIPTS = ("skip_steps", "own_steps")


def cluster_problems(shape: PlacedParallelCluster, scripts: NodeScripts | None, setup: NodeSetup) -> list[Problem]:
    """Return everything that is wrong with `shape` and with what its nodes are told."""
    return [*check_parallelcluster(shape), *_node_problems(shape, scripts, setup)]


def _node_problems(shape: PlacedParallelCluster, given: NodeScripts | None, setup: NodeSetup) -> list[Problem]:
    scripts = given or NodeScripts()
    groups = node_groups(shape)
    settings = NodeSettings(
        users=setup.users,
        s3_mounts=setup.s3_mounts,
        neuron_release=setup.neuron.release if setup.neuron else None,
        skip_steps=scripts.skip_steps,
        own_steps=scripts.own_steps,
        group_names=[group.name for group in groups],
        instance_types=[name for group in groups for name in group.instance_types],
        mount_paths=[storage.mount_dir for storage in shape.shared_storage],
        nodes=[(group.name, group.role, group.hook.value) for group in groups if group.hook],
    )
    found = [
        *check_node_settings(settings),
        *(problem.under("own_steps") for problem in check_own_step_files(scripts.own_steps, scripts.own_scripts)),
        *check_downloads(setup),
        *check_node_metrics(setup, shape.region),
        *_people(shape, setup),
        *check_people_of(setup, has_accounting=keeps_records(shape.accounting), on_parallelcluster=True),
        *check_training_of(shape, setup),
        *_untold(given, setup),
    ]
    return [problem.under("scripts") if problem.path[0] in _OF_SCRIPTS else problem for problem in found]


def _people(shape: PlacedParallelCluster, setup: NodeSetup) -> Iterator[Problem]:
    if setup.slurm_accounts:
        yield from check_parallelcluster_enforces(shape.slurm.custom_settings, shape.slurm.custom_settings_file)
    if tells_directory_twice(shape.overrides, setup.directory):
        yield directory_twice("directory")


def _untold(given: NodeScripts | None, setup: NodeSetup) -> list[Problem]:
    scripts = given or NodeScripts()
    return check_nodes_told(
        given_for_nodes(setup, skip_steps=scripts.skip_steps, own_steps=scripts.own_steps),
        any_script=given is not None,
        scripts_lie_in_s3=False,
        own_folder=scripts.scripts is not None,
        steps=[(name,) for name in _OF_SCRIPTS],
    )


_NAME_LENGTH = 20
"""Of the name that we make up. It is part of every host name, and must not change when a queue is added: with the hash
it leaves 24 characters to the names of queue, compute resource and node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """A checked cluster, and the neighbours that it will be tied to."""

    shape: PlacedParallelCluster
    accounting: Accounting | None
    fleet_name: str
    network: Network
    mounts: FleetMounts
    scripts: NodeScripts | None
    setup: NodeSetup

    @classmethod
    def make(
        cls,
        scope: Construct,
        *,
        spec: ParallelClusterSpec,
        network: Network,
        mounts: FleetMounts,
        fleet_name: str | None,
        accounting: Accounting | None,
        scripts: NodeScripts | None,
        setup: NodeSetup,
    ) -> "ClusterPlan":
        """Return the plan of the cluster at `scope`; raise `FleetError` with all that is wrong with it."""
        name = spec.cluster_name or cdk.Names.unique_resource_name(scope, max_length=_NAME_LENGTH, separator="-")
        zone = spec.availability_zone_id or _zone(network, mounts.lustre)
        subnet, problems = _subnet(network, zone)
        queues, found = resolve_queues(spec.queues, network, zone=zone)
        problems += found
        of_fleet, found = mounts.shared_storage()
        problems += found
        shape = spec.narrowed(
            PlacedParallelCluster,
            cluster_name=name,
            region=cdk.Stack.of(scope).region,
            head_node=resolve_head_node(spec.head_node, network, subnet),
            queues=queues,
            login_pools=tuple(
                resolve_pool(pool, network, spec.head_node.subnet or subnet) for pool in spec.login_pools
            ),
            shared_storage=(*of_fleet, *spec.shared_storage),
            slurm=with_limits(spec.slurm, setup.slurm_accounts),
            accounting=accounting,
            overrides=directory_overrides(iam_overrides(spec), setup.directory),
        )
        problems += check_prefix_path(spec.iam_resource_prefix, "iam_resource_prefix")
        problems += check_place(has_network=True, internet=network.internet)
        problems += cluster_problems(shape, scripts, setup)
        # The schema has its say only on what the rules take: both would tell most mistakes.
        problems = problems or _rendered_problems(shape)
        if not problems:
            # Only a cluster that can exist takes addresses: a second try must not find those of the first.
            problems += network.reserve_addresses(
                address_claims(
                    head_node=spec.head_node,
                    queues=queues,
                    login_pools=spec.login_pools,
                    owner=scope.node.id,
                    zone=zone,
                    efa_with_address=shape.efa_with_address,
                )
            )
        raise_problems(by_parameter(problems), subject=scope.node.path)
        return cls(
            shape=shape,
            accounting=accounting,
            fleet_name=fleet_name or name,
            network=network,
            mounts=mounts,
            scripts=scripts,
            setup=setup,
        )


def _rendered_problems(shape: PlacedParallelCluster) -> list[Problem]:
    configuration = render_configuration(shape)
    return [*check_plain_values(configuration), *check_configuration(configuration)]


def _zone(network: Network, lustre: MountableLustre | None) -> str:
    """Where the cluster stands unless told: beside its data, so that training does not read across AZs."""
    zone = lustre.availability_zone_id if lustre else None
    return zone if zone is not None and zone in network.availability_zone_ids else network.availability_zone_ids[0]


def _subnet(network: Network, zone: str) -> tuple[ec2.ISubnet | None, list[Problem]]:
    """Return the subnet of the cluster, or the network's word that it has none in that AZ."""
    try:
        return network.compute_subnet(zone), []
    except FleetError as error:
        return None, [replace(problem, path=("availability_zone_id",)) for problem in error.problems]
