"""Arithmetic in values: ``(4 * 1024)``, ``2 * $ncpus``."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)\s*([A-Za-z]*)|([-+*/%^()]))", re.ASCII)
_CHARACTERS_MAX = 1000
_DEPTH_MAX = 50
_EXPONENT_MAX = 64
_VALUE_MAX = 2**70

_Unit = Callable[[str], Fraction]


class ArithmeticMistake(Exception):
    """An expression that has no value; the text says why."""


def evaluated(text: str, *, unit: _Unit | None = None, whole: bool = False) -> Fraction:
    """Value of an expression of numbers, ``+ - * / % ^`` and parentheses.

    Parameters
    ----------
    text : str
        The expression.
    unit : callable, optional
        Factor of a suffix of a number, such as the k of 4k; without it there are none.
    whole : bool
        Whether a division leaves its remainder out.

    Raises
    ------
    ArithmeticMistake
        It is none, divides by zero, or is too large.
    """
    return _Expression(_tokens(text, unit), whole).value()


def _tokens(text: str, unit: _Unit | None) -> list[Fraction | str]:
    if len(text) > _CHARACTERS_MAX:
        raise ArithmeticMistake("the expression is too long")
    found: list[Fraction | str] = []
    place, end = 0, len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None:
            raise ArithmeticMistake(f"'{text[place : place + 10].strip()}' is neither a number nor an operator")
        if match[3]:
            found.append(match[3])
        else:
            if match[2] and unit is None:
                raise ArithmeticMistake(f"a number with {match[2]} after it")
            found.append(Fraction(match[1]) * (unit(match[2]) if unit else 1))
        place = match.end()
    return found


class _Expression:
    """A descent through sums, products, powers and parentheses, bounded in depth and size."""

    def __init__(self, tokens: list[Fraction | str], whole: bool) -> None:
        self._tokens = tokens
        self._place = 0
        self._whole = whole
        self._depth = 0

    def value(self) -> Fraction:
        value = self._sum()
        if self._place < len(self._tokens):
            raise ArithmeticMistake(f"'{self._tokens[self._place]}' is one too many")
        return value

    def _next_is(self, *operators: str) -> str:
        token = self._tokens[self._place] if self._place < len(self._tokens) else ""
        if isinstance(token, str) and token in operators:
            self._place += 1
            return token
        return ""

    def _sum(self) -> Fraction:
        value = self._product()
        while operator := self._next_is("+", "-"):
            other = self._product()
            value = self._bounded(value + other if operator == "+" else value - other)
        return value

    def _product(self) -> Fraction:
        value = self._power()
        while operator := self._next_is("*", "/", "%"):
            other = self._power()
            if operator == "*":
                value = self._bounded(value * other)
            elif other == 0:
                raise ArithmeticMistake("a division by zero")
            elif operator == "%":
                value %= other
            else:
                value = Fraction(int(value / other)) if self._whole else value / other
        return value

    def _power(self) -> Fraction:
        value = self._sign()
        if self._next_is("^"):
            exponent = self._sign()
            if exponent.denominator != 1 or not 0 <= exponent <= _EXPONENT_MAX:
                raise ArithmeticMistake(f"a power above {_EXPONENT_MAX}, below 0, or broken")
            value = self._bounded(value ** int(exponent))
        return value

    def _sign(self) -> Fraction:
        negative = False
        while operator := self._next_is("-", "+"):
            negative ^= operator == "-"
        value = self._operand()
        return -value if negative else value

    def _operand(self) -> Fraction:
        if self._next_is("("):
            self._depth += 1
            if self._depth > _DEPTH_MAX:
                raise ArithmeticMistake("too many parentheses")
            value = self._sum()
            if not self._next_is(")"):
                raise ArithmeticMistake("a parenthesis is not closed")
            self._depth -= 1
            return value
        token = self._tokens[self._place] if self._place < len(self._tokens) else ""
        if isinstance(token, str):
            raise ArithmeticMistake(f"a number is missing before '{token}'" if token else "a number is missing")
        self._place += 1
        return token

    @staticmethod
    def _bounded(value: Fraction) -> Fraction:
        if abs(value.numerator) > _VALUE_MAX or value.denominator > _VALUE_MAX:
            raise ArithmeticMistake("the value is too large")
        return value
