"""Custom resources: the function's code runs with its role's credentials, and its response is used."""

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from llm_fleet_local.aws.resource_provider import Level, ResourceFailed
from tests.local.aws.resources.support import Deployer, trust

ANSWER = """
import json, urllib.request

def answer(event, status="SUCCESS", **more):
    body = {"Status": status, "StackId": event["StackId"], "RequestId": event["RequestId"],
            "LogicalResourceId": event["LogicalResourceId"], **more}
    call = urllib.request.Request(event["ResponseURL"], json.dumps(body).encode(), {"Content-Type": ""}, method="PUT")
    urllib.request.urlopen(call)
"""

COPIES = """
import os
import boto3
from answer import answer

def handler(event, context):
    print("requested", event["RequestType"], context.function_name, context.get_remaining_time_in_millis() > 0)
    given = event["ResourceProperties"]
    s3 = boto3.client("s3")
    if event["RequestType"] == "Delete":
        s3.delete_object(Bucket=given["Bucket"], Key=event["PhysicalResourceId"])
        return answer(event, PhysicalResourceId=event["PhysicalResourceId"])
    key = given["Key"]
    seen = {"given": given, "old": event.get("OldResourceProperties"), "own": os.environ["OWN"],
            "who": boto3.client("sts").get_caller_identity()["Arn"], "path": os.environ["PATH"]}
    s3.put_object(Bucket=given["Bucket"], Key=key, Body=json_of(seen))
    answer(event, PhysicalResourceId=key, Data={"Url": f"s3://{given['Bucket']}/{key}"})

def json_of(value):
    import json
    return json.dumps(value).encode()
"""


class Functions:
    """Functions whose code is in a bucket."""

    def __init__(self, deployer: Deployer) -> None:
        self._deployer = deployer
        self._s3 = deployer.client("s3")
        deployer.create("AWS::S3::Bucket", BucketName="assets")
        self.role = deployer.create(
            "AWS::IAM::Role", RoleName="Copier", AssumeRolePolicyDocument=trust("lambda.amazonaws.com")
        ).attributes["Arn"]

    def make(self, source: str, **more: Any) -> str:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("index.py", source)
            archive.writestr("answer.py", ANSWER)
        self._s3.put_object(Bucket="assets", Key="code.zip", Body=packed.getvalue())
        requested: dict[str, Any] = {
            "Code": {"S3Bucket": "assets", "S3Key": "code.zip"},
            "Handler": "index.handler",
            "Runtime": "python3.12",
            "Role": self.role,
            "Timeout": 20,
            "Environment": {"Variables": {"OWN": "mine"}},
        } | more
        return self._deployer.create("AWS::Lambda::Function", **requested).attributes["Arn"]

    def written(self, key: str) -> dict[str, Any]:
        return json.loads(self._s3.get_object(Bucket="assets", Key=key)["Body"].read())

    def names(self) -> list[str]:
        return [one["Key"] for one in self._s3.list_objects_v2(Bucket="assets").get("Contents", ())]


@pytest.fixture
def functions(deployer: Deployer) -> Functions:
    return Functions(deployer)


@pytest.mark.parametrize("kind", ["Custom::Bundle", "AWS::CloudFormation::CustomResource"])
def test_the_function_runs_at_creation_update_and_deletion(deployer: Deployer, functions: Functions, kind: str) -> None:
    token = functions.make(COPIES)
    old: dict[str, Any] = {"ServiceToken": token, "Bucket": "assets", "Key": "one", "Count": 3, "Deep": {"On": True}}
    created = deployer.create(kind, **old)
    assert created.level is Level.LAMBDA
    assert (created.physical_id, created.attributes) == ("one", {"Url": "s3://assets/one"})
    seen = functions.written("one")
    assert seen["given"] == {
        "ServiceToken": token,
        "Bucket": "assets",
        "Key": "one",
        "Count": "3",
        "Deep": {"On": "true"},
    }
    assert seen["who"].startswith("arn:aws:sts::123456789012:assumed-role/Copier/")
    assert seen["own"] == "mine"

    updated = deployer.update(kind, created, old, old | {"Key": "two"})
    assert updated.physical_id == "two"
    assert functions.written("two")["old"]["Key"] == "one"
    deployer.delete(kind, created, **old)
    assert "one" not in functions.names()
    assert "two" in functions.names()


