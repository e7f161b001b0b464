"""Changed scripts and configuration of nodes, which nodes get them when, and notes of upgrades."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from llm_fleet.catalog.data_file import load
from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.plan.fleet_sections import Section
from llm_fleet.cli.plan.node_configuration import NodeConfiguration, node_configurations
from llm_fleet.cli.plan.stack_templates import DeployedStacks, StackTemplate
from llm_fleet.cli.plan.template_changes import template_changes, upgrade_notes
from llm_fleet.cli.plan.whole_plan import difference_section
from llm_fleet.cli.screen import Screen
from tools.synth_environment import ROOT

WIDE = Screen(width=None, color=False, live=False)
_SOURCE = {"Fn::GetAtt": ["Own", "SourceS3Uri"]}


def stack(**resources: Mapping[str, Any]) -> StackTemplate:
    return StackTemplate(name="s", region="us-west-2", resources=resources, paths={})


def resource(resource_type: str, **properties: Any) -> dict[str, Any]:
    return {"Type": resource_type, "Properties": properties}


def bundle(text: str, *, content: str = "1") -> dict[str, Any]:
    manifest = {"Fn::Join": ["", [text, {"Fn::GetAtt": ["Files", "DNSName"]}, '"}]}']]}
    return resource("Custom::LlmFleetBundle", Manifest=manifest, ContentHash=content)


def nodes(uid: int = 2001, *, scripts: str = "a", content: str = "1", others: str = "", version: str = "1.0.0") -> Any:
    users = f'[{{"name": "ada", "uid": {uid}}}{others}]'
    head = f'{{"content_hash": "{content}", "scripts_sha256": "{scripts}", "package_version": "{version}", '
    return bundle(f'{head}"users": {users}, "mounts": [{{"dns_name": "', content=content)


def difference(old: StackTemplate, new: StackTemplate) -> Section:
    deployed = DeployedStacks(AwsClients(region="us-west-2"), [])
    deployed.found["s"] = old
    return difference_section([new], deployed)


def configurations(old: StackTemplate, new: StackTemplate) -> list[NodeConfiguration]:
    return list(node_configurations({"s": old}, [new], template_changes(old, new)))


def test_a_changed_configuration_of_nodes_names_its_parts_and_a_changed_uid():
    bob = ', {"name": "bob", "uid": 2009}'
    section = difference(stack(Own=nodes(2001)), stack(Own=nodes(2002, scripts="b", content="2", others=bob)))
    text = section.text(WIDE)
    assert (
        "s: the configuration of nodes changes (users, scripts)\n"
        "  new nodes: get it when they start\n"
        "  running nodes: get it when they are replaced\n"
    ) in text
    assert "s: the uid of ada changes from 2001 to 2002: do not change a uid: existing files belong to 2001" in text
    assert "Set `uid: 2001` again" in text
    (found,) = section.data["node_configurations"]
    assert (found["stack"], found["where"], found["parts"]) == ("s", "Own", ("scripts", "users"))
    assert found["changed_uids"] == ({"name": "ada", "before": 2001, "after": 2002},)
    text = difference(stack(Own=nodes(2001)), stack(Own=nodes(2001, content="2", others=bob))).text(WIDE)
    assert "changes (users)\n" in text
    assert "the uid of" not in text, "only a user is added"


def test_an_unreadable_or_unchanged_configuration_of_nodes_has_no_parts():
    assert "s: the configuration of nodes changes\n" in difference(stack(Own=bundle("{")), stack(Own=nodes())).text(
        WIDE
    )
    assert "the configuration of nodes" not in difference(stack(Own=nodes()), stack(Own=nodes())).text(WIDE)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        (
            {"version": "1.1.0", "scripts": "b"},
            "only the version of llm-fleet changes, from 1.0.0 to 1.1.0: the settings of nodes are the same, and their "
            "scripts change",
        ),
        (
            {"version": "1.1.0"},
            "only the version of llm-fleet changes, from 1.0.0 to 1.1.0: the settings of nodes are the same, and their "
            "scripts are the same: running nodes need no update",
        ),
        ({"scripts": "b"}, "the scripts of nodes change; their settings and the version of llm-fleet are the same"),
        (
            {"version": "1.1.0", "scripts": "b", "uid": 2002},
            "the configuration of nodes changes (users, scripts), and the version of llm-fleet, from 1.0.0 to 1.1.0",
        ),
    ],
)
def test_a_change_of_the_version_alone_is_distinguished_from_one_of_settings(changed: dict[str, Any], what: str):
    (found,) = configurations(stack(Own=nodes()), stack(Own=nodes(content="2", **changed)))
    assert found.what == what
    assert found.versions == (("1.0.0", "1.1.0") if "version" in changed else None)


def hyperpod(own: dict[str, Any], *, hook: str = "OnInitComplete", **more: Any) -> StackTemplate:
    script = {"SourceS3Uri": _SOURCE, hook: "on_it.sh"}
    counts = {"controller": 1, "workers": 4, "empty": 0}
    groups = [
        {"InstanceGroupName": name, "InstanceCount": count, "LifeCycleConfig": script} for name, count in counts.items()
    ]
    foreign = {"InstanceGroupName": "foreign", "InstanceCount": 1, "LifeCycleConfig": {"SourceS3Uri": "s3://own"}}
    cluster = resource("AWS::SageMaker::Cluster", ClusterName="train", InstanceGroups=[*groups, foreign], **more)
    return stack(Own=own, C=cluster)


@pytest.mark.parametrize("hook", ["OnInitComplete", "OnCreate"])
def test_running_nodes_of_hyperpod_keep_their_scripts_and_the_plan_has_the_commands(hook: str):
    old, new = hyperpod(nodes(), hook=hook), hyperpod(nodes(version="1.1.0", scripts="b", content="2"), hook=hook)
    lines = difference(old, new).text(WIDE).splitlines()
    at = next(index for index, line in enumerate(lines) if "only the version" in line)
    assert lines[at + 1 : at + 8] == [
        "  running nodes of controller, workers: keep the scripts and settings that they started with, also after a "
        "reboot; their jobs continue",
        "  nodes that are added or replaced: start with the new scripts and settings "
        "[assumption: hyperpod-new-nodes-use-new-scripts]",
        "  to run the new scripts on running nodes without ending jobs, print their location, and run them as root on "
        "each node:",
        "    aws sagemaker describe-cluster --region us-west-2 --cluster-name train --output text --query "
        "'InstanceGroups[].[InstanceGroupName,LifeCycleConfig.SourceS3Uri]'",
        "    rm -rf /opt/llm-fleet/new && aws s3 cp --recursive --only-show-errors LOCATION /opt/llm-fleet/new && "
        "bash /opt/llm-fleet/new/on_it.sh",
        "  or install the nodes again, which ends their jobs and deletes their disks (`llm-fleet upgrade` shows the "
        "details first):",
        "    aws sagemaker update-cluster-software --region us-west-2 --cluster-name train",
    ]


def test_equal_scripts_and_settings_need_no_command():
    (found,) = configurations(hyperpod(nodes()), hyperpod(nodes(version="1.1.0", content="2")))
    assert found.nodes[0].startswith("running nodes of controller, workers: keep")
    assert found.commands == ()


def test_a_replaced_cluster_has_no_running_nodes_with_old_scripts():
    new = hyperpod(nodes(scripts="b", content="2"), VpcConfig={"Subnets": ["b"]})
    (found,) = configurations(hyperpod(nodes(), VpcConfig={"Subnets": ["a"]}), new)
    assert found.nodes == ("all nodes: start with the new scripts and settings; no running node keeps the old ones",)
    assert found.commands == ()


@pytest.mark.parametrize(
    ("strategy", "compute"),
    [
        ("DRAIN", "finish their jobs with the old scripts, and are then replaced by nodes with the new ones"),
        ("TERMINATE", "are terminated during the deployment, with their jobs, and replaced"),
        (None, "must be stopped before the deployment, which ends their jobs: ParallelCluster rejects the update"),
    ],
)
def test_a_parallelcluster_updates_its_nodes_during_the_deployment(strategy: str | None, compute: str):
    settings = {"QueueUpdateStrategy": strategy} if strategy else {}
    head = {"CustomActions": {"OnNodeUpdated": {"Script": _SOURCE}}}
    configuration = {"HeadNode": head, "Scheduling": {"SlurmSettings": settings}}
    cluster = resource("Custom::PclusterCluster", ClusterConfiguration=configuration)
    (found,) = configurations(stack(Own=nodes(), C=cluster), stack(Own=nodes(scripts="b", content="2"), C=cluster))
    assert found.nodes[0].startswith("head node and login nodes: run the new scripts during the deployment")
    assert found.nodes[1].startswith(f"running compute nodes: {compute}")
    assert found.commands == ()


def test_hosts_of_a_service_are_replaced_by_its_update_policy():
    def service(script: str) -> StackTemplate:
        group = resource("AWS::AutoScaling::AutoScalingGroup", LaunchTemplate={"LaunchTemplateId": {"Ref": "T"}})
        group["UpdatePolicy"] = {"AutoScalingRollingUpdate": {"MaxBatchSize": 2}}
        return stack(T=resource("AWS::EC2::LaunchTemplate", LaunchTemplateData={"UserData": script}), G=group)

    (found,) = configurations(service("a"), service("b"))
    assert (found.where, found.what) == ("G", "the scripts or settings of hosts change")
    assert found.nodes[0].startswith("hosts: are replaced 2 at a time during the deployment; a host is terminated")


@pytest.mark.parametrize(
    ("golden", "old", "what", "nodes"),
    [
        (
            "hyperpod-trn1/launch-post-ml-cluster",
            ('package_version\\": \\"', 'package_version\\": \\"0.'),
            "only the version of llm-fleet changes, from 0.",
            "running nodes of controller-group, worker-group: keep",
        ),
        (
            "parallelcluster-trn1/trainium-trn1",
            ('package_version\\": \\"', 'package_version\\": \\"0.'),
            "only the version of llm-fleet changes, from 0.",
            "head node and login nodes: run the new scripts",
        ),
        (
            "inference-inf2/inference-chat",
            ("set -euo pipefail", "set -eu"),
            "the scripts or settings of hosts change",
            "hosts: are replaced 1 at a time",
        ),
    ],
)
def test_templates_of_examples(golden: str, old: tuple[str, str], what: str, nodes: str):
    text = (ROOT / "tests" / "stacks" / "golden" / f"{golden}.json").read_text(encoding="utf-8")
    assert old[0] in text
    before, after = (stack(**json.loads(one)["Resources"]) for one in (text.replace(*old), text))
    (found,) = configurations(before, after)
    assert found.what.startswith(what)
    assert found.nodes[0].startswith(nodes)


def test_a_release_that_replaces_or_removes_a_resource_has_a_note():
    kind = "AWS::FSx::FileSystem"
    old = resource(kind, LustreConfiguration={"CopyTagsToBackups": True})
    section = difference(stack(F=old), stack(F=resource(kind, LustreConfiguration={})))
    note = "A file system that is already deployed with `CopyTagsToBackups` keeps it, and its data, with"
    assert f"F: changed by this version of llm-fleet: {note} `copy_tags: true`." in section.text(WIDE)
    assert [one["where"] for one in section.data["upgrade_notes"]] == ["F"]
    (removed,) = upgrade_notes(
        template_changes(stack(ServiceFrontRedirect2E50E4A6=resource("AWS::ElasticLoadBalancingV2::Listener")), stack())
    )
    assert removed[1].startswith("For a front with a certificate that is deployed already, delete its listener")


def test_other_changes_have_no_note():
    kind, listener = "AWS::FSx::FileSystem", resource("AWS::ElasticLoadBalancingV2::Listener")
    old = stack(F=resource(kind, SubnetIds=["a"]), ServiceFrontHttp2E50E4A6=listener)
    new = stack(F=resource(kind, SubnetIds=["b"]), ServiceFrontRedirect2E50E4A6=listener)
    assert list(upgrade_notes(template_changes(old, new))) == []


def test_notes_are_sentences_of_the_changelog():
    changelog = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    for one in load("upgrade_notes")["notes"]:
        assert one["note"] in changelog
