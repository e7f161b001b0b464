"""Prices and totals, computed by hand."""

from datetime import date
from decimal import Decimal

import pytest

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.ec2_instances import Price, PriceTable, hours_of_a_month, prices
from llm_fleet.fleet_file.load import load_fleet, parse_fleet
from llm_fleet.needs.fleet_cost import CostLine, FleetCost, cost_of
from tools.synth_environment import ROOT


def price(item: str, usd: str, *, service: str = "ec2", region: str = "us-west-2", unit: str = "hour") -> Price:
    return Price(
        service=service,
        item=item,
        region=region,
        unit=unit,  # type: ignore[arg-type]
        usd=Decimal(usd),
        source="a test",
        read="2026-11-22",
        verified=True,
    )


def lines_of(example: str, table: PriceTable) -> dict[tuple[str, str], CostLine]:
    cost = cost_of(load_fleet(ROOT / "examples" / f"{example}.yaml"), table)
    return {(line.owner, line.what): line for line in cost.lines}


def test_the_cost_of_the_launch_post_is_the_one_computed_by_hand():
    """One controller at 1 $, four workers at 10 $, a gateway and four endpoints, 4,800 GB at 0.146 $ a month."""
    table = PriceTable.of(
        [
            price("ml.m5.xlarge", "1", service="sagemaker-cluster"),
            price("ml.trn1.32xlarge", "10", service="sagemaker-cluster"),
            price("nat-gateway", "0.05", service="network"),
            price("interface-endpoint", "0.01", service="network"),
            price("PERSISTENT_2/SSD/250", "0.146", service="lustre", unit="gb-month"),
        ]
    )
    cost = cost_of(load_fleet(ROOT / "examples" / "hyperpod-trn1.yaml"), table)
    hourly = Decimal(1) + 4 * 10 + Decimal("0.05") + 4 * Decimal("0.01") + 4800 * Decimal("0.146") / 730
    assert hourly == Decimal("42.05")
    assert (cost.hourly_minimum, cost.hourly_maximum) == (hourly, hourly)
    assert (cost.unpriced, cost.of_another_region, cost.unverified) == ((), (), ())


def test_dynamic_and_spot_nodes_cost_from_zero_to_the_maximum():
    lines = lines_of("parallelcluster-full", PriceTable.of([price("c6i.8xlarge", "2")]))
    cpu = lines["small/cpu", "c6i.8xlarge"]
    assert (cpu.hourly_minimum, cpu.hourly_maximum) == (0, 40)
    spot = lines["train/prepare", "c6i.8xlarge or c6a.8xlarge"]
    assert spot.hourly_maximum == 40
    assert "Spot costs less" in spot.note


@pytest.mark.parametrize(
    ("others", "note"),
    [
        ("count: 1\n    max: 3", "2 start at first"),
        ("count: 1", ""),
        ("count: 2", ""),
        ("count: 1\n    max: 3\n    hosts: managed-instances", ""),
    ],
)
def test_a_second_host_at_the_start_is_in_the_note(others: str, note: str):
    """ECS starts two hosts from zero, even if one is enough, if the group can have two."""
    example = (ROOT / "examples" / "inference-inf2.yaml").read_text(encoding="utf-8")
    example = example.replace("s3://my-models/tanuki-8b", "{image: /models/tanuki-8b}").replace(
        "count: 2 ", f"{others} "
    )
    (line,) = (line for line in cost_of(parse_fleet(example), PriceTable()).lines if line.owner == "service chat")
    assert note in line.note
    assert bool(note) == bool(line.note)


@pytest.mark.parametrize(
    ("written", "what", "least", "most"),
    [
        ("{}", "Aurora capacity units", "0.5", "4"),
        ("{standby: true, max_capacity: 8}", "Aurora capacity units", "1", "16"),
        ("{engine: mysql}", "mysql on db.t4g.medium", "1", "1"),
        ("{engine: mariadb, instance: db.r8g.large, standby: true}", "mariadb on db.r8g.large", "2", "2"),
    ],
)
def test_a_database_for_accounting_costs_its_servers(written: str, what: str, least: str, most: str):
    text = f"fleet: post\nregion: us-west-2\nnetwork: {{az: usw2-az4}}\nstorage: {{slurm_database: {written}}}\n"
    (line,) = [line for line in cost_of(parse_fleet(text), PriceTable.of([])).lines if line.services == ("rds",)]
    assert (line.what, line.minimum, line.maximum) == (what, Decimal(least), Decimal(most))


