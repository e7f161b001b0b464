"""A small valid fleet file with an endpoint, to which tests add errors."""

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.fleet_file.sagemaker import EndpointConfig
from llm_fleet.rules.problem import FleetError, Problem
from tests.fleet_file.good_fleet import edited_text

GOOD = """\
fleet: test
region: us-west-2
network: none
storage:
  buckets: {models: {name: our-models}}
endpoints:
  gpt-j:
    model: EleutherAI/gpt-j-6b
    instance: ml.g4dn.xlarge
"""
MODEL = "model: EleutherAI/gpt-j-6b"
INSTANCE = "instance: ml.g4dn.xlarge"


def edited(*edits: str) -> str:
    """Return the valid file after `edits`: each first string, which must occur, is replaced by the next one."""
    return edited_text(GOOD, *edits)


def endpoint(*edits: str) -> EndpointConfig:
    """Return the endpoint of the file after these edits."""
    return parse_fleet(edited(*edits)).endpoints["gpt-j"]


def problems(*edits: str) -> tuple[Problem, ...]:
    """Return the problems of the file after these edits; empty for a valid file."""
    try:
        parse_fleet(edited(*edits))
    except FleetError as error:
        return error.problems
    return ()
