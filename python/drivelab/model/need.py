"""What a program needs from the storage beneath it, in numbers that somebody published.

A need is a TOML file; the names of the fields of `Need`, `AskedLimit` and `Capability` are its keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema, field_validator, model_validator

from drivelab.model.errors import DrivelabError
from drivelab.model.factor import Name
from drivelab.model.frozen import FrozenModel
from drivelab.model.metric import metric_of
from drivelab.model.programs import PROGRAMS
from drivelab.model.units import parse_bytes, parse_duration_ns
from drivelab.model.verdict import Force, Threshold
from drivelab.model.workload_keys import broken_rule

Metric = Literal[
    "total_latency_ns_mean",
    "total_latency_ns_p50",
    "total_latency_ns_p90",
    "total_latency_ns_p99",
    "total_latency_ns_p999",
    "total_latency_ns_p9999",
    "iops",
    "throughput_bytes_per_s",
]
_LIMIT_SCHEMA = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*((ns|us|ms|s|min|h)|(k|M|G|T|Ki|Mi|Gi|Ti)?B/s)\s*$"},
    ]
}


def _with_one_place(text: str) -> str:
    if text.count("{value}") != 1 or set("{}") & set(text.replace("{value}", "")):
        raise ValueError("the number goes to {value}, once, and there are no other braces")
    return text


Told = Annotated[str, AfterValidator(_with_one_place)]
Source = Annotated[str, Field(min_length=1)]


class AskedLimit(FrozenModel):
    """A threshold as a need's file has it; the metric tells its unit, and whether more is better."""

    trial: Name
    metric: Metric
    limit: Annotated[float, Field(gt=0, allow_inf_nan=False), WithJsonSchema(_LIMIT_SCHEMA)]
    source: Source
    text: Told | None = None
    force: Force = "required"
    asked_less: str = ""
    easier_trial: Name | None = None

    @field_validator("limit", mode="before")
    @classmethod
    def _in_unit(cls, value: object, info: ValidationInfo) -> object:
        if "metric" not in info.data:
            # which is told already
            return 1
        unit = metric_of(info.data["metric"]).unit
        if unit == "1/s":
            return value
        try:
            if unit == "ns" and isinstance(value, str):
                return parse_duration_ns(value)
            if unit == "B/s" and isinstance(value, str) and value.rstrip().endswith("/s"):
                return parse_bytes(value.rstrip().removesuffix("/s"))
        except DrivelabError as error:
            raise ValueError(f"{error.what}; {error.do}") from error
        raise ValueError(f'write it with its unit, in quotes: "{"10ms" if unit == "ns" else "250MB/s"}"')

    @property
    def threshold(self) -> Threshold:
        """The same as it is judged."""
        metric = metric_of(self.metric)
        words = "rate" if metric.quantity == "rate" else metric.title
        return Threshold(
            self.trial,
            metric.name,
            "at_least" if metric.better == "high" else "at_most",
            self.limit,
            metric.unit,
            self.text or f"the {words} of {self.trial} was {{value}}",
            self.force,
            self.source,
            self.asked_less,
            self.easier_trial or "",
        )


class Capability(FrozenModel):
    """What a measured number means to a program that publishes no limit; the first of its trials that ran is taken."""

    trials: tuple[Name, ...] = Field(min_length=1)
    metric: Metric
    text: Told


class Need(FrozenModel):
    """A program with what it asks of the storage.

    `program` is that of `drivelab.model.programs` whose commits are forecast. A need
    with `only_by_name` is judged when somebody asks for it, and not beside all others.
    `aliases` are other names of it, with what it is called when it is asked for by them.
    """

    format: Literal[1]
    name: Name
    title: str = Field(default_factory=lambda known: str(known.get("name", "")))
    aliases: Mapping[Name, str] = Field(default_factory=dict)
    text: str = ""
    remark: str = ""
    program: str = ""
    only_by_name: bool = False
    thresholds: tuple[AskedLimit, ...] = ()
    capability: Capability | None = None

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if self.program and self.program not in PROGRAMS:
            raise broken_rule(f"there is no program {self.program}, only {', '.join(PROGRAMS)}", "program")
        if not (self.thresholds or self.capability or self.program):
            raise broken_rule("it asks for nothing", do="add [[thresholds]]: trial, metric, limit, source")
        if self.thresholds and all(one.force == "recommended" for one in self.thresholds):
            raise broken_rule("one threshold must be required: it decides", "thresholds")
        return self