def test_storage_has_a_unit_and_other_items_have_none():
    lines = lines_of("hyperpod-full", PriceTable.of([]))
    assert {line.what: line.unit for line in lines.values() if line.unit} == {
        "second volumes": "GiB",
        "Lustre PERSISTENT_2 SSD, 250 MB/s/TiB": "GiB",
        "OpenZFS SINGLE_AZ_HA_2, storage": "GiB",
        "OpenZFS SINGLE_AZ_HA_2, throughput": "MB/s",
    }


@pytest.mark.parametrize(
    ("zones", "without", "note", "count"),
    [
        ("[usw2-az4]", "", "6 endpoints in 1 AZ", 6),
        ("[usw2-az4, usw2-az2]", "", "6 endpoints in each of 2 AZs", 12),
        (
            "[usw2-az4, usw2-az2]",
            "without_endpoints: {usw2-az2: [sts]}",
            "6 endpoints in 2 AZs, without those of `without_endpoints`",
            11,
        ),
    ],
)
def test_endpoints_are_counted_per_endpoint_and_az(zones: str, without: str, note: str, count: int):
    network = f"{{azs: {zones}, endpoints: [sts, bedrock-runtime], {without}}}"
    text = f"fleet: post\nregion: us-west-2\nnetwork: {network}\n"
    (line,) = [one for one in cost_of(parse_fleet(text), PriceTable()).lines if one.item == "interface-endpoint"]
    assert (line.what, line.note, line.maximum) == ("interface endpoints", note, count)


def test_reservations_cost_nothing_additional():
    lines = lines_of("parallelcluster-full", PriceTable.of([price("p5.48xlarge", "55")]))
    assert lines["train/block", "p5.48xlarge"].hourly_maximum == 0
    assert "capacity block" in lines["train/block", "p5.48xlarge"].note
    assert lines["train/gpu/p5", "p5.48xlarge"].hourly_maximum == 220


def test_unknown_prices_are_reported_and_never_zero():
    cost = cost_of(load_fleet(ROOT / "examples" / "hyperpod-trn1.yaml"), PriceTable())
    assert len(cost.unpriced) == len(cost.lines) == 5
    assert cost.hourly_maximum == 0
    assert all(line.hourly_maximum is None for line in cost.lines)


def test_a_price_of_another_region_is_used_with_a_note():
    here, there = price("trn1.32xlarge", "20"), price("trn1.32xlarge", "10", region="us-east-1")
    assert PriceTable.of([there]).find(("ec2",), "trn1.32xlarge", "us-west-2") == there
    assert PriceTable.of([there, here]).find(("ec2",), "trn1.32xlarge", "us-west-2") == here
    far = price("trn1.32xlarge", "30", region="eu-west-1")
    assert PriceTable.of([far]).find(("ec2",), "trn1.32xlarge", "us-west-2") is None
    line = CostLine(
        owner="o", what="w", services=("ec2",), item="i", minimum=Decimal(1), maximum=Decimal(1), price=there
    )
    assert FleetCost(region="us-west-2", lines=(line,)).of_another_region == (line,)


def test_the_price_of_the_exact_use_has_priority():
    cluster = price("ml.p4d.24xlarge", "25.9", service="sagemaker-cluster")
    anything = price("ml.p4d.24xlarge", "25.2", service="sagemaker")
    table = PriceTable.of([anything, cluster])
    assert table.find(("sagemaker-cluster", "sagemaker"), "ml.p4d.24xlarge", "us-west-2") == cluster
    assert table.find(("sagemaker-training", "sagemaker"), "ml.p4d.24xlarge", "us-west-2") == anything


def test_shipped_prices_have_a_source_and_a_date_and_are_not_zero():
    shipped = prices().prices.values()
    assert len(shipped) > 300
    assert hours_of_a_month() == 730
    for one in shipped:
        assert one.usd > 0
        assert one.source
        assert date.fromisoformat(one.read) <= date(2026, 11, 22)
        assert not one.verified or "aws.amazon.com" in one.source
    used = {group["source"] for group in load("prices")["groups"]}
    assert used == set(load("prices")["sources"])


@pytest.mark.parametrize(
    ("item", "region", "usd"),
    [
        ("trn1.32xlarge", "us-east-1", "21.5"),
        ("inf2.xlarge", "us-east-1", "0.7582"),
        ("m5.xlarge", "us-east-1", "0.192"),
    ],
)
def test_shipped_prices_of_some_instances(item: str, region: str, usd: str):
    assert prices().prices["ec2", item, region].usd == Decimal(usd)


def test_existing_storage_and_an_empty_fleet_cost_nothing():
    fleet = parse_fleet("fleet: x\nregion: us-west-2\nnetwork: none\n")
    assert cost_of(fleet, prices()).lines == ()
