"""What Kubernetes is given to run a host of a fleet on each node: a DaemonSet, as text for ``kubectl apply``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from importlib.resources import files
from string import Template

from drivelab.model.errors import DrivelabError

_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]*$")


def daemonset(address: str, names: Iterable[str], *, image: str, namespace: str) -> str:
    """The manifest, in YAML.

    Parameters
    ----------
    address : str
        Of those who ask: ``tls://10.0.0.1:8786``.
    names : iterable of str
        Of the nodes.
    image : str
        A container image with drivelab.
    namespace : str
        Where it is made.

    Raises
    ------
    DrivelabError
        F911: no name of an image, or of a namespace.
    """
    for what, text, form in (("an image", image, _IMAGE), ("a namespace", namespace, _NAMESPACE)):
        if not form.match(text):
            raise DrivelabError("F911", f"'{text}' is no name of {what}")
    template = Template(files("drivelab.fleet").joinpath("daemonset.yaml").read_text(encoding="utf-8"))
    return template.substitute(address=address, names=json.dumps(list(names)), image=image, namespace=namespace)
