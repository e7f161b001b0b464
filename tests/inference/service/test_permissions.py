"""What ECS may do to start a task."""

from llm_fleet.inference.roles import execution_permissions, shell_permissions

LOG = "arn:aws:logs:us-west-2:111122223333:log-group:/llm-fleet/inference/chat:*"
REPOSITORY = "arn:aws:ecr:us-west-2:763104351884:repository/tgi"
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:key-AbCdEf"
KEY = "arn:aws:kms:us-west-2:111122223333:key/1234"


def test_nothing_but_the_log_without_repository_and_secret():
    (log,) = execution_permissions(repositories=[], log_group_arn=LOG, secret_arns=[], key_arns=[KEY])
    assert (log.actions, log.resources) == (("logs:CreateLogStream", "logs:PutLogEvents"), (LOG,))


def test_each_statement_names_its_resources_and_why():
    permissions = execution_permissions(
        repositories=[REPOSITORY, REPOSITORY], log_group_arn=LOG, secret_arns=[SECRET, SECRET], key_arns=[KEY]
    )
    resources = {each.sid: each.resources for each in permissions}
    assert resources == {
        "ImageRegistry": ("*",),
        "Images": (REPOSITORY,),
        "Log": (LOG,),
        "Secrets": (SECRET,),
        "SecretKeys": (KEY,),
    }
    assert all(each.reason and not each.reason.endswith(".") for each in permissions)
    assert not any("*" in action for each in permissions for action in each.actions)


def test_a_shell_writes_its_record_only_into_the_service_s_log():
    assert {each.sid: each.resources for each in shell_permissions(log_group_arn=LOG)}["ShellRecord"] == (LOG,)
