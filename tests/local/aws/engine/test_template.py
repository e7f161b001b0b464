"""Templates: sections, parameters, rules, references, order."""

import json
from typing import Any

import pytest

from llm_fleet_local.aws.stacks.proposal import Proposal
from llm_fleet_local.aws.template.document import parse_template
from llm_fleet_local.aws.template.policies import notes_on_creation, notes_on_update
from llm_fleet_local.aws.template.values import TemplateError
from tests.local.aws.conftest import REGION, Bench

THING: dict[str, Any] = {"Type": "Test::Thing"}
GROUP = {"Type": "AWS::AutoScaling::AutoScalingGroup"}
ROLLING = {"UpdatePolicy": {"AutoScalingRollingUpdate": {"MaxBatchSize": 1, "PauseTime": "PT20M"}}}
SIGNAL = {"ResourceSignal": {"Count": 2, "Timeout": "PT30M"}}


def test_yaml_short_forms_and_dates_are_read_as_in_cloudformation() -> None:
    template = parse_template(
        """
        Resources:
          Thing:
            Type: Test::Thing
            Properties: {Value: !Sub "${Other.Arn}", Values: [!Ref Other, !GetAtt Other.Arn], Version: 2012-10-17}
          Other: {Type: Test::Thing}
        """
    )
    assert template.resources["Thing"].properties == {
        "Value": {"Fn::Sub": "${Other.Arn}"},
        "Values": [{"Ref": "Other"}, {"Fn::GetAtt": "Other.Arn"}],
        "Version": "2012-10-17",
    }


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ({"Transform": "AWS::Serverless-2016-10-31", "Resources": {"A": THING}}, "Transform AWS::Serverless"),
        ({"Resource": {"A": THING}}, r"Invalid template property or properties \['Resource'\]"),
        ({"Resources": {}}, "At least one Resources member"),
        ({"Resources": {"A": {"Properties": {}}}}, "must have a Type"),
        ({"Resources": {"A": {**THING, "Propertys": {}}}}, r"\['Propertys'\] is not supported"),
        ({"Resources": {"A": {**THING, "CreationPolicy": SIGNAL}}}, "not supported for Test::Thing"),
        ({"Resources": {"A": {**GROUP, "CreationPolicy": {"Signal": {}}}}}, r"\['Signal'\] is not supported"),
        ({"Resources": {"A": {**GROUP, "CreationPolicy": {"ResourceSignal": {"Time": 1}}}}}, "ResourceSignal.Time"),
        (
            {"Resources": {"A": {**GROUP, "CreationPolicy": {"ResourceSignal": {"Timeout": "15 minutes"}}}}},
            "'15 minutes' must be a duration",
        ),
        ({"Resources": {"A": {**GROUP, "UpdatePolicy": {"AutoScalingRolling": {}}}}}, "'AutoScalingRolling'"),
        ({"Resources": {"A": {**THING, "DeletionPolicy": "Snapshot"}}}, "Snapshot is not supported"),
        ({"Resources": {"A-1": THING}}, "'A-1' is non alphanumeric"),
        ({"Outputs": {"O": {"Value": "v", "Vlue": "v"}}, "Resources": {"A": THING}}, r"\['Vlue'\] is not supported"),
        ({"Outputs": {"O-1": {"Value": "v"}}, "Resources": {"A": THING}}, "'O-1' is non alphanumeric"),
        ({"Parameters": {"P": {"Type": "Strin"}}, "Resources": {"A": THING}}, "unknown parameter type 'Strin'"),
        ({"Parameters": {"P": {"Type": "String", "Defaut": "x"}}, "Resources": {"A": THING}}, r"\['Defaut'\] is not"),
    ],
)
def test_an_ill_formed_template_is_rejected(bench: Bench, template: dict[str, Any], said: str) -> None:
    with pytest.raises(TemplateError, match=said):
        bench.create("S", template)


def test_signals_and_replacements_of_a_policy_are_reported() -> None:
    template = parse_template(json.dumps({"Resources": {"A": {**GROUP, "CreationPolicy": SIGNAL, **ROLLING}}}))
    group = template.resources["A"]
    (reported,) = notes_on_creation(group.creation_policy)
    assert reported.startswith("CreationPolicy: 2 signals count as received")
    assert notes_on_update(group.update_policy) == ("UpdatePolicy: AutoScalingRollingUpdate replaces no instance here",)
    assert notes_on_creation(None) == notes_on_update(None) == ()


def test_all_findings_are_reported_together(bench: Bench) -> None:
    said = bench.rejection(
        {
            "Resources": {
                "A": {**THING, "DependsOn": "Gone", "Properties": {"Value": {"Ref": "Missing"}}},
                "B": {**THING, "Condition": "Undeclared"},
            },
            "Outputs": {"Out": {"Value": {"Fn::GetAtt": ["A", "Color"]}}},
        }
    )
    assert "4 problems" in said
    for part in ("DependsOn: unknown resource Gone", "Ref: Missing", "condition Undeclared", "no attribute Color"):
        assert part in said


