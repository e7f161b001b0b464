"""The checkers that a careful user would run on a synthesized app; each function returns the findings."""

import bisect
import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import cx_api
from cdk_nag import AwsSolutionsChecks, NIST80053R5Checks
from cloudformation_validate import RegoEngine, Severity

from llm_fleet.network.security_group import rule_description

Finder = Callable[[cdk.App], list[str]]

# The CDK itself writes DependsOn next to GetAtt, for roles of functions and for every explicit dependency.
_DEPENDENCY_SAID_TWICE = "W3005"
# A user's file names existing resources by ARN, and an ARN contains an account.
_ACCOUNT_IN_ARN = "W9013"
# Outputs are for people and programs that read one stack; a stack's outputs can repeat values that it imports.
_OUTPUT_OF_IMPORT = "W6001"
_IGNORED = (_DEPENDENCY_SAID_TWICE, _ACCOUNT_IN_ARN, _OUTPUT_OF_IMPORT)


def nag_findings(app: cdk.App) -> list[str]:
    """Findings of cdk-nag's packs AwsSolutions and NIST 800-53 R5 that are not acknowledged."""
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), NIST80053R5Checks(app))
    return _reported(app)


def validator_findings(app: cdk.App) -> list[str]:
    """Findings of the CDK's own validator. It is added here because the tests switch it off in the environment."""
    cdk.Validations.of(app).add_plugins(_validator())
    return _reported(app)


def annotation_findings(app: cdk.App) -> list[str]:
    """Warnings and errors in the annotations of constructs."""
    assembly = app.synth()
    return [
        f"{message.id}: {message.entry.data}"
        for stack in assembly.stacks
        for message in stack.messages
        if message.level is not cx_api.SynthesisMessageLevel.INFO
    ]


def cfn_lint_findings(app: cdk.App) -> list[str]:
    """Findings of cfn-lint in the templates, with warnings."""
    named = {stack.environment.region for stack in app.synth().stacks} - {"unknown-region"}
    region = min(named, default="us-west-2")
    return [str(match) for path in _templates(app) for match in _lint(path.read_text(encoding="utf-8"), region)]


def _lint(text: str, region: str) -> list[Any]:
    from cfnlint.decode import cfn_json  # the package takes a second to import

    # As JSON: `decode_str` reads it as YAML, which takes five times as long.
    return list(_linter(region).validate_template(cfn_json.loads(text)))  # pyright: ignore[reportUnknownMemberType]


@cache
def _linter(region: str) -> Any:
    """One per process and Region: loading its rules takes longer than checking a small template."""
    from cfnlint.config import ConfigMixIn
    from cfnlint.runner import Runner

    _quicken_cfn_lint()
    linter: Any = Runner(ConfigMixIn(regions=[region], ignore_checks=list(_IGNORED)))
    asks: Any = type(linter.rules["E1101"])  # pyright: ignore
    ask, words = asks.cfnLint, set[str]()

    def call_if_a_rule_applies(self: Any, validator: Any, keywords: list[str], *more: Any) -> Iterator[Any]:
        """It is called for every value, and only one value in twenty has a rule for it."""
        if not words:
            words.update(word for rule in self.child_rules.values() if rule is not None for word in rule.keywords)
        if not words.isdisjoint(keywords):
            yield from ask(self, validator, keywords, *more)

    asks.cfnLint = call_if_a_rule_applies
    return linter