def test_the_function_gets_no_variable_of_this_process(
    deployer: Deployer, functions: Functions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET", "secret")
    source = (
        "import os\nfrom answer import answer\ndef handler(event, context):\n"
        "    answer(event, PhysicalResourceId='x', Data={'names': ','.join(os.environ)})"
    )
    created = deployer.create("Custom::Nosy", ServiceToken=functions.make(source))
    assert "MY_SECRET" not in created.attributes["names"].split(",")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "def handler(event, context):\n    raise KeyError('no such thing')",
            "raised without a response.*log of.*KeyError",
        ),
        ("def handler(event, context):\n    print('all is well')", "returned without a response.*all is well"),
        ("import time\ndef handler(event, context):\n    time.sleep(60)", "reached its timeout without a response"),
        (
            "from answer import answer\ndef handler(event, context):\n    answer(event, 'FAILED', Reason='disk full')",
            "status \\[FAILED\\] from custom resource. disk full",
        ),
        ("from answer import answer\ndef handler(event, context):\n    answer(event)", "Invalid PhysicalResourceId"),
        (
            "from answer import answer\ndef handler(event, context):\n"
            "    answer(event, PhysicalResourceId='x', Data={'t': 'x' * 5000})",
            "Response object is too long",
        ),
        ("def other(event, context): ...", "has no attribute 'handler'"),
    ],
)
def test_failures_are_reported_with_the_log(
    deployer: Deployer, functions: Functions, source: str, message: str
) -> None:
    # A function that sleeps is called twice, to create and to delete, and each call takes its full timeout.
    token = functions.make(source, Timeout=1 if "timeout" in message else 20)
    with pytest.raises(ResourceFailed, match="(?s)" + message):
        deployer.create("Custom::Failing", ServiceToken=token)


def test_a_bad_role_is_rejected(deployer: Deployer, functions: Functions) -> None:
    with pytest.raises(ResourceFailed, match="cannot be assumed by Lambda"):
        functions.make(COPIES, Role="arn:aws:iam::123456789012:role/missing")
    foreign = deployer.create("AWS::IAM::Role", AssumeRolePolicyDocument=trust("ec2.amazonaws.com"))
    with pytest.raises(ResourceFailed, match="cannot be assumed by Lambda"):
        functions.make(COPIES, Role=foreign.attributes["Arn"])
    role = deployer.create("AWS::IAM::Role", AssumeRolePolicyDocument=trust("lambda.amazonaws.com"))
    token = functions.make(COPIES, Role=role.attributes["Arn"])
    policy = json.dumps(trust("ec2.amazonaws.com"))
    deployer.client("iam").update_assume_role_policy(RoleName=role.physical_id, PolicyDocument=policy)
    with pytest.raises(ResourceFailed, match="cannot be assumed by Lambda"):
        deployer.create("Custom::Any", ServiceToken=token)


def test_the_code_must_be_in_the_bucket(deployer: Deployer, functions: Functions) -> None:
    with pytest.raises(ResourceFailed, match=r"NoSuchKey: s3://assets/none.zip"):
        functions.make(COPIES, Code={"S3Bucket": "assets", "S3Key": "none.zip"})


def test_the_token_must_be_a_function(deployer: Deployer, functions: Functions) -> None:
    for token in ("arn:aws:sns:us-west-2:123456789012:topic", "arn:aws:lambda:us-west-2:123456789012:function:none"):
        with pytest.raises(ResourceFailed, match=r"ServiceToken must be|not found|NotFound"):
            deployer.create("Custom::Any", ServiceToken=token)