def test_unknown_types_and_properties_are_rejected(bench: Bench) -> None:
    said = bench.rejection(
        {"Resources": {"A": {"Type": "AWS::No::Such"}, "B": {**THING, "Properties": {"Color": "red"}}}}
    )
    assert "/Resources/A/Properties (AWS::No::Such): unknown type" in said
    assert "unknown property Color" in said


def test_a_cycle_is_reported_with_its_resources(bench: Bench) -> None:
    said = bench.rejection(
        {
            "Resources": {
                "A": {**THING, "Properties": {"Value": {"Ref": "B"}}},
                "B": {**THING, "DependsOn": ["A"]},
            }
        }
    )
    assert "Circular dependency between resources" in said
    assert "A" in said
    assert "B" in said


def test_a_reference_to_a_resource_whose_condition_is_false_is_rejected(bench: Bench) -> None:
    said = bench.rejection(
        {
            "Conditions": {"Never": {"Fn::Equals": ["a", "b"]}},
            "Resources": {"A": {**THING, "Condition": "Never"}, "B": {**THING, "Properties": {"Value": {"Ref": "A"}}}},
        }
    )
    assert "Unresolved resource dependencies ['A'] in the Resources block" in said


def test_resources_are_created_after_their_dependencies(bench: Bench) -> None:
    bench.create(
        "S",
        {
            "Resources": {
                "Last": {**THING, "Properties": {"Value": {"Fn::Sub": "${Middle.Arn}"}}},
                "Middle": {**THING, "DependsOn": ["First"]},
                "First": THING,
            }
        },
    )
    assert bench.since_last() == ["create First", "create Middle", "create Last"]


@pytest.mark.parametrize(
    ("spec", "given", "said"),
    [
        ({"Type": "String"}, None, "must have values"),
        ({"Type": "String", "AllowedValues": ["a", "b"]}, "c", "must be one of AllowedValues"),
        ({"Type": "String", "AllowedPattern": "[a-z]+"}, "A1", "must match pattern"),
        ({"Type": "String", "MinLength": 3}, "ab", "length of at least 3"),
        ({"Type": "Number", "MaxValue": 3}, "4", "value of at most 3"),
        ({"Type": "Number"}, "four", "must be a number"),
    ],
)
def test_a_parameter_outside_its_constraints_is_rejected(
    bench: Bench, spec: dict[str, Any], given: str | None, said: str
) -> None:
    template = {"Parameters": {"P": spec}, "Resources": {"A": THING}}
    values = {} if given is None else {"P": given}
    with pytest.raises(TemplateError, match=said):
        bench.engine.create_stack(REGION, "S", bench.proposal(template, **values), in_background=False)


def test_an_undeclared_parameter_is_rejected(bench: Bench) -> None:
    with pytest.raises(TemplateError, match=r"Parameters: \['Q'\] do not exist in the template"):
        bench.engine.create_stack(REGION, "S", bench.proposal({"Resources": {"A": THING}}, Q="x"))


BOOTSTRAPPED: dict[str, Any] = {
    "Parameters": {
        "BootstrapVersion": {
            "Type": "AWS::SSM::Parameter::Value<String>",
            "Default": "/cdk-bootstrap/hnb659fds/version",
        }
    },
    "Rules": {
        "CheckBootstrapVersion": {
            "Assertions": [
                {
                    "Assert": {"Fn::Not": [{"Fn::Contains": [["1", "2", "3"], {"Ref": "BootstrapVersion"}]}]},
                    "AssertDescription": "CDK bootstrap stack version 4 required.",
                }
            ]
        }
    },
    "Resources": {"A": THING},
}


def test_the_cdks_rule_reads_the_bootstrap_version_from_ssm(bench: Bench) -> None:
    bench.lookups.parameters["/cdk-bootstrap/hnb659fds/version"] = "3"
    assert "CDK bootstrap stack version 4 required" in bench.rejection(BOOTSTRAPPED)
    bench.lookups.parameters["/cdk-bootstrap/hnb659fds/version"] = "4"
    assert bench.create("S", BOOTSTRAPPED).status == "CREATE_COMPLETE"


def test_dynamic_references_are_resolved_for_the_resource_and_not_stored(bench: Bench) -> None:
    bench.lookups.parameters["/name"] = "from-ssm"
    bench.lookups.secrets["db"] = '{"password": "hidden"}'
    value = "{{resolve:ssm:/name:1}} {{resolve:secretsmanager:db:SecretString:password}}"
    stack = bench.create("S", {"Resources": {"A": {**THING, "Properties": {"Value": value}}}})
    assert bench.provider.things["thing-1"] == {"Value": "from-ssm hidden"}
    assert stack.resources["A"].properties == {"Value": value}


def test_iam_resources_require_a_capability(bench: Bench) -> None:
    body = '{"Resources": {"R": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "r"}}}}'
    with pytest.raises(TemplateError, match=r"Requires capabilities : \[CAPABILITY_NAMED_IAM\]"):
        bench.engine.create_stack(REGION, "S", Proposal(body=body, capabilities=("CAPABILITY_IAM",)))
