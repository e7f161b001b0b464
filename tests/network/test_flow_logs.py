"""Flow logs: everything, for a set time, by a role that can do no more."""

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Template

from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.spec.network import NetworkSpec
from tests.network.conftest import Make
from tests.network.looking import id_of, only


def test_all_traffic_of_the_vpc_is_logged_for_90_days(make: Make):
    template = make()
    log = only(template, "AWS::EC2::FlowLog")["Properties"]
    assert (log["ResourceType"], log["TrafficType"]) == ("VPC", "ALL")
    assert log["ResourceId"] == {"Ref": id_of(template, "AWS::EC2::VPC")}
    assert log["LogGroupName"] == {"Ref": id_of(template, "AWS::Logs::LogGroup")}
    group = only(template, "AWS::Logs::LogGroup")
    assert group["Properties"] == {"RetentionInDays": 90}
    assert group["DeletionPolicy"] == "RetainExceptOnCreate"


def test_another_time_and_a_key_of_ones_own(stack: cdk.Stack):
    key = kms.Key(stack, "Key")
    FleetNetwork(
        stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"], flow_log_days=365), encryption_key=key
    )
    template = Template.from_stack(stack)
    assert only(template, "AWS::Logs::LogGroup")["Properties"] == {
        "RetentionInDays": 365,
        "KmsKeyId": {"Fn::GetAtt": [id_of(template, "AWS::KMS::Key"), "Arn"]},
    }


def test_the_role_is_for_this_accounts_flow_logs_and_writes_into_one_log_group(make: Make):
    template = make()
    (trust,) = only(template, "AWS::IAM::Role")["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "vpc-flow-logs.amazonaws.com"}
    assert trust["Condition"]["StringEquals"] == {"aws:SourceAccount": "111122223333"}
    assert "111122223333:vpc-flow-log/*" in str(trust["Condition"]["ArnLike"]["aws:SourceArn"])
    policy = only(template, "AWS::IAM::ManagedPolicy")["Properties"]
    assert policy["Roles"] == [{"Ref": id_of(template, "AWS::IAM::Role")}]
    assert policy["PolicyDocument"]["Statement"] == [
        {
            "Sid": "WriteFlowRecords",
            "Effect": "Allow",
            "Action": ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
            "Resource": {"Fn::GetAtt": [id_of(template, "AWS::Logs::LogGroup"), "Arn"]},
        }
    ]


def test_no_record_is_lost_before_the_role_may_write(make: Make):
    template = make()
    assert only(template, "AWS::EC2::FlowLog")["DependsOn"] == [id_of(template, "AWS::IAM::ManagedPolicy")]
