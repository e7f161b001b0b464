"""The remedy of an error is what to write: the value that is allowed there, as the file writes it."""

import pytest

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError, Problem
from tests.fleet_file.good_fleet import edited

FSX = "size: 4800 GiB, throughput: 250 MB/s/TiB"
NETWORK = "network: {az: usw2-az4, compute_cidr: 10.1.0.0/23}"
LARGE = (NETWORK, "network: {az: usw2-az4}")
TEXTS: dict[str, tuple[tuple[str, ...], str, str, str, str]] = {
    "a throughput as EBS counts": (
        ("250 MB/s/TiB", "250 MiB/s"),
        "LF115",
        "MiB/s is not a unit of a throughput here",
        "a number and one of MB/s/TiB, MB/s, GB/s, e.g. `250 MB/s/TiB`",
        "write e.g. `250 MB/s/TiB`",
    ),
    "a throughput of the whole file system": (
        ("250 MB/s/TiB", "250 MB/s"),
        "LF303",
        "the throughput of a PERSISTENT_2 file system (the default deployment type) cannot be set for the whole file "
        "system",
        "125, 250, 500 or 1000 MB/s/TiB",
        "write it per TiB, e.g. `250 MB/s/TiB`",
    ),
    "a size that the default deployment type does not support": (
        ("4800 GiB", "1000 GiB"),
        "LF302",
        "a PERSISTENT_2 file system (the default deployment type) cannot have 1000 GiB",
        "1200 GiB and multiples of 2400 GiB",
        "write 1200 GiB",
    ),
    "a size that a deployment type of the file does not support": (
        ("size: 4800 GiB", "deployment: PERSISTENT_2, size: 1000 GiB"),
        "LF302",
        "a PERSISTENT_2 file system cannot have 1000 GiB",
        "1200 GiB and multiples of 2400 GiB",
        "write 1200 GiB",
    ),
    "backups for too long": (
        (FSX, f"{FSX}, backups: {{keep: 200 days}}"),
        "LF308",
        "the retention of backups must be at most 90 days",
        "0 days to 90 days",
        "write `90 days`",
    ),
    "a required key without a value": (
        (NETWORK, "network:"),
        "LF112",
        "the value is missing",
        "",
        "write a value, e.g. `network: {az: usw2-az4}`",
    ),
    "a kind without a value": (
        ("kind: hyperpod", "kind:"),
        "LF112",
        "the value is missing",
        "",
        "write a value, e.g. `kind: hyperpod`",
    ),
    "a list item without a value": (
        ("kind: hyperpod", "kind: hyperpod\n    reads: [~]"),
        "LF112",
        "the value is missing",
        "",
        "write a value, or remove it",
    ),
    "a file system without a network": (
        (NETWORK, "network: none"),
        "LF529",
        "FSx for Lustre is in a VPC and the cluster is not, so its nodes cannot reach the file system",
        "",
        "write `network: {az: usw2-az4}`, or remove `storage.fsx`",
    ),
    "a thousands separator in braces": (
        ("4800 GiB", "2,400 GiB"),
        "LF115",
        "a number cannot have a comma: in braces it begins the next key",
        "",
        "write numbers without a thousands separator: `2400 GiB`",
    ),
    "two thousands separators in braces": (
        ("4800 GiB", "1,200,000 GiB"),
        "LF115",
        "a number cannot have a comma: in braces it begins the next key",
        "",
        "write numbers without a thousands separator: `1200000 GiB`",
    ),
    "a negative count": (
        ("count: 4", "count: -2"),
        "LF518",
        "the count must be at least 0",
        "0 to 6758 (HyperPod's CreateCluster API)",
        "write a whole number, e.g. `2`",
    ),
    "a count that is too large": (
        ("count: 4", "count: 9999"),
        "LF518",
        "the count must be at most 6758",
        "0 to 6758 (HyperPod's CreateCluster API)",
        "write `6758` or less",
    ),
    "a number in quotes": (
        ("count: 4", "count: '2'"),
        "LF113",
        "`count` must be a whole number, but is text",
        "",
        "write `2` without quotes",
    ),
    "a switch in quotes": (
        (FSX, f"{FSX}, efa: 'true'"),
        "LF113",
        "`efa` must be true or false, but is text",
        "",
        "write `true` without quotes",
    ),
}


def problems(*edits: str) -> tuple[Problem, ...]:
    with pytest.raises(FleetError) as caught:
        parse_fleet(edited(*edits))
    return caught.value.problems


@pytest.mark.parametrize(("edits", "code", "message", "allowed", "remedy"), TEXTS.values(), ids=list(TEXTS))
def test_the_text_of_an_error(edits: tuple[str, ...], code: str, message: str, allowed: str, remedy: str) -> None:
    (found,) = problems(*edits)
    assert (found.code.value, found.message, found.allowed, found.remedy) == (code, message, allowed, remedy)


def test_the_value_is_shown_as_the_file_has_it() -> None:
    (found,) = problems("250 MB/s/TiB", "4 GB/s")
    assert found.value == "4 GB/s"
    (found,) = problems("4800 GiB", "2,400 GiB")
    assert found.value == "2,400 GiB"


def test_a_file_system_that_needs_most_addresses_must_be_smaller() -> None:
    remedies = {each.code.value: each.remedy for each in problems(*LARGE, "4800 GiB", "24000000 TiB")}
    assert remedies["LF220"] == "write a smaller `storage.fsx.size`: a subnet is at most a /16"
    assert remedies["LF221"].startswith("write a smaller `storage.fsx.size`, or request an increase")
    (quota,) = problems(*LARGE, "4800 GiB", "240000 TiB")
    assert quota.remedy.startswith("write a smaller `storage.fsx.size`, or request an increase")
    remedies = {each.code.value: each.remedy for each in problems("4800 GiB", "240000 TiB")}
    assert remedies["LF220"].startswith("set compute_cidr to a /16 or larger, or write a smaller `storage.fsx.size`")


def test_a_small_file_system_is_not_the_cause() -> None:
    (found,) = problems("compute_cidr: 10.1.0.0/23", "compute_cidr: 10.1.0.0/26")
    assert found.remedy.startswith("set compute_cidr to a /25 or larger: usw2-az4")
