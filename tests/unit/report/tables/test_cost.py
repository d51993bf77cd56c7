"""What capacity and speed cost: prices as people write them, and the table of them."""

from __future__ import annotations

import pytest

from drivelab.answers.prices import with_prices
from drivelab.model.errors import DrivelabError
from drivelab.model.estimate import Estimate
from drivelab.model.price import Price, parse_price, parse_priced
from drivelab.model.result_set import MeasuredDrive, Observation, ResultSet
from drivelab.report.tables.cost import cost


def rate(drive: str, workload: str, per_s: float, *, is_durable: bool = False, **levels: str) -> Observation:
    estimate = Estimate(per_s, per_s, per_s, "1/s", 3, 3.0, "made up")
    operation = "write" if is_durable else "read"
    return Observation(
        drive, "host", workload, workload, operation, "iops", estimate, levels=levels, is_durable=is_durable
    )


SETS = (
    ResultSet(
        key="run",
        title="",
        question="",
        source="",
        drives=(
            MeasuredDrive("fast", serial="F1", capacity_bytes=32 * 10**9),
            MeasuredDrive("big", serial="B1", capacity_bytes=750 * 10**9),
        ),
        observations=(
            rate("fast", "seeks", 6200, filesystem="ext3"),
            rate("fast", "seeks", 3800, filesystem="xfs"),
            rate("fast", "log", 500, is_durable=True),
            rate("big", "seeks", 130),
        ),
    ),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$500", Price(500, "USD")),
        ("129.90 EUR", Price(129.9, "EUR")),
        ("12€", Price(12, "EUR")),
        ("7", Price(7)),
        ("99.5usd", Price(99.5, "USD")),
    ],
)
def test_prices_are_read_as_people_write_them(text: str, expected: Price) -> None:
    assert parse_price(text) == expected
    assert parse_price(str(expected)) == expected


@pytest.mark.provokes("U015")
@pytest.mark.parametrize("text", ["", "0", "-5EUR", "$5EUR", "cheap", "5 EURO", "1,50EUR", "inf"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(DrivelabError, match="U015"):
        parse_price(text)


@pytest.mark.provokes("U015")
def test_a_price_says_of_what() -> None:
    assert parse_priced("a=b=5EUR") == ("a=b", Price(5, "EUR"))
    with pytest.raises(DrivelabError, match="U015"):
        parse_priced("5EUR")


@pytest.mark.provokes("U016")
def test_a_price_for_a_drive_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(DrivelabError) as refused:
        with_prices(SETS, {"other": Price(5)})
    assert (refused.value.code, refused.value.do) == ("U016", "choose: F1, B1")


def test_without_a_price_there_is_no_table() -> None:
    assert cost(SETS) is None


def test_the_fastest_combination_of_each_workload_counts() -> None:
    table = cost(with_prices(SETS, {"F1": Price(500, "USD"), "big": Price(130, "USD")}))
    assert table is not None
    assert table.columns[1].full == "price [USD]"
    rows = {(row[0], row[5]): row for row in table.plain().rows}
    seeks = rows["fast", "seeks"]
    assert seeks[4] == pytest.approx(500 / 32)
    assert (seeks[6], seeks[7], seeks[8], seeks[9]) == ("ext3", 6200, pytest.approx(500 / 6200), None)
    assert rows["fast", "log"][9] == pytest.approx(1.0)
    assert rows["big", "seeks"][4] == pytest.approx(130 / 750)
    shown = [cell.text for cell in table.rows[0]]
    assert (shown[1], shown[7]) == ("500.00", "80.6")


def test_two_currencies_stand_beside_their_amounts() -> None:
    table = cost(with_prices(SETS, {"fast": Price(500, "USD"), "big": Price(130, "EUR")}))
    assert table is not None
    assert {row[1].text for row in table.rows} == {"500 USD", "130 EUR"}
