"""Effects as characters: the ratio of each level to its baseline with its interval, on one logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.level_words import with_factor
from drivelab.model.run_answer import LevelEffect, RunAnswer
from drivelab.report.sentences.effect_words import effects_title, level_of_effect_words, ratio_words
from drivelab.report.terminal.clean_text import terminal_text
from drivelab.report.terminal.scale import Glyphs, Scale, TextPlot, axis_lines, glyphs, legend_lines

ROWS_MAX = 24
_AXIS_CELLS_MIN = 20
_LABEL_SHARE_MAX = 0.45
_GAP = 2
# a mark of its own for each verdict, so that nothing hangs on colour
_MARKS = {
    "matters": ("●", "*"),
    "differs": ("◐", "d"),
    "no effect": ("○", "o"),
    "not settled": ("◇", "?"),
    "not judged": ("×", "x"),
}
_LEAST_FACTOR = 1.5


def effects_plot(
    effects: Sequence[LevelEffect], answer: RunAnswer, width: int, *, plain: bool = False
) -> TextPlot | None:
    """The effects of one workload on one target in lines of at most `width` characters; None where none has a ratio."""
    known = [effect for effect in effects if effect.ratio.value]
    if not known:
        return None
    shown = known[:ROWS_MAX]
    labels = [terminal_text(with_factor(one.factor, level_of_effect_words(one, answer)), plain) for one in shown]
    label_width = min(max(map(len, labels)), int(width * _LABEL_SHARE_MAX))
    ratios = [ratio_words(one.ratio.value) for one in shown]
    ratio_width = max(map(len, ratios))
    drawn = glyphs(plain=plain)
    scale = _scale(shown, max(_AXIS_CELLS_MIN, width - label_width - ratio_width - 2 * _GAP))
    gap = " " * _GAP
    lines = []
    for effect, label, ratio in zip(shown, labels, ratios, strict=True):
        name = label if len(label) <= label_width else f"{label[: label_width - 1]}~"
        row = _row(effect, scale, drawn, plain=plain)
        lines.append(f"{name:<{label_width}}{gap}{row}{gap}{ratio:>{ratio_width}}")
    lines += axis_lines(scale, "1", label_width + _GAP, drawn)
    lines += legend_lines(_legend(shown, drawn, "".join(lines), plain=plain), width)
    if len(shown) < len(known):
        lines.append(f"the first {len(shown)} of {len(known)}")
    title = terminal_text(f"{effects_title(shown, answer)}, log axis", plain)
    return TextPlot(title, tuple(line[:width].rstrip() for line in lines))


def _scale(effects: Sequence[LevelEffect], cells: int) -> Scale:
    ends = [1.0]
    for one in effects:
        ends += [end for end in (one.ratio.value, one.ratio.low, one.ratio.high) if end and end > 0]
    low, high = min(ends), max(ends)
    missing = max(1.0, _LEAST_FACTOR / (high / low)) ** 0.5
    room = (high / low * missing**2) ** 0.03
    return Scale(low / missing / room, high * missing * room, cells, "log")


def _row(effect: LevelEffect, scale: Scale, drawn: Glyphs, *, plain: bool) -> str:
    bound = 1 + effect.bound
    row = [" "] * scale.cells
    for place in range(scale.cell(1 / bound), scale.cell(bound) + 1):
        row[place] = ":" if plain else drawn.light
    row[scale.cell(1.0)] = drawn.upright
    ratio = effect.ratio
    if ratio.low and ratio.high:
        first, last = scale.cell(ratio.low), scale.cell(ratio.high)
        if last - first > 1:
            row[first : last + 1] = drawn.interval(last + 1 - first)
    row[scale.cell(ratio.value or 1.0)] = _MARKS[effect.verdict][plain]
    return "".join(row)


def _legend(effects: Sequence[LevelEffect], drawn: Glyphs, rows: str, *, plain: bool) -> list[str]:
    bound = f"{100 * effects[0].bound:.0f} %"
    words = {"no effect": f"no effect of {bound} or more", "differs": f"differs, perhaps by less than {bound}"}
    verdicts = dict.fromkeys(effect.verdict for effect in effects)
    named = [f"{_MARKS[verdict][plain]} {words.get(verdict, verdict)}" for verdict in verdicts]
    named.append(f"{':' if plain else drawn.light} less than {bound}")
    if drawn.line in rows:
        named.append(f"{drawn.interval(3)} 95 % interval")
    return named
