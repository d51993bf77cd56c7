"""Loads models of simulated drives: the built-in ones by name, a user's own by path."""

from __future__ import annotations

from importlib import resources

from pydantic import ValidationError

from drivelab.experiments.load import document_of, looks_like_path, text_of
from drivelab.experiments.mistakes import Tables, mistake_in
from drivelab.model.errors import DrivelabError
from drivelab.model.names import did_you_mean
from drivelab.model.simulated import ByteLimit, Cache, Disk, Errors, Flash, IoLimit, SimulatedModel, Throttling

PREFIX = "sim:"
_TABLES: Tables = {
    (): SimulatedModel,
    ("cache",): Cache,
    ("io_limit",): IoLimit,
    ("byte_limit",): ByteLimit,
    ("throttling",): Throttling,
    ("errors",): Errors,
    ("flash",): Flash,
    ("disk",): Disk,
}


def model_names() -> list[str]:
    """Names of the models that come with drivelab."""
    files = (file.name for file in resources.files("drivelab.simulated").iterdir())
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


def load_model(text: str) -> SimulatedModel:
    """The model that a target names.

    Parameters
    ----------
    text : str
        ``sim:NAME``, or ``sim:PATH`` of a TOML file; what holds a slash or ends in ``.toml`` is a path.

    Raises
    ------
    DrivelabError
        T106: no such model. P702: not TOML. P703: a key is wrong; the error names file, line and key.
    """
    name = text.removeprefix(PREFIX)
    if looks_like_path(name):
        return _parsed(text_of(name, code="T106"), name)
    names = model_names()
    if name not in names:
        do = f"{did_you_mean(name, names)} choose one of: {', '.join(names)}, or name a file: sim:./DRIVE.toml"
        raise DrivelabError("T106", f"'{name}' is no simulated drive", where=text, do=do.lstrip())
    file = f"{name}.toml"
    return _parsed((resources.files("drivelab.simulated") / file).read_text(encoding="utf-8"), file)


def _parsed(text: str, file: str) -> SimulatedModel:
    document = document_of(text, file)
    try:
        model = SimulatedModel.model_validate(document)
    except ValidationError as error:
        raise mistake_in(document, error, text=text, file=file, tables=_TABLES) from error
    if (model.flash is None) == (model.disk is None):
        raise DrivelabError("P703", "a drive has either flash or a disk", where=file, do="write one of the two tables")
    return model