@pytest.fixture
def enforced(deployer: Deployer) -> Iterator[None]:
    """Make IAM check only the function's calls: after the provider's three (GetFunction, GetRole, AssumeRole)."""
    address = f"{deployer.provider.services.endpoint_url}/moto-api/reset-auth"
    plain = {"Content-Type": "text/plain"}
    requests.post(address, data="3", headers=plain, timeout=10).raise_for_status()
    yield
    requests.post(address, data="inf", headers=plain, timeout=10).raise_for_status()


WRITES = """
import boto3
from answer import answer

def handler(event, context):
    boto3.client("s3").put_object(Bucket="assets", Key="out", Body=b"x")
    answer(event, PhysicalResourceId="out")
"""


@pytest.mark.parametrize(("action", "allowed"), [("s3:GetObject", False), ("s3:PutObject", True)])
def test_iam_allows_and_denies_calls_when_it_is_enforced(
    deployer: Deployer, functions: Functions, request: pytest.FixtureRequest, action: str, allowed: bool
) -> None:
    statement = {"Effect": "Allow", "Action": action, "Resource": "arn:aws:s3:::assets/*"}
    document = {"Version": "2012-10-17", "Statement": [statement]}
    role = deployer.create(
        "AWS::IAM::Role",
        RoleName="Limited",
        AssumeRolePolicyDocument=trust("lambda.amazonaws.com"),
        Policies=[{"PolicyName": "only", "PolicyDocument": document}],
    )
    token = functions.make(WRITES, Role=role.attributes["Arn"])
    request.getfixturevalue("enforced")
    if allowed:
        assert deployer.create("Custom::Writer", ServiceToken=token).physical_id == "out"
    else:
        with pytest.raises(ResourceFailed, match=r"(?s)raised without a response.*AccessDenied"):
            deployer.create("Custom::Writer", ServiceToken=token)


WILFUL = """
import boto3
from answer import answer

def handler(event, context):
    given = event["ResourceProperties"]
    seen = f"{event['RequestType']}-{event.get('PhysicalResourceId', 'none')}"
    boto3.client("s3").put_object(Bucket=given["Bucket"], Key=seen, Body=b"")
    answer(event, "FAILED" if event["RequestType"] == given.get("Reject") else "SUCCESS", PhysicalResourceId="wilful")
"""


def test_a_failed_creation_is_followed_by_a_delete_request(deployer: Deployer, functions: Functions) -> None:
    token = functions.make(WILFUL)
    with pytest.raises(ResourceFailed, match=r"response status \[FAILED\]"):
        deployer.create("Custom::Any", ServiceToken=token, Bucket="assets", Reject="Create")
    assert {"Create-none", "Delete-wilful"} <= set(functions.names())


FORGES = """
from answer import answer

def handler(event, context):
    event[event["ResourceProperties"].get("Forge", "Nothing")] = "forged"
    answer(event, PhysicalResourceId="forged")
"""


@pytest.mark.parametrize("name", ["StackId", "RequestId", "LogicalResourceId"])
def test_a_response_to_another_request_is_rejected(deployer: Deployer, functions: Functions, name: str) -> None:
    token = functions.make(FORGES)
    with pytest.raises(ResourceFailed, match=f"Invalid response: {name} must be the same as in the request"):
        deployer.create("Custom::Any", ServiceToken=token, Forge=name)


def test_the_function_of_a_resource_cannot_change(deployer: Deployer, functions: Functions) -> None:
    old = {"ServiceToken": functions.make(FORGES)}
    created = deployer.create("Custom::Any", **old)
    new = old | {"ServiceToken": functions.make(FORGES, FunctionName="other")}
    with pytest.raises(ResourceFailed, match="Modifying service token is not allowed"):
        deployer.update("Custom::Any", created, old, new)
