"""Settings of a run: changed only when a step wants another level, and never left half set."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.inventory.target import resolve_target
from drivelab.model.drive import DriveFacts
from drivelab.model.errors import DrivelabError
from drivelab.model.setting import SettingFacts
from drivelab.model.target import TargetFacts
from drivelab.run import applied_settings
from drivelab.run.applied_settings import AppliedSettings
from drivelab.state import undo
from drivelab.state.journal import Journal, begin_journal


class Knob:
    """A made-up setting that is found at 5, takes two changes to set, and refuses 13 after the first of them."""

    name = "knob"
    is_of_host = True

    def __init__(self) -> None:
        self.value = "5"
        self.touched: list[str] = []

    def read(self, drive: DriveFacts | None) -> SettingFacts:
        return SettingFacts("knob", self.value, {"the knob": self.value})

    def set(self, drive: DriveFacts | None, level: str, journal: Journal) -> str:
        for half in (f"half of {level}", level):
            journal.will_change("knob", old=self.value, new=half)
            if half == "13":
                raise DrivelabError("R404", "13 was not taken")
            self.turn(half)
        return level

    def turn(self, level: str) -> None:
        self.value = level
        self.touched.append(level)

    def undo(self, old: str, new: str) -> str:
        self.turn(old)
        return f"back to {old}"


@pytest.fixture
def knob(monkeypatch: pytest.MonkeyPatch) -> Knob:
    made = Knob()
    monkeypatch.setitem(applied_settings.SETTINGS, "knob", made)
    monkeypatch.setitem(undo.UNDO, "knob", made.undo)
    return made


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return begin_journal(tmp_path / "journals")


@pytest.fixture
def target(tmp_path: Path) -> TargetFacts:
    return resolve_target(str(tmp_path))


def test_a_level_is_set_once_and_read_back(knob: Knob, journal: Journal, target: TargetFacts) -> None:
    settings = AppliedSettings(journal)
    assert settings.bring(target, {"knob": "7"})
    assert not settings.bring(target, {"knob": "7"})
    assert knob.touched == ["half of 7", "7"]
    assert settings.achieved(target, {"knob": "7"}) == ({"knob": "7"}, {"knob": {"the knob": "7"}})


def test_another_level_goes_by_way_of_how_it_was_found(knob: Knob, journal: Journal, target: TargetFacts) -> None:
    settings = AppliedSettings(journal)
    settings.bring(target, {"knob": "7"})
    settings.bring(target, {"knob": "8"})
    assert knob.touched == ["half of 7", "7", "half of 7", "5", "half of 8", "8"]
    assert [change.facts["old"] for change in journal.outstanding] == ["half of 8", "5"]


def test_as_found_puts_it_back(knob: Knob, journal: Journal, target: TargetFacts) -> None:
    settings = AppliedSettings(journal)
    assert not settings.bring(target, {"knob": "as-found"})
    settings.bring(target, {"knob": "7"})
    assert settings.bring(target, {"knob": "as-found"})
    assert knob.value == "5"
    assert journal.outstanding == ()
    assert settings.achieved(target, {"knob": "as-found"})[0] == {"knob": "5"}


def test_what_was_half_set_is_put_back_and_may_be_tried_again(
    knob: Knob, journal: Journal, target: TargetFacts
) -> None:
    settings = AppliedSettings(journal)
    settings.bring(target, {"knob": "7"})
    for _ in range(2):
        with pytest.raises(DrivelabError, match="13 was not taken"):
            settings.bring(target, {"knob": "13"})
        assert knob.value == "5"
        assert journal.outstanding == ()
    settings.bring(target, {"knob": "7"})
    assert knob.value == "7"


def test_what_is_not_as_it_was_found_is_told(knob: Knob, journal: Journal, target: TargetFacts) -> None:
    settings = AppliedSettings(journal)
    settings.bring(target, {"knob": "as-found"})
    assert settings.found.is_empty
    settings.bring(target, {"knob": "7"})
    settings.bring(target, {"knob": "8"})
    assert settings.found.differences() == ["knob was 5, and is 8"]
    undo.undo_all(journal)
    assert settings.found.differences() == []
    knob.value = "6"
    assert settings.found.differences() == ["knob was 5, and is 6"]
