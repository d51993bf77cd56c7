"""What hosts put back is told, and where nothing was left that is."""

from __future__ import annotations

from drivelab.cli.fleet_restore import _lines, _put_back


def test_where_nothing_was_left_nothing_is_said_to_have_been_put_back() -> None:
    document = {"restored": [{"journal": "j", "command": "drivelab run x", "done": []}]}
    assert _put_back(document) == _put_back({}) == []
    assert list(_lines({"fir": [], "oak": []}, {})) == ["nothing was left on 2 hosts"]


def test_what_was_put_back_is_told_of_each_host_and_why_another_could_not() -> None:
    document = {"restored": [{"journal": "j", "command": "", "done": ["scheduler of sda: none", "unmounted /mnt"]}]}
    assert list(_lines({"fir": _put_back(document), "oak": []}, {"elm": "it has left"})) == [
        "1 host put back what was left",
        "nothing was left on 1 host",
        "- fir: scheduler of sda: none; unmounted /mnt",
        "- elm: it has left",
    ]
    assert list(_lines({}, {"elm": "it has left"})) == ["- elm: it has left"]
