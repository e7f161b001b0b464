"""Users of clusters in Python: the node manifest, permissions, and invalid values."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import jsii
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk.assertions import Template

from llm_fleet import (
    Accounting,
    ClusterUser,
    Directory,
    FleetError,
    FleetNetwork,
    HyperPodCluster,
    InstanceGroup,
    LustreFileSystem,
    LustreSpec,
    NetworkSpec,
    NodeManifest,
    ParallelCluster,
    ParallelClusterSpec,
    SessionDocument,
    SlurmAccount,
)
from llm_fleet.lifecycle.node_manifest import render
from llm_fleet.lifecycle.people import render_people
from llm_fleet.rules.people import check_slurm_accounts
from llm_fleet.rules.terms import NodeType
from llm_fleet.spec.cluster import ClusterSpec, NodeGroup
from llm_fleet.spec.parallelcluster_nodes import HeadNode
from llm_fleet.spec.parallelcluster_queue import Queue
from llm_fleet_node import manifest as node_side
from tests.made_clusters import hyperpod_cluster

ZONE = "usw2-az4"
PRINCIPAL: Any = iam.AccountPrincipal("111122223333")
ADA = ClusterUser(name="ada", uid=2001, slurm_account="research")
ACCOUNTS = [
    SlurmAccount(
        name="research", parent="lab", max_jobs=8, max_wall_minutes=2880, grp_tres={"gres/gpu": 64, "node": 8}
    ),
    SlurmAccount(name="lab", fairshare=10),
]
KEY = "arn:aws:kms:us-west-2:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:reader-AbCdEf"


@dataclass
class Made:
    """One app with a cluster of each kind."""

    stack: cdk.Stack
    hyperpod: HyperPodCluster
    parallelcluster: ParallelCluster
    lustre: LustreFileSystem
    network: FleetNetwork
    ada: iam.Role
    document: SessionDocument
    template: Mapping[str, Any]


@jsii.implements(cdk.IAnyProducer)
class _Later:
    def produce(self) -> Any:
        return {"node": 16}


PRODUCER = _Later()


def directory(scope: cdk.Stack, **changed: Any) -> Directory:
    key = kms.Key.from_key_arn(scope, "ReaderKey", KEY)
    secret = secretsmanager.Secret.from_secret_attributes(
        scope, "Reader", secret_complete_arn=SECRET, encryption_key=key
    )
    facts: dict[str, Any] = {
        "domain": "corp.example.com",
        "uris": ["ldaps://one.corp.example.com", "ldaps://two.corp.example.com"],
        "base_dn": "dc=corp,dc=example,dc=com",
        "bind_dn": "cn=reader,dc=corp,dc=example,dc=com",
        "bind_secret": secret,
        "certificate": "/etc/ssl/certs/corp.pem",
        "kind": "active_directory",
        "user_filter": "(memberOf=cn=fleet,dc=corp,dc=example,dc=com)",
        "sssd_on_image": True,
    }
    return Directory(**{**facts, **changed})


def hyperpod(scope: cdk.Stack, id: str, network: FleetNetwork, **more: Any) -> HyperPodCluster:
    groups = [InstanceGroup.controller("ml.m5.xlarge", name="controller")]
    return hyperpod_cluster(scope, id, groups=groups, network=network, **more)


@pytest.fixture(scope="module")
def made() -> Made:
    app = cdk.App()
    stack = cdk.Stack(app, "People", env=cdk.Environment(account="111122223333", region="us-west-2"))
    network = FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=[ZONE]))
    lustre = LustreFileSystem(stack, "Fsx", LustreSpec(storage_capacity_gib=4800), network=network)
    ldap = directory(stack)
    munge: Any = secretsmanager.Secret.from_secret_complete_arn(stack, "Munge", SECRET.replace("reader", "munge"))
    train = hyperpod(stack, "Train", network, lustre=lustre, users=[ADA], slurm_accounts=ACCOUNTS, directory=ldap)
    batch = ParallelCluster(
        stack,
        "Batch",
        ParallelClusterSpec(
            head_node=HeadNode(instance_type="m5.xlarge"),
            queues=[Queue.cpu("cpu", instance_type="c6i.8xlarge", max_count=2)],
            users=[ADA],
            slurm_accounts=ACCOUNTS,
            directory=ldap,
            accounting=Accounting(slurmdbd_host="db.example", munge_key_secret=munge),
        ),
        network=network,
        lustre=lustre,
    )
    key = kms.Key.from_key_arn(stack, "SessionKey", KEY)
    log_group = logs.LogGroup.from_log_group_name(stack, "Log", "/sessions")
    document = SessionDocument(stack, "Sessions", log_group=log_group, key=key)
    ada = iam.Role(stack, "Ada", assumed_by=PRINCIPAL)
    batch.grants.session_as(ada, "ada", document=document)
    document.grant_nodes(train)
    return Made(stack, train, batch, lustre, network, ada, document, Template.from_stack(stack).to_json())


def statements(made: Made, part: str) -> list[dict[str, Any]]:
    """The statements of all policies that have `part` in their id."""
    policies = {
        id: body["Properties"]["PolicyDocument"]["Statement"]
        for id, body in made.template["Resources"].items()
        if body["Type"] in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy") and part in id
    }
    return [statement for listed in policies.values() for statement in listed]


def test_nodes_of_hyperpod_can_only_read_the_password_of_the_directory_and_use_its_key(made: Made) -> None:
    found = {one["Sid"]: one for one in statements(made, "TrainNodeRole") if one.get("Sid", "").startswith("Directory")}
    assert found["DirectorySecret"]["Action"] == "secretsmanager:GetSecretValue"
    assert found["DirectorySecret"]["Resource"] == SECRET
    assert found["DirectorySecretKey"]["Action"] == "kms:Decrypt"
    assert found["DirectorySecretKey"]["Resource"] == KEY


def test_parallelcluster_has_its_own_section_for_the_directory(made: Made) -> None:
    assert made.parallelcluster.configuration["DirectoryService"] == {
        "DomainName": "corp.example.com",
        "DomainAddr": "ldaps://one.corp.example.com,ldaps://two.corp.example.com",
        "PasswordSecretArn": SECRET,
        "DomainReadOnlyUser": "cn=reader,dc=corp,dc=example,dc=com",
        "LdapTlsReqCert": "hard",
        "LdapTlsCaCert": "/etc/ssl/certs/corp.pem",
        "LdapAccessFilter": "(memberOf=cn=fleet,dc=corp,dc=example,dc=com)",
        "AdditionalSssdConfigs": {
            "ldap_search_base": "dc=corp,dc=example,dc=com",
            "ldap_schema": "AD",
            "ldap_id_mapping": "True",
            "min_id": "200000",
            "max_id": "2000200000",
            "ldap_id_use_start_tls": "False",
            "ldap_idmap_range_min": "200000",
            "ldap_idmap_range_max": "2000200000",
        },
    }


def test_parallelcluster_enforces_limits_and_tracks_their_resources(made: Made) -> None:
    settings = made.parallelcluster.configuration["Scheduling"]["SlurmSettings"]["CustomSlurmSettings"]
    assert {"AccountingStorageEnforce": "associations,limits"} in settings
    assert {"AccountingStorageTRES": "gres/gpu"} in settings


def test_a_session_runs_as_the_user_in_the_tag_of_the_role_and_only_with_this_document(made: Made) -> None:
    (document,) = [body for body in made.template["Resources"].values() if body["Type"] == "AWS::SSM::Document"]
    content = document["Properties"]["Content"]
    assert (document["Properties"]["DocumentType"], content["sessionType"]) == ("Session", "Standard_Stream")
    inputs = content["inputs"]
    assert (inputs["runAsEnabled"], inputs["runAsDefaultUser"], inputs["idleSessionTimeout"]) == (True, "", "20")
    assert (inputs["cloudWatchLogGroupName"], inputs["kmsKeyId"]) == ("/sessions", KEY)
    roles = {id: body for id, body in made.template["Resources"].items() if body["Type"] == "AWS::IAM::Role"}
    (ada,) = [body for id, body in roles.items() if id.startswith("Ada")]
    assert ada["Properties"]["Tags"] == [{"Key": "SSMSessionRunAs", "Value": "ada"}]
    used = [str(one["Resource"]) for one in statements(made, "AdaDefaultPolicy") if one["Action"] == "ssm:StartSession"]
    assert any("Sessions" in resource for resource in used)
    assert not any("SSM-SessionManagerRunShell" in resource for resource in used)
    assert [
        one["Resource"] for one in statements(made, "AdaDefaultPolicy") if one["Action"] == "kms:GenerateDataKey"
    ] == [KEY]
    actions = [one["Action"] for one in statements(made, "TrainNodeRoleDefaultPolicy")]
    assert ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"] in actions
    assert "kms:Decrypt" in actions


@pytest.mark.parametrize(
    ("user", "remedy"),
    [("adda", "write `ada`"), ("root", "who can become root"), ("Ada", "a name of `users`")],
)
def test_a_session_as_an_unknown_user_is_rejected(made: Made, user: str, remedy: str) -> None:
    role = iam.Role(made.stack, f"As-{user}", assumed_by=PRINCIPAL)
    batch = ParallelCluster.from_cluster_name(made.stack, f"Old-{user}", "train-12345678")
    with pytest.raises(FleetError, match="LF1219") as error:
        _known(made, ("ada",)).session_as(role, user, document=made.document)
    assert remedy in str(error.value)
    if user == "adda":
        assert batch.grants.session_as(role, user, document=made.document).success  # no one knows its users


def _known(made: Made, users: tuple[str, ...]) -> Any:
    from llm_fleet.hyperpod.cluster import ClusterGrants

    return ClusterGrants(made.stack, made.hyperpod, users=users)


def test_a_role_has_one_user_and_an_imported_role_cannot_be_tagged(made: Made) -> None:
    with pytest.raises(FleetError, match="already run as ada"):
        made.hyperpod.grants.session_as(made.ada, "bob", document=made.document)
    elsewhere = iam.Role.from_role_arn(made.stack, "Elsewhere", "arn:aws:iam::111122223333:role/people")
    with pytest.raises(FleetError, match="aws iam tag-role"):
        made.hyperpod.grants.session_as(elsewhere, "ada", document=made.document)


@pytest.mark.parametrize("times", [{"idle_timeout_minutes": 0}, {"idle_timeout_minutes": 61}, {"max_minutes": 1441}])
def test_times_that_session_manager_rejects(made: Made, times: Any) -> None:
    with pytest.raises(FleetError, match="LF1220"):
        SessionDocument(made.stack, f"Doc{next(iter(times.values()))}", **times)


def test_clusters_on_one_file_system_cannot_contradict_each_other(made: Made) -> None:
    strangers = [ClusterUser(name="bob", uid=2001), ClusterUser(name="ada", uid=2007)]
    with pytest.raises(FleetError) as error:
        hyperpod(made.stack, "Other", made.network, lustre=made.lustre, users=strangers)
    assert [problem.code.value for problem in error.value.problems] == ["LF1200", "LF1201"]
    assert [problem.where for problem in error.value.problems] == ["users[1].uid", "users[0].uid"]
    # Without a file system between them, one id may be two people's.
    hyperpod(made.stack, "Apart", made.network, users=strangers)


def test_all_errors_are_reported_by_the_construct_too(made: Made) -> None:
    ldap = directory(cdk.Stack(), uris=["ldap://one.corp.example.com"], certificate=Path("missing.pem"), first_id=2000)
    with pytest.raises(FleetError) as error:
        hyperpod(
            made.stack,
            "Wrong",
            made.network,
            users=[ADA, ClusterUser(name="bob", uid=2002)],
            slurm_accounts=[SlurmAccount(name="research", parent="top", max_jobs=-1)],
            directory=ldap,
        )
    assert sorted((problem.where, problem.code.value) for problem in error.value.problems) == [
        ("directory.certificate", "LF1214"),
        ("directory.first_id", "LF1216"),
        ("directory.uris[0]", "LF1213"),
        ("slurm_accounts[0].max_jobs", "LF1207"),
        ("slurm_accounts[0].parent", "LF1206"),
        ("users[1].slurm_account", "LF1210"),
    ]


@pytest.mark.parametrize(
    "given", [5, "x", True, 1.5, b"x", object(), ("a",), {"a": "b"}, [1]], ids=lambda given: type(given).__name__
)
def test_sessions_reject_values_of_another_class(made: Made, given: Any) -> None:
    word = repr(given)
    for name in ("log_group", "log_bucket", "log_prefix", "key", "max_minutes"):
        if (name, word) not in (("log_prefix", "'x'"), ("max_minutes", "5")):
            with pytest.raises(FleetError, match="LF1220"):
                SessionDocument(made.stack, f"Doc-{name}-{type(given).__name__}", **{name: given})
    grants, role = made.hyperpod.grants, iam.Role(made.stack, f"Of-{type(given).__name__}", assumed_by=PRINCIPAL)
    unknown: Any = "root" if word == "'x'" else given  # x can be a user of the directory
    called: list[tuple[Any, Any, Any]] = [
        (given, "ada", made.document),
        (role, unknown, made.document),
        (role, "ada", given),
    ]
    for arguments in called:
        with pytest.raises(FleetError, match="LF12"):
            grants.session_as(arguments[0], arguments[1], document=arguments[2])


def test_a_password_in_place_of_its_directory_is_not_repeated() -> None:
    password: Any = "hunter2"
    with pytest.raises(FleetError, match="LF113") as error:
        ClusterSpec(directory=password)
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(("attribute", "most"), [("max_jobs", 2147483647), ("fairshare", 2147483646)])
def test_numbers_above_the_maximum_of_slurmdbd_are_rejected(attribute: str, most: int) -> None:
    def found(number: int) -> list[str]:
        arguments: dict[str, Any] = {"name": "research", attribute: number}
        account = SlurmAccount(**arguments)
        return [problem.code.value for problem in check_slurm_accounts([account], [], has_accounting=True)]

    assert (found(most), found(most + 1)) == ([], ["LF1207"])


def test_resources_that_are_tokens_are_rejected() -> None:
    later: Any = cdk.Lazy.any(PRODUCER)
    (problem,) = check_slurm_accounts([SlurmAccount(name="research", grp_tres=later)], [], has_accounting=True)
    assert (problem.code.value, problem.path) == ("LF1208", ("slurm_accounts", 0, "grp_tres"))


def test_an_account_can_have_a_token_as_its_parent() -> None:
    above = cdk.Fn.import_value("account")
    rendered = render_people([SlurmAccount(name="research", parent=above)], None)
    assert rendered["slurm_accounts"]["tree"][0]["parent"] == above


def test_nodes_read_the_rendered_manifest(tmp_path: Path) -> None:
    group = NodeGroup(name="head", role=NodeType.CONTROLLER, instance_types=["ml.m5.xlarge"])
    written = NodeManifest(
        fleet_name="people",
        region="us-west-2",
        groups=[group],
        spec=ClusterSpec(
            users=[ClusterUser(name="ada", uid=2001, home="/fsx/people/ada")],
            slurm_accounts=ACCOUNTS,
            directory=directory(cdk.Stack()),
        ),
    )
    document = json.loads(json.dumps(render(written, content_hash="0" * 64, scripts_sha256="0" * 64)))
    (tmp_path / "fleet.json").write_text(json.dumps(document))
    scripts = Path(node_side.__file__).parents[1]
    (tmp_path / "fleet.schema.json").write_text((scripts / "fleet.schema.json").read_text())
    manifest = node_side.read(tmp_path)
    assert manifest.users[0].home == "/fsx/people/ada"
    assert manifest.slurm_accounts is not None
    # The parent comes first: sacctmgr rejects an account with a missing parent.
    assert [(account.name, account.parent) for account in manifest.slurm_accounts.tree] == [
        ("lab", "root"),
        ("research", "lab"),
    ]
    assert dict(manifest.slurm_accounts.tree[1].counts)["MaxWall"] == 2880
    assert dict(manifest.slurm_accounts.tree[1].resources)["GrpTRES"] == (("gres/gpu", 64), ("node", 8))
    assert manifest.slurm_accounts.counted == ("gres/gpu",)
    assert manifest.directory is not None
    assert manifest.directory.option("max_id") == "2000200000"
    assert manifest.directory.bind_secret_arn == SECRET
    bare = render(
        NodeManifest(fleet_name="p", region="us-west-2", groups=[group]), content_hash="0", scripts_sha256="0"
    )
    assert not {"slurm_accounts", "directory"} & set(bare)
