"""Questions to a host and what comes of them: answers, its errors, silence, and that it goes."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from drivelab.fleet.centre import Centre, HostGone, opened_centre
from drivelab.fleet.certificates import ANY, new_keys
from drivelab.fleet.local_address import place_of
from drivelab.fleet.nodes import HostWorker, configure
from drivelab.fleet.scratch import own_scratch
from drivelab.model.errors import DrivelabError
from host_here import host_here
from own_loop import in_own_loop

ENDED: list[str] = []


def has_version_6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


async def double(number: int) -> int:
    return 2 * number


async def refuse() -> None:
    raise DrivelabError("F906", "not asked by a fleet", where="here", do="start it")


async def break_down() -> None:
    raise PermissionError(13, "Permission denied")


async def say_nothing() -> None:
    await asyncio.sleep(600)


async def put_back() -> None:
    ENDED.append("put back")


def with_host(work: Callable[[Centre, HostWorker], Awaitable[Any]], address: str = "127.0.0.1") -> Any:
    """Have a centre and one host that has joined it, both here, while the work is done."""

    async def do() -> Any:
        keys = new_keys()
        configure()
        async with opened_centre(keys.controller, address) as centre:
            asked = (double, refuse, break_down, say_nothing)
            host = host_here(centre.address, keys.hosts[ANY], *asked, ending=put_back, address=address)
            async with host:
                await asyncio.wait_for(centre.when_joined("one"), 60)
                return await work(centre, host)

    ENDED.clear()
    return in_own_loop(do())


def test_nothing_is_kept_where_others_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def work(_centre: Centre, host: HostWorker) -> None:
        scratch = Path(host.local_directory).relative_to(tmp_path).parts[0]
        assert scratch.startswith("drivelab-fleet-")
        assert (tmp_path / scratch).stat().st_mode & 0o777 == 0o700
        assert [path.name for path in tmp_path.iterdir()] == [scratch]

    with_host(work)
    assert list(tmp_path.iterdir()) == []


def test_what_the_killed_have_left_is_removed_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    elsewhere = tmp_path / "elsewhere"
    places = {name: tmp_path / f"drivelab-fleet-{name}" for name in ("left", "young", "held", "link")}
    for path in (elsewhere, *(places[name] for name in ("left", "young", "held"))):
        path.mkdir()
        (path / "global.lock").touch()
        os.utime(path, (0, 0))
    os.utime(places["young"])
    places["link"].symlink_to(elsewhere)
    holding = os.open(places["held"], os.O_RDONLY)
    fcntl.flock(holding, fcntl.LOCK_EX)
    with own_scratch():
        there = set(tmp_path.iterdir())
        assert there > {elsewhere, places["young"], places["held"], places["link"]}
        assert places["left"] not in there
        with own_scratch():
            assert set(tmp_path.iterdir()) > there
    os.close(holding)
    assert set(tmp_path.iterdir()) == {elsewhere, places["young"], places["held"], places["link"]}
    assert (elsewhere / "global.lock").exists()


def test_a_host_answers_and_its_errors_keep_their_code() -> None:
    async def work(centre: Centre, _host: HostWorker) -> None:
        assert await centre.ask("one", double, 21, within_s=60) == 42
        with pytest.raises(DrivelabError, match="not asked by a fleet") as caught:
            await centre.ask("one", refuse, within_s=60)
        assert (caught.value.code, caught.value.where, caught.value.do) == ("F906", "here", "start it")
        with pytest.raises(DrivelabError, match=r"cannot answer break_down: .*Permission denied") as caught:
            await centre.ask("one", break_down, within_s=60)
        assert caught.value.code == "F906"
        with pytest.raises(HostGone, match=r"^it has left$"):
            await centre.ask("two", double, 1, within_s=60)

    with_host(work)


@pytest.mark.skipif(not has_version_6(), reason="this machine has no addresses of version 6")
def test_addresses_of_version_6_are_addresses() -> None:
    async def work(centre: Centre, host: HostWorker) -> None:
        assert place_of(centre.address)[0] == place_of(host.address)[0] == "::1"
        assert await centre.ask("one", double, 1, within_s=60) == 2

    with_host(work, "::1")


def test_a_host_that_says_nothing_is_given_up_after_its_time() -> None:
    async def work(centre: Centre, _host: HostWorker) -> None:
        with pytest.raises(HostGone, match=r"^it did not answer within 1 s$"):
            await centre.ask("one", say_nothing, within_s=1)
        assert centre.is_here("one")
        assert await centre.ask("one", double, 1, within_s=60) == 2

    with_host(work)


def test_a_host_that_goes_is_missed_at_once_and_puts_back_first() -> None:
    async def work(centre: Centre, host: HostWorker) -> None:
        asking = asyncio.ensure_future(centre.ask("one", say_nothing, within_s=600))
        await asyncio.sleep(0.2)
        await host.close()
        assert ENDED == ["put back"]
        with pytest.raises(HostGone, match=r"^the connection to it was lost$"):
            await asking
        assert not centre.is_here("one")

    with_host(work)


def test_a_host_puts_back_also_where_who_closed_it_first_is_cut_off() -> None:
    """As where it has given up to join just when Dask closes it."""

    async def work(_centre: Centre, host: HostWorker) -> None:
        closing = asyncio.ensure_future(host.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)
        await host.close()
        assert ENDED == ["put back"]

    with_host(work)


def test_a_host_that_lies_about_its_name_does_not_join_and_speaks_for_no_other() -> None:
    async def do() -> None:
        keys = new_keys(["one", "two"])
        configure()
        heard: list[tuple[str, str]] = []
        async with opened_centre(keys.controller, "127.0.0.1") as centre:
            centre.listen(lambda host, news: heard.append((host, news["line"])))
            with pytest.raises(RuntimeError) as caught:
                await host_here(centre.address, keys.hosts["two"], double, ending=put_back)
            assert "a certificate of another name" in str(caught.value.__cause__)
            assert not centre.is_here("one")
            async with host_here(centre.address, keys.hosts["one"], double, ending=put_back) as host:
                await asyncio.wait_for(centre.when_joined("one"), 60)
                host.tell({"line": "half of it", "host": "two"})
                assert await centre.ask("one", double, 1, within_s=60) == 2
        assert heard == [("one", "half of it")]

    in_own_loop(do())
