"""A hostile peer with a certificate: nothing that it sends is executed, and it can end nobody."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from distributed.comm import connect
from distributed.protocol.serialize import Pickled

from drivelab.fleet.centre import HostGone, opened_centre
from drivelab.fleet.certificates import ANY, new_keys
from drivelab.fleet.no_code import CodeRefused
from drivelab.fleet.nodes import configure
from host_here import host_here
from own_loop import in_own_loop


class Evil:
    """Leaves a file behind wherever it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self._path,)


async def double(number: int) -> int:
    return 2 * number


async def put_back() -> None:
    """Nothing was changed."""


def sent_to_both(messages: list[Mapping[str, Any]]) -> None:
    """Send messages to who asks and to a host of its, and see that both are still there."""

    async def do() -> None:
        keys = new_keys()
        configure()
        async with opened_centre(keys.controller, "127.0.0.1") as centre:
            host = host_here(centre.address, keys.hosts[ANY], double, ending=put_back)
            async with host:
                await asyncio.wait_for(centre.when_joined("one"), 60)
                for address in (centre.address, host.address):
                    for message in messages:
                        await _send(address, keys.hosts[ANY].security().get_connection_args("worker"), message)
                assert await centre.ask("one", double, 21, within_s=60) == 42

    in_own_loop(do())


async def _send(address: str, arguments: Mapping[str, Any], message: Mapping[str, Any]) -> None:
    comm = await connect(address, **arguments)
    # the answer may be an error with its class, which is code, too
    with suppress(OSError, CodeRefused):
        await comm.write(message)
        await asyncio.wait_for(comm.read(), 5)
    comm.abort()


def test_the_evil_is_one(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Evil(tmp_path / "owned")))
    assert (tmp_path / "owned").exists()


@pytest.mark.parametrize("op", ["run_function", "run", "register-worker", "nothing", "drivelab_clock", "update_data"])
def test_code_that_is_sent_is_not_executed(tmp_path: Path, op: str) -> None:
    code = pickle.dumps(Evil(tmp_path / "owned"))
    read_on_arrival = Pickled({"pickled-obj": code}, [])
    sent_to_both(
        [
            {"op": op, "function": code, "args": (), "kwargs": {}},
            {"op": op, "function": read_on_arrival},
            {"op": op, "data": [read_on_arrival]},
        ]
    )
    assert not (tmp_path / "owned").exists()


def test_nobody_is_ended_by_a_peer() -> None:
    sent_to_both([{"op": "terminate"}, {"op": "unregister", "address": "tls://127.0.0.1:1"}, {"op": "restart"}])


def test_a_host_obeys_no_other_host() -> None:
    async def do() -> None:
        keys = new_keys()
        configure()
        # it has the key of a host, and does what who asks does
        async with opened_centre(keys.hosts[ANY], "127.0.0.1") as pretended:
            host = host_here(pretended.address, keys.hosts[ANY], double, ending=put_back)
            async with host:
                await asyncio.wait_for(host.finished(), 60)
            with pytest.raises(HostGone):
                await pretended.ask("one", double, 21, within_s=5)

    in_own_loop(do())
