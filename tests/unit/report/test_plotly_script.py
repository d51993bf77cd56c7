"""The charts' script: the one that its makers published, and packed so that no element ends in it."""

from __future__ import annotations

import base64
import gzip
import hashlib

from drivelab.report.plotly_script import VERSION, licence, packed_script, script, script_hash

# of plotly-cartesian.min.js in npm's plotly.js-cartesian-dist-min of that version
PUBLISHED = ("4.1.1", "79542150855a52c567260e3137095dbe2b744e6d702a5cabe67da246942fba7a")


def test_the_script_is_the_one_that_was_published() -> None:
    whole = script()
    assert (VERSION, hashlib.sha256(whole).hexdigest()) == PUBLISHED
    assert f"plotly.js (cartesian - minified) v{VERSION}".encode() in whole[:100]
    assert "Permission is hereby granted" in licence()


def test_the_hash_is_that_of_the_script() -> None:
    assert script_hash() == f"sha256-{base64.b64encode(hashlib.sha256(script()).digest()).decode()}"


def test_packed_it_is_the_same_script_in_half_of_the_bytes() -> None:
    packed = packed_script()
    assert gzip.decompress(base64.b64decode(packed, validate=True)) == script()
    assert len(packed) < 0.45 * len(script())
