"""The one guest that all these tests share; README.md says how a test uses it."""

from __future__ import annotations

import compileall
import platform
from collections.abc import Iterator
from pathlib import Path

import pytest

from vm.guest import Guest

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "python" / "drivelab"
# the first test fetches the kernel and boots
TIMEOUT_S = 600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test here: ``make test-vm`` runs them, ``make test-python`` does not."""
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.vm)
            item.add_marker(pytest.mark.needs_tool("qemu-system-x86_64", "busybox", "modprobe"))
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(TIMEOUT_S))
            # a guest of their own is booted once for them; all others go to whichever shared one is free
            for own in {"in_virtual_time", "raid_guest"} & set(item.fixturenames):
                item.add_marker(pytest.mark.xdist_group(own))


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    """Leaves Python's byte code beside drivelab's files: a guest keeps none, and needs 10 s for it after every boot."""
    compileall.compile_dir(PACKAGE, quiet=1)


@pytest.fixture(scope="session")
def shared_guest() -> Iterator[Guest]:
    """The guest, from the first test that wants it to the last."""
    if platform.machine() != "x86_64":
        pytest.skip("the guest runs this machine's programs, and they must be those of an x86-64")
    with Guest() as running:
        yield running


@pytest.fixture
def guest(shared_guest: Guest) -> Guest:
    """The shared guest, with drives that are empty, answer at once, fail nothing and have counted nothing."""
    shared_guest.be_new()
    return shared_guest
