"""A level is written in one way only, and a drive says which of them it can have."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import pytest

from drivelab.model.setting import AS_FOUND, SETTING_NAMES, SettingFacts, canonical_level


@pytest.mark.parametrize(
    ("name", "text", "level"),
    [
        ("write-cache", "on", "on"),
        ("kernel-write-cache", " write  back ", "write back"),
        ("scheduler", "mq-deadline", "mq-deadline"),
        ("nr-requests", "0128", "128"),
        ("device-queue-depth", "1", "1"),
        ("read-ahead", "0", "0"),
        ("read-ahead", "128KiB", "131072"),
        ("read-ahead", "131072", "131072"),
        ("max-sectors", "1MiB", "1048576"),
        ("write-back-throttling", "2ms", "2000000"),
        ("write-back-throttling", "75000us", "75000000"),
        ("write-back-throttling", "0", "off"),
        ("write-back-throttling", "off", "off"),
        ("apm", "254", "254"),
        ("apm", "255", "off"),
        ("link-power", "med_power_with_dipm", "med_power_with_dipm"),
        ("apst", "off", "off"),
        ("governor", "performance", "performance"),
        ("cpu-dma-latency", "10", "10"),
        ("cpu-dma-latency", "1ms", "1000"),
        ("cpu-dma-latency", "0", "0"),
        ("cpu-dma-latency", "unlimited", "unlimited"),
    ],
)
def test_a_level_has_one_spelling(name: str, text: str, level: str) -> None:
    assert canonical_level(name, text) == level
    assert canonical_level(name, level) == level


@pytest.mark.parametrize("name", SETTING_NAMES)
def test_every_setting_can_be_left_as_it_was_found(name: str) -> None:
    assert canonical_level(name, AS_FOUND) == AS_FOUND


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("write-cache", "1", "can be on, off, as-found"),
        ("kernel-write-cache", "none", "can be write back, write through"),
        ("scheduler", "; reboot", "a name as the kernel lists them"),
        ("nr-requests", "0", "at least 1"),
        ("nr-requests", "64.5", "whole number"),
        ("nr-requests", "²", "whole number"),
        ("read-ahead", "128k", "write 128KiB"),
        ("max-sectors", "4097", "whole KiB"),
        ("write-back-throttling", "1500ns", "whole microseconds"),
        ("write-back-throttling", "soon", "nor is it 'off'"),
        ("apm", "0", "1 (saves most) to 254"),
        ("apm", "256", "1 (saves most) to 254"),
        ("link-power", "keep_firmware_settings", "max_performance"),
        ("cpu-dma-latency", "100ns", "whole microseconds"),
        ("cpu-dma-latency", "2147483648", "below 2^31"),
    ],
)
def test_what_is_no_level_is_refused_with_what_would_be(name: str, text: str, why: str) -> None:
    with pytest.raises(ValueError, match=name) as refusal:
        canonical_level(name, text)
    assert why in str(refusal.value)


@hypothesis.given(name=st.sampled_from(SETTING_NAMES), text=st.text(max_size=20))
def test_any_text_is_a_level_with_one_spelling_or_refused(name: str, text: str) -> None:
    try:
        level = canonical_level(name, text)
    except ValueError:
        return
    assert canonical_level(name, level) == level


def test_a_drive_refuses_what_it_cannot_have() -> None:
    scheduler = SettingFacts("scheduler", "none", levels=("none", "mq-deadline"))
    assert scheduler.refusal("mq-deadline") == ""
    assert scheduler.refusal("bfq") == "it can be none, mq-deadline"
    throttling = SettingFacts("write-back-throttling", "off", levels=("off",), minimum=1000)
    assert throttling.refusal("off") == throttling.refusal("2000") == ""
    assert throttling.refusal("999") == "the least it takes is 1000"
    assert throttling.refusal("soon") == "it can be off, a whole number"
    depth = SettingFacts("device-queue-depth", "31", minimum=1, maximum=32)
    assert depth.refusal("33") == "the most it takes is 32"
    assert SettingFacts("scheduler").refusal("anything") == "", "nobody knows"
    absent = SettingFacts("apm", reason="a loop device has none")
    assert absent.refusal("off") == "a loop device has none"
    assert absent.refusal(AS_FOUND) == ""
