"""Which rows of a table are shown where there is room for some of them."""

from __future__ import annotations

from itertools import product

from drivelab.report.terminal.shown_rows import shown_places


def test_no_row_is_left_out_for_the_line_that_says_so() -> None:
    def of(count: int, *more: int) -> list[int]:
        return shown_places([{}] * count, *more)

    assert [of(count, 2) for count in (2, 3, 5)] == [[0, 1], [0, 1, 2], [0, 4]]
    assert of(7, 4) == [0, 3, 6]
    assert of(9, 6, 3) == [0, 1, 2, 3, 8]
    assert of(9, 3, 3) == [0, 8]


def test_rows_that_have_room_are_those_of_whole_curves() -> None:
    rows = [
        {"size": size, "shift": shift, "cache": cache} for size, shift, cache in product("abcde", "01", ("on", "off"))
    ]
    # the sizes, at the first levels of the others; then what one other factor changes
    assert shown_places(rows, 7) == [0, 4, 8, 12, 16]
    assert shown_places(rows, 14) == [0, 1, 4, 5, 8, 9, 12, 13, 16, 17]
    assert shown_places(rows, 4) == [0, 8, 16]
    # on the screen of two drives no row of the curve that is told is missing
    assert len(shown_places(rows, 20)) == 20
