"""Keys of a YAML text change at their positions; everything else stays."""

import pytest

from llm_fleet.cli.retained.yaml_edit import set_keys
from llm_fleet.fleet_file.document import parse

BLOCK = """\
# head
network:            # the network
  # about az
  az: usw2-az4      # capacity is here
  cidr: 10.0.0.0/16

  # about logs
  flow_logs: 90 days
# between
storage:
  fsx:
    backups:        # daily
      keep: 7 days
      at: "03:00"   # at night
    # where
    mount: /data
    data_repositories:
      - path: /a
        s3: s3://a
      - {path: /b, s3: s3://b}  # the second
    size: 4800 GiB
clusters: {}
"""


def test_a_block_gets_the_key_in_place_of_the_first_one_and_keeps_its_comments():
    changed = set_keys(BLOCK, ("network",), {"vpc": {"id": "vpc-1", "subnets": {"usw2-az4": "subnet-1"}}})
    assert (
        changed
        == """\
# head
network:            # the network
  # about az
  vpc:
    id: vpc-1
    subnets: {usw2-az4: subnet-1}
  # capacity is here

  # about logs
# between
"""
        + BLOCK[BLOCK.index("storage:") :]
    )


def test_nested_values_are_removed_completely_and_kept_keys_stay():
    changed = set_keys(BLOCK, ("storage", "fsx"), {"existing": {"id": "fs-1"}}, keep=("mount",))
    assert changed.startswith(BLOCK[: BLOCK.index("    backups:")])
    assert (
        changed[BLOCK.index("    backups:") :]
        == """\
    existing:
      id: fs-1
    # daily
    # at night
    # where
    mount: /data
    # the second
clusters: {}
"""
    )


@pytest.mark.parametrize(
    ("text", "path", "keep", "changed"),
    [
        ("n: {az: a, m: /x} # why\nz: 1\n", ("n",), ("m",), "n: {m: /x, vpc: {id: v}} # why\nz: 1\n"),
        ("s: {n: {}}\n", ("s", "n"), (), "s: {n: {vpc: {id: v}}}\n"),
        ("s:\n  n: 4 TiB   # short\n", ("s", "n"), (), "s:\n  n: {vpc: {id: v}}   # short\n"),
        ("n:\n  a: 1\n  b: |\n    two\n    lines\n", ("n",), (), "n:\n  vpc:\n    id: v\n"),
        ("n:\n  a: {x: 1,\n      y: 2} # c\n  m: 1", ("n",), ("m",), "n:\n  vpc:\n    id: v\n  # c\n  m: 1"),
        ("n:\n  m: 1 # c\n\nz: 1", ("n",), ("m",), "n:\n  m: 1 # c\n  vpc:\n    id: v\n\nz: 1"),
        ("n:\n  m: 1", ("n",), ("m",), "n:\n  m: 1\n  vpc:\n    id: v\n"),
        ("n:\r\n  a: 1\r\n  m: 2\r\n", ("n",), ("m",), "n:\r\n  vpc:\r\n    id: v\r\n  m: 2\r\n"),
    ],
)
def test_other_forms(text: str, path: tuple[str, ...], keep: tuple[str, ...], changed: str):
    assert set_keys(text, path, {"vpc": {"id": "v"}}, keep=keep) == changed


@pytest.mark.parametrize("value", ["12345678", "12345e10", "yes", "null", "a: b", "2y#d", " x"])
def test_a_text_that_yaml_reads_as_something_else_gets_quotes(value: str):
    changed = set_keys("n: {}\n", ("n",), {"mount_name": value})
    assert parse(changed, subject="here").data == {"n": {"mount_name": value}}


def test_all_other_keys_stay_and_new_keys_of_the_file_are_its_last_ones():
    changed = set_keys(BLOCK, ("network",), {"existing": {"vpc": "vpc-1"}}, keep=None)
    assert changed == BLOCK.replace("90 days\n", "90 days\n  existing:\n    vpc: vpc-1\n")
    last = "s:\n  f:\n    size: 1\n    # about f\n# about z\nz: 1\n"
    changed_last = set_keys(last, ("s",), {"key": "arn"}, keep=None)
    assert changed_last == last.replace("# about z", "  key: arn\n# about z")
    again = set_keys(changed, ("network",), {"existing": {"vpc": "vpc-2"}}, keep=None)
    assert again == changed.replace("vpc-1", "vpc-2")
    flow = set_keys("network: {az: usw2-az4}\n", ("network",), {"existing": {"vpc": "vpc-1"}}, keep=None)
    assert flow == "network: {az: usw2-az4, existing: {vpc: vpc-1}}\n"
    assert set_keys("fleet: f", (), {"storage": {"key": "arn"}}, keep=None) == "fleet: f\nstorage:\n  key: arn\n"


@pytest.mark.parametrize("path", [(), ("network",), ("storage", "fsx"), ("clusters",)])
@pytest.mark.parametrize("text", [BLOCK, BLOCK.rstrip()])
def test_new_lines_end_as_the_others(path: tuple[str, ...], text: str):
    entries = {"vpc": {"id": "vpc-1"}}
    changed = set_keys(text.replace("\n", "\r\n"), path, entries, keep=("mount",))
    assert changed == set_keys(text, path, entries, keep=("mount",)).replace("\n", "\r\n")


def test_a_key_is_added_before_the_end_of_the_document():
    changed = set_keys("---\na: 1\n\n...\n# later\n", (), {"storage": {"key": "arn"}})
    assert changed == "---\na: 1\nstorage:\n  key: arn\n...\n# later\n"
    assert set_keys("a:\n  b: 1\n...\n", ("a",), {"c": 2}, keep=None) == "a:\n  b: 1\n  c: 2\n...\n"
    assert set_keys("a: 1", (), {"b": 2}) == "a: 1\nb: 2\n"
