"""A small valid fleet file with an inference service, to which tests add errors."""

from typing import Any

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.fleet_file.service import ServiceConfig
from llm_fleet.rules.problem import FleetError, Problem
from tests.fleet_file.good_fleet import edited_text

GOOD = """\
fleet: test
region: us-west-2
network: {azs: [usw2-az1, usw2-az2]}
storage:
  buckets: {models: {name: our-models}, data: {}}
services:
  chat:
    model: s3://my-models/tanuki-8b
    server: {kind: tgi, batch_size: 4}
    instance: inf2.xlarge
    count: 2
    front: {http: true}
"""
MODEL = "s3://my-models/tanuki-8b"


def edited(*edits: str) -> str:
    """Return the valid file after `edits`: each first string, which must occur, is replaced by the next one."""
    return edited_text(GOOD, *edits)


def service(*edits: str) -> ServiceConfig:
    """Return the service of the file after these edits."""
    return parse_fleet(edited(*edits)).services["chat"]


def problems(*edits: str, **options: Any) -> tuple[Problem, ...]:
    """Return the problems of the file after these edits; empty for a valid file."""
    try:
        parse_fleet(edited(*edits), **options)
    except FleetError as error:
        return error.problems
    return ()
