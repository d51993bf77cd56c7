"""What a drive costs, so that its numbers can be weighed against its price."""

from __future__ import annotations

import re
from dataclasses import dataclass

from drivelab.model.errors import DrivelabError

_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
_AMOUNT = re.compile(r"(?P<sign>[$€£¥]?)\s*(?P<amount>\d{1,9}(\.\d{1,2})?)\s*(?P<currency>[A-Za-z]{3}|[$€£¥]|)")


@dataclass(frozen=True, slots=True)
class Price:
    """An amount of money.

    Attributes
    ----------
    amount : float
        In whole units of the currency; above 0.
    currency : str
        Three letters (``EUR``); empty when it was not told.
    """

    amount: float
    currency: str = ""

    def __str__(self) -> str:
        """The amount and its currency: ``129.90 EUR``."""
        return f"{self.amount:.2f} {self.currency}".removesuffix(" ").replace(".00", "")


def parse_price(text: str) -> Price:
    """A price as people write it: ``129.90 EUR``, ``$500``, ``500``.

    Raises
    ------
    DrivelabError
        U015: it is not an amount above 0.
    """
    match = _AMOUNT.fullmatch(text.strip())
    written = [match["sign"], match["currency"]] if match else []
    if match is None or all(written) or not float(match["amount"]):
        raise DrivelabError("U015", f"'{text}' is not a price", where="--price")
    currency = "".join(written)
    return Price(float(match["amount"]), _SIGNS.get(currency, currency.upper()))


def parse_priced(text: str) -> tuple[str, Price]:
    """What ``--price`` takes: a name and its price, ``SERIAL=129.90EUR``.

    Raises
    ------
    DrivelabError
        U015: it has no name, or its amount is none.
    """
    name, equals, amount = text.rpartition("=")
    if not equals or not name.strip():
        raise DrivelabError("U015", f"'{text}' does not say what costs that", where="--price")
    return name.strip(), parse_price(amount)