def _quicken_cfn_lint() -> None:
    """Cache what cfn-lint computes again for each value; computing it takes two fifths of its time."""
    from cfnlint.context import context
    from cfnlint.decode import cfn_json
    from cfnlint.jsonschema import _filter, validators
    from cfnlint.schema.resolver import _resolver

    for module in (context, _filter, validators):
        # They copy themselves at each step, and each time read their list of fields.
        module.fields = cache(dataclasses.fields)  # pyright: ignore
    make: Any = validators.create
    made: dict[Any, Any] = {}

    def remember_class(**given: Any) -> Any:
        functions, calls, filters = given["validators"], given["fn_resolvers"], given["function_filter"]
        flags = (filters.add_cfn_lint_keyword, filters.validate_dynamic_references)
        key = (frozenset(functions.items()), frozenset(calls.items()), flags)
        if key not in made:
            made[key] = make(**given)
        return made[key]

    search: Any = _resolver._search_schema  # pyright: ignore
    found: dict[Any, Any] = {}

    def remember_parts(schema: Any, matcher: Any) -> Iterator[Any]:
        key = (id(schema), matcher)
        if key not in found:
            found[key] = (schema, list(search(schema, matcher)))
        return iter(found[key][1])

    validators.create = remember_class
    _resolver._search_schema = remember_parts  # pyright: ignore
    _resolver._match_keyword = cache(_resolver._match_keyword)  # pyright: ignore
    cfn_json.count_occurrences = bisect.bisect_right


def cloudformation_validate_findings(app: cdk.App) -> list[str]:
    """Findings of AWS's cloudformation-validate in the templates, with warnings."""
    return [
        f"{found.rule_id} {found.message}"
        for path in _templates(app)
        for found in _engine().validate_template(str(path)).diagnostics
        if found.severity is not Severity.INFO and found.rule_id not in _IGNORED
    ]


def description_findings(app: cdk.App) -> list[str]:
    """Descriptions of security groups and of their rules that EC2 rejects; no checker of templates checks them."""
    return [
        f"{name}: EC2 does not take {text!r}"
        for path in _templates(app)
        for name, resource in json.loads(path.read_text())["Resources"].items()
        if resource["Type"].startswith("AWS::EC2::SecurityGroup")
        for text in _descriptions(resource["Properties"])
        if text != rule_description(text)
    ]


def all_findings(app: cdk.App) -> list[str]:
    """Findings of all checkers in one synthesis; the packs and the validator come first, as they report at its end."""
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), NIST80053R5Checks(app), _validator())
    return _reported(app) or [
        *annotation_findings(app),
        *cfn_lint_findings(app),
        *cloudformation_validate_findings(app),
        *description_findings(app),
    ]


def _descriptions(properties: dict[str, Any]) -> Iterator[str]:
    """Descriptions of a group or of a rule, and of the rules within a group."""
    rules: list[Any] = [*properties.get("SecurityGroupIngress", ()), *properties.get("SecurityGroupEgress", ())]
    for described in (properties, *rules):
        for text in (described.get("GroupDescription"), described.get("Description")):
            if isinstance(text, str):
                yield text


@cache
def _validator() -> cdk.CloudFormationValidatePlugin:
    """One per process: Node keeps the engine of each, and with a dozen of them it collected garbage for two minutes."""
    return cdk.CloudFormationValidatePlugin()


@cache
def _engine() -> Any:
    return RegoEngine()


def _templates(app: cdk.App) -> list[Path]:
    return sorted(Path(app.synth().directory).glob("*.template.json"))


def _reported(app: cdk.App) -> list[str]:
    """Synthesize and return the findings of the validation report; synth raises an error if it has findings."""
    with suppress(RuntimeError):
        app.synth()
    report = json.loads(Path(app.outdir, "validation-report.json").read_text(encoding="utf-8"))
    return [
        f"{violation['ruleName']} {found['constructPath']}: {violation['description']}"
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
        for found in violation["violatingConstructs"]
    ]


FINDERS: list[Finder] = [
    annotation_findings,
    cfn_lint_findings,
    cloudformation_validate_findings,
    nag_findings,
    validator_findings,
]

every_checker = pytest.mark.parametrize("finder", FINDERS, ids=lambda finder: finder.__name__.removesuffix("_findings"))
"""Runs a test once for each checker, its argument `finder`. tests/stacks tests that each finds a mistake."""
