"""The template of the provider's stand-in, which replaces the one that AWS publishes."""

import json
import re

PROVIDER_TYPE = "LocalAws::ParallelCluster::Provider"
MINOR_VERSION = "3.16"
"""The version of the oracle's schema and validators."""
NEEDED_CAPABILITY = "CAPABILITY_AUTO_EXPAND"
"""The capability that a deployment of the real template requires for its transform (AWS::Serverless)."""

_URL = re.compile(
    r"https://(?P<region>[a-z0-9-]+)-aws-parallelcluster\.s3\.(?P=region)\.amazonaws\.com(\.cn)?"
    r"/parallelcluster/(?P<version>[^/]+)/templates/custom_resource/cluster\.yaml"
)


def is_provider_url(url: str) -> bool:
    """Return whether a URL is a provider template's."""
    return _URL.fullmatch(url) is not None


def provider_template(url: str, region: str) -> str | None:
    """Return the stand-in's template for the URL of the real one; `None` for any other URL.

    Raises `LookupError` for a Region or version that the stand-in cannot check.
    Parameters, outputs and the log group are those of cloudformation/custom_resource/cluster.yaml of
    aws/aws-parallelcluster.
    """
    found = _URL.fullmatch(url)
    if found is None:
        return None
    version = found["version"]
    if found["region"] != region:
        raise LookupError(f"the provider in {found['region']} works only in that Region, not in {region}")
    if not version.startswith(f"{MINOR_VERSION}."):
        raise LookupError(f"the AWS emulator covers ParallelCluster {MINOR_VERSION}.x only, not {version}")
    return json.dumps(_template(version), indent=1)


def _template(version: str) -> dict[str, object]:
    suffix = {"Fn::Select": [2, {"Fn::Split": ["/", {"Ref": "AWS::StackId"}]}]}
    return {
        "Description": f"STAND-IN for the provider of AWS ParallelCluster {version}: it checks clusters and boots none",
        "Parameters": {
            "CustomLambdaRole": {"Type": "String", "Default": ""},
            "AdditionalIamPolicies": {"Type": "CommaDelimitedList", "Default": ""},
            "CustomBucket": {"Type": "String", "Default": ""},
        },
        "Resources": {
            "PclusterCfnFunctionLogGroup": {
                "Type": "AWS::Logs::LogGroup",
                "DeletionPolicy": "Retain",
                "UpdateReplacePolicy": "Retain",
                "Properties": {
                    "LogGroupName": {"Fn::Join": ["", ["/aws/lambda/pcluster-cfn-", suffix]]},
                    "RetentionInDays": 90,
                },
            },
            "StandIn": {
                "Type": PROVIDER_TYPE,
                "Properties": {
                    "Version": version,
                    "FunctionName": {"Fn::Join": ["", ["pcluster-cfn-", suffix]]},
                    "AdditionalIamPolicies": {"Ref": "AdditionalIamPolicies"},
                    "CustomLambdaRole": {"Ref": "CustomLambdaRole"},
                    "CustomBucket": {"Ref": "CustomBucket"},
                },
            },
        },
        "Outputs": {
            "ServiceToken": {"Value": {"Fn::GetAtt": ["StandIn", "Arn"]}},
            "LogGroupArn": {"Value": {"Fn::GetAtt": ["PclusterCfnFunctionLogGroup", "Arn"]}},
            "LambdaLayerArn": {"Value": {"Fn::GetAtt": ["StandIn", "LayerArn"]}},
        },
    }
