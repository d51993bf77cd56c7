"""Tags: what a user says of a run."""

from __future__ import annotations

import pytest

from drivelab.model.errors import DrivelabError
from drivelab.model.tags import KNOWN_OF_RUNS, parse_tags


def test_tags_keep_their_order_and_may_be_repeated() -> None:
    typed = ["rack=r07", "delivery = 2026-10", "note=a=b c", "rack=r07"]
    assert parse_tags(typed) == {"rack": "r07", "delivery": "2026-10", "note": "a=b c"}
    assert parse_tags([]) == {}


@pytest.mark.provokes("U051")
@pytest.mark.parametrize(
    ("typed", "what"),
    [
        ("rack", "'rack' is no key with a value"),
        ("rack=", "'rack=' is no key with a value"),
        ("=r07", "'' is no key: up to 64"),
        ("7=r07", "'7' is no key: up to 64"),
        ("ra ck=r07", "'ra ck' is no key"),
        ("r" * 65 + "=1", "is no key"),
        ("note=" + "x" * 201, "the value of note is longer"),
        ("note=\x1b[2J", "the value of note is longer than 200 characters, or cannot be printed"),
        *((f"{key}=x", f"a run knows its {key} without being told") for key in KNOWN_OF_RUNS),
    ],
)
def test_what_is_no_tag_is_told(typed: str, what: str) -> None:
    with pytest.raises(DrivelabError, match=f"U051.*{what}".replace("(", r"\(")) as error:
        parse_tags([typed])
    assert "\x1b" not in str(error.value)


@pytest.mark.provokes("U051")
def test_one_key_has_one_value() -> None:
    with pytest.raises(DrivelabError, match="rack is given twice: r07 and r08"):
        parse_tags(["rack=r07", "rack=r08"])
