"""Signatures are equal to botocore's Signature Version 4."""

from datetime import UTC, datetime

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials

from inference_host.signing import Credentials, signed_headers


def test_signatures_are_equal_to_those_of_botocore():
    now = datetime(2026, 11, 20, 17, 30, 5, tzinfo=UTC)
    headers = {"content-type": "application/x-amz-json-1.1", "x-amz-target": "Logs_20140328.PutLogEvents"}
    body = b'{"logGroupName": "/llm-fleet/chat"}'
    ours = signed_headers(
        credentials=Credentials("AKID", "SECRET", "SESSION"),
        service="logs",
        region="us-west-2",
        host="logs.us-west-2.amazonaws.com",
        headers=headers,
        body=body,
        now=now,
    )
    request = AWSRequest(
        method="POST",
        url="https://logs.us-west-2.amazonaws.com/",
        headers={**headers, "X-Amz-Date": "20261120T173005Z", "X-Amz-Security-Token": "SESSION"},
        data=body,
    )
    request.context["timestamp"] = "20261120T173005Z"
    theirs = SigV4Auth(BotoCredentials("AKID", "SECRET", "SESSION"), "logs", "us-west-2")
    signature = theirs.signature(theirs.string_to_sign(request, theirs.canonical_request(request)), request)
    assert ours["authorization"].endswith(f"Signature={signature}")
    assert "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target," in ours["authorization"]
