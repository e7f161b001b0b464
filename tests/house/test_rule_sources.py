"""Each rule that emulator, drill and local serving apply names its source: model, document, record or assumption."""

import pytest

from tools.assumption_citations import texts
from tools.rule_sources import SOURCE, Rule, rules, rules_of_module, wrong_with

IMITATIONS = ("local/llm_fleet_local/aws/", "local/llm_fleet_local/serving/", "local/llm_fleet_local/drill/")
LONG_AGO_ENOUGH = 250
"""Rules that there are at least: fewer would mean that they are not found any more."""


def test_every_rule_names_its_source():
    found = list(rules())
    assert len(found) >= LONG_AGO_ENOUGH
    assert [one.place for one in found if not one.sources] == []


MODULE = """'''Does much.

Source: assumption a-b
'''

class Thing:
    '''Is one.{of_class}'''

    def refuse(self):
        # Why.{of_method}
        raise Refused("no")

{second}
"""
SECOND = "def refuse():\n    # Source: emulation, nothing runs here\n    raise Refused('never')\n"


@pytest.mark.parametrize(
    "folder",
    ["local/llm_fleet_local/aws/api", "local/llm_fleet_local/aws/resources", "local/llm_fleet_local/serving/servers"],
)
@pytest.mark.parametrize(
    ("of_class", "of_method", "second", "sources"),
    [
        ("", "", "", [1]),
        ("", "", SECOND, [0, 1]),
        ("\n\n    Source: assumption c-d\n    ", "", SECOND, [1, 1]),
        ("", "\n        # Source: assumption c-d", SECOND, [1, 1]),
    ],
)
def test_the_docstring_of_a_module_counts_for_one_function_only(
    of_class: str, of_method: str, second: str, sources: list[int], folder: str
):
    text = MODULE.format(of_class=of_class, of_method=of_method, second=second)
    path = f"{folder}/made_up.py"
    found = [one for one in rules_of_module(path, text) if one.place != f"{path}:1"]
    assert sorted(len(one.sources) for one in found) == sources


def test_an_action_on_a_node_in_place_of_a_platform_is_a_rule():
    text = "def boot(node):\n    node.start('agent')\n\ndef look(node):\n    return node.read('/etc/hosts')\n"
    assert [one.place for one in rules_of_module("local/llm_fleet_local/drill/made_up.py", text)] == [
        "local/llm_fleet_local/drill/made_up.py:1",
        "local/llm_fleet_local/drill/made_up.py:1 boot",
    ]


def test_every_source_has_a_form_and_what_it_names_is_in_the_model():
    wrong = {
        name: said
        for name, text in texts().items()
        if name.startswith(IMITATIONS) and not name.endswith(".md")
        for one in Rule(name, text).sources
        if (said := wrong_with(one))
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "source",
    [
        "model botocore ec2 CreateSubnet",
        "model CloudFormation AWS::EC2::Subnet",
        "model cfn-lint schemas/other/functions/select.json",
        "document https://docs.aws.amazon.com/page.html (2026-07)",
        "document https://docs.aws.amazon.com/page.html: a name is used once in an account",
        "code of the CDK CLI 2.1148.1, canSkipDeploy",
        "recorded aws/aws-cdk#24708, text of the error (2023-03-21)",
        "assumption service-error-texts",
        "emulation, nothing boots here",
    ],
)
def test_sources_of_each_kind_are_accepted(source: str):
    assert wrong_with(source) == ""


@pytest.mark.parametrize(
    "source",
    [
        "model botocore ec2 CreateSubnets",
        "model botocore ec3 CreateSubnet",
        "model botocore ec2",
        "model CloudFormation AWS::EC2::Subnets",
        "model cfn-lint schemas/other/functions/choose.json",
        "document the developer guide",
        "document https://docs.aws.amazon.com/page.html",
        "recorded once",
        "assumption",
        "emulation",
        "a colleague said so",
    ],
)
def test_sources_that_no_one_can_follow_are_found(source: str):
    assert wrong_with(source) != ""


def test_sources_are_read_from_docstrings_and_comments():
    text = '"""Refuse.\n\nSource: document https://a.b/c\n(2026-07)\nSource: assumption a-b\n"""\n'
    text += "    # Source: assumption\n    # c-d\n\nx\n"
    text += "    # Source: assumption e-f\n    raise Refused\n"
    assert Rule("a.py:1", text).sources == (
        "document https://a.b/c (2026-07)",
        "assumption a-b",
        "assumption c-d",
        "assumption e-f",
    )
    assert SOURCE.findall("Sources: many") == []
