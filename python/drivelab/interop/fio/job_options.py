"""The options of one job by name, and the notes about them that are gathered meanwhile."""

from __future__ import annotations

from functools import cache
from typing import Any

from drivelab.interop.fio.job_file import Job, Setting, unknown_option_advice
from drivelab.interop.fio.options import BY_NAME
from drivelab.interop.fio.sizes import Amount
from drivelab.interop.fio.translated import EFFECTS, Effect, OptionNote
from drivelab.interop.fio.values import Choice, PerDirection, Value, parse_value
from drivelab.model.errors import DrivelabError

_OFF = ("none", "0", "")


@cache
def default_of(name: str) -> Value | None:
    """What fio takes when an option is not written; None if it has none."""
    option = BY_NAME[name]
    if option.kind == "flag":
        return False
    return parse_value(option, option.default)[0] if option.default else None


class JobOptions:
    """What one job asks for.

    Parameters
    ----------
    job : Job
        The job, as it was read.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self._told: dict[str, tuple[Effect, str]] = {}
        self._of_defaults: list[OptionNote] = []

    def has(self, name: str) -> bool:
        """Whether the option was written."""
        return name in self.job.settings

    def value(self, name: str) -> Value | None:
        """Value of an option: as written, or fio's default; None if there is neither."""
        setting = self.job.settings.get(name)
        return setting.value if setting else default_of(name)

    def truth(self, name: str) -> bool:
        """Value of a flag or Boolean."""
        return self.value(name) is True

    def text(self, name: str) -> str:
        """Value of a text; "" if there is none."""
        value = self.value(name)
        return value if isinstance(value, str) else ""

    def choice(self, name: str) -> Choice:
        """Value of a choice."""
        value = self.value(name)
        return value if isinstance(value, Choice) else Choice("")

    def amount(self, name: str) -> Amount | None:
        """Value of a number, size or duration; None if there is none."""
        value = self.value(name)
        return value if isinstance(value, Amount) else None

    def number(self, name: str) -> int:
        """Value of a number or duration (us); 0 if there is none."""
        amount = self.amount(name)
        return amount.value if amount else 0

    def amounts(self, name: str) -> PerDirection[Any]:
        """Values for each direction."""
        found: PerDirection[Any] = PerDirection()
        value = self.value(name)
        return value if isinstance(value, PerDirection) else found

    def last_of(self, *names: str) -> Setting | None:
        """The one of these options that was written last."""
        return next((setting for setting in reversed(self.job.written) if setting.option in names), None)

    def tell(self, name: str, effect: Effect, what: str) -> None:
        """Say what becomes of an option; what is told first stays unless the later is worse."""
        if not self.has(name):
            if EFFECTS.index(effect) > 0:
                self._tell_of_default(name, effect, what)
            return
        known = self._told.get(name)
        if known is None or EFFECTS.index(effect) >= EFFECTS.index(known[0]):
            self._told[name] = (effect, what)

    def _tell_of_default(self, name: str, effect: Effect, what: str) -> None:
        note = OptionNote(name, BY_NAME[name].default, 0, effect, what, self.job.place.path)
        if note not in self._of_defaults:
            self._of_defaults.append(note)

    def refuse(self, name: str, what: str, *, code: str = "U035", do: str = "") -> DrivelabError:
        """The error that says why a job cannot be translated, at the line of an option."""
        setting = self.job.settings.get(name)
        place = setting.place if setting else self.job.place
        return DrivelabError(code, f"[{self.job.name}] {what}", where=str(place), do=do)

    def notes(self) -> tuple[OptionNote, ...]:
        """What became of each option that holds, in the order in which they were written; then of defaults."""
        found = [self._note(setting) for setting in self.job.settings.values()]
        return (*sorted(found, key=lambda note: (note.path, note.line)), *self._of_defaults)

    def _note(self, setting: Setting) -> OptionNote:
        effect, what = self._effect_of(setting)
        return OptionNote(setting.option, setting.text, setting.place.line, effect, what, setting.place.path)

    def _effect_of(self, setting: Setting) -> tuple[Effect, str]:
        if setting.option in self._told:
            return self._told[setting.option]
        option = BY_NAME.get(setting.option)
        if option is None:
            return "unknown", unknown_option_advice(setting.option)
        if setting.option == "name" and setting.is_shared:
            return "noted", "each job is called as its section is, as in fio"
        engine = self.text("ioengine").partition(":")[0]
        if option.engines and engine not in option.engines:
            return "noted", f"belongs to {', '.join(option.engines)}; fio refuses it with {engine}"
        if option.effect not in ("honoured", "noted") and _is_default(setting):
            return "honoured", "as fio does without it"
        return option.effect, option.what


def _is_default(setting: Setting) -> bool:
    value, default = setting.value, default_of(setting.option)
    if isinstance(value, Choice) and isinstance(default, Choice):
        return value == default or {value.word, default.word} <= set(_OFF)
    if default is None:
        # unset and switched off are the same
        return value is False or (isinstance(value, Amount) and value.value == 0)
    return value == default
