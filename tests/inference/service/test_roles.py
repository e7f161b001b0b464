"""What hosts, tasks and ECS may do for a service: the model, the log, the image and the secrets, and nothing else."""

import json
from typing import Any

import pytest

from tests.inference.service.conftest import TOKEN_SECRET, Served

DLC = "repository/huggingface-pytorch-tgi-inference"


def text(value: Any) -> str:
    return json.dumps(value)


def test_only_hosts_and_the_check_before_them_read_the_model_and_nothing_else_of_its_bucket(talk: Served):
    on_s3 = {
        name: [
            each for each in body["Properties"]["PolicyDocument"]["Statement"] if "my-models" in text(each["Resource"])
        ]
        for name, body in talk.of_type("AWS::IAM::ManagedPolicy").items()
    }
    readers = {name: statements for name, statements in on_s3.items() if statements}
    assert sorted(name.split("Policy")[0] for name in readers) == ["ChatCapacityRole", "LlmFleetModelChecker"]
    for statements in readers.values():
        (objects,) = [each for each in statements if "s3:GetObject" in text(each["Action"])]
        assert text(objects["Resource"]).endswith('arn:aws:s3:::my-models/tanuki-8b/*"')
        for each in statements:
            assert not any(word in text(each["Action"]) for word in ("Put", "Delete", "*"))


def test_a_task_may_write_its_metrics_and_nothing_else(talk: Served):
    (statement,) = talk.statements("TaskRole").values()
    assert statement["Action"] == ["logs:CreateLogStream", "logs:PutLogEvents"]
    assert "log-stream:" in text(statement["Resource"])


def test_ecs_pulls_one_repository_writes_one_log_and_reads_one_secret(talk: Served):
    statements = talk.statements("ExecutionRole")
    assert set(statements) == {"ImageRegistry", "Images", "Log", "Secrets"}
    assert statements["Images"]["Resource"] == f"arn:aws:ecr:us-west-2:763104351884:{DLC}"
    assert statements["ImageRegistry"] == {
        "Action": "ecr:GetAuthorizationToken",
        "Effect": "Allow",
        "Resource": "*",
        "Sid": "ImageRegistry",
    }
    (key,) = talk.of_type("AWS::SecretsManager::Secret")
    assert statements["Secrets"]["Resource"] == {"Ref": key}
    (group,) = [name for name in talk.of_type("AWS::Logs::LogGroup") if name.startswith("ChatLogs")]
    assert statements["Log"]["Resource"] == {"Fn::GetAtt": [group, "Arn"]}


def test_the_hub_s_token_and_a_key_of_one_s_own_are_read_as_well(hub: Served):
    statements = hub.statements("ExecutionRole")
    assert TOKEN_SECRET in statements["Secrets"]["Resource"]
    assert statements["SecretKeys"]["Action"] == "kms:Decrypt"
    (key,) = [name for name in hub.of_type("AWS::KMS::Key") if name.startswith("Key")]
    assert statements["SecretKeys"]["Resource"] == {"Fn::GetAtt": [key, "Arn"]}


def test_shells_need_to_be_asked_for(talk: Served, hub: Served):
    assert set(hub.statements("TaskRole")) == {"WriteMetrics", "Shell", "ShellGroups", "ShellRecord"}
    assert (talk.service["Properties"]["EnableExecuteCommand"], hub.service["Properties"]["EnableExecuteCommand"]) == (
        False,
        True,
    )
    assert "Configuration" not in talk.only("AWS::ECS::Cluster")["Properties"]
    shells = hub.only("AWS::ECS::Cluster")["Properties"]["Configuration"]["ExecuteCommandConfiguration"]
    assert shells["Logging"] == "OVERRIDE"
    assert shells["LogConfiguration"]["CloudWatchEncryptionEnabled"] is True


@pytest.mark.parametrize("role", ["TaskRole", "ExecutionRole"])
def test_only_tasks_of_this_account_take_the_roles(talk: Served, role: str):
    trust = talk.only("AWS::IAM::Role", f"Task{role}")["Properties"]["AssumeRolePolicyDocument"]
    (statement,) = trust["Statement"]
    assert statement["Principal"] == {"Service": "ecs-tasks.amazonaws.com"}
    assert statement["Condition"]["StringEquals"] == {"aws:SourceAccount": "111122223333"}
    assert ":ecs:us-west-2:111122223333:*" in text(statement["Condition"]["ArnLike"])


def test_each_statement_is_there_for_a_reason(talk: Served, hub: Served):
    for served in (talk, hub):
        for permissions in served.construct.task.permissions.values():
            assert permissions
            assert all(each.reason for each in permissions)
