"""Objects of a store elsewhere, through fsspec; whatever goes wrong there is an error of ours."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from drivelab.model.errors import DrivelabError
from drivelab.store.remote.address import plain_address

# at once: each waits for the network
_AT_ONCE = 16
_S3 = ("s3", "s3a")
# s3fs tries five times, and botocore each of them once more
_S3_OPTIONS = {
    "use_listings_cache": False,
    "config_kwargs": {
        "max_pool_connections": _AT_ONCE,
        "connect_timeout": 10,
        "read_timeout": 60,
        "retries": {"max_attempts": 1},
    },
}
# of botocore, which is not imported for it: keys that are missing, incomplete, or cannot be had
_NO_KEYS = (
    *("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "ProfileNotFound"),
    *("TokenRetrievalError", "SSOTokenLoadError", "UnauthorizedSSOTokenError"),
)
_WRONG_KEYS = {"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"}
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Objects:
    """The objects below an address.

    Parameters
    ----------
    address : str
        ``s3://bucket/prefix``, or another one that fsspec knows.

    Raises
    ------
    DrivelabError
        S510: what reaches it is not installed. U054: fsspec does not know such an address. From every method:
        S511: it cannot be reached. S512: it lets nobody in. S513: there is no such bucket. S514: it takes nothing.
    """

    def __init__(self, address: str) -> None:
        self.address = plain_address(address)
        self._files, self._root = _opened(self.address)

    def facts(self, name: str) -> Mapping[str, Any] | None:
        """All that the store tells of an object; None where there is none."""
        with self._told():
            try:
                found: Mapping[str, Any] = self._files.info(f"{self._root}/{name}")
            except FileNotFoundError as error:
                self._require_bucket(error)
                return None
        return found

    def names(self, below: str) -> dict[str, Mapping[str, Any]]:
        """The objects right below a name, by name, with all that the store tells of each."""
        with self._told():
            try:
                listed = self._files.ls(f"{self._root}/{below}", detail=True)
            except FileNotFoundError as error:
                self._require_bucket(error)
                return {}
        return {one["name"].rpartition("/")[2]: one for one in listed if one["type"] == "file"}

    def folders(self) -> list[str]:
        """The names right below the address that have objects below them."""
        with self._told():
            try:
                listed = self._files.ls(self._root, detail=True)
            except FileNotFoundError as error:
                self._require_bucket(error)
                return []
        return sorted(one["name"].rstrip("/").rpartition("/")[2] for one in listed if one["type"] == "directory")

    def sizes(self, below: str) -> dict[str, int]:
        """The sizes of all objects below a name, in bytes, by what of their names stands behind it."""
        with self._told():
            try:
                listed = self._files.find(f"{self._root}/{below}", detail=True)
            except FileNotFoundError as error:
                self._require_bucket(error)
                return {}
        start = len(self._files._strip_protocol(f"{self._root}/{below}")) + 1
        return {name[start:]: int(one["size"]) for name, one in listed.items()}

    def content(self, name: str) -> bytes | None:
        """All of an object; None where there is none."""
        with self._told():
            try:
                return bytes(self._files.cat_file(f"{self._root}/{name}"))
            except FileNotFoundError as error:
                self._require_bucket(error)
                return None

    def fetch(self, name: str, path: Path) -> bool:
        """Write an object to a file here, a bounded piece of it in memory at a time; whether there is one."""
        with self._told():
            try:
                self._files.get_file(f"{self._root}/{name}", str(path))
            except FileNotFoundError as error:
                self._require_bucket(error)
                return False
        return True

    def create(self, name: str, content: bytes) -> bool:
        """Make an object; whether there was none of that name, so that this is it."""
        with self._told(writes=True):
            try:
                self._files.pipe_file(f"{self._root}/{name}", content, mode="create")
            except FileExistsError:
                return False
        return True

    def put(self, name: str, content: bytes) -> None:
        """Make an object, or replace it."""
        with self._told(writes=True):
            self._files.pipe_file(f"{self._root}/{name}", content)

    def put_file(self, name: str, path: Path) -> None:
        """Make an object of a file here, or replace it, a bounded piece of it in memory at a time."""
        with self._told(writes=True):
            self._files.put_file(str(path), f"{self._root}/{name}")

    @contextmanager
    def _told(self, *, writes: bool = False) -> Iterator[None]:
        try:
            yield
        except (DrivelabError, FileExistsError):
            raise
        # each protocol has a library of its own, and each library errors of its own
        except Exception as error:
            raise _told_error(error, self.address, writes=writes) from error

    def _require_bucket(self, error: Exception) -> None:
        """Return only if what is missing is an object, and not all that it would be in."""
        if _s3_code(error) == "NoSuchBucket":
            raise DrivelabError("S513", "there is no such bucket", where=self.address) from error


def each_at_once(do: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """What `do` returns for each item, in order; several are waited for at once.

    Raises
    ------
    Exception
        What the first one raised that failed; those that were not begun are left.
    """
    if len(items) < 2:
        return [do(item) for item in items]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        futures = [threads.submit(do, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def _opened(address: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise DrivelabError("S510", "fsspec cannot be imported", where=address) from error
    options = _S3_OPTIONS if address.partition(":")[0] in _S3 else {}
    try:
        files, root = url_to_fs(address, skip_instance_cache=True, **options)
    except ImportError as error:
        # of buckets elsewhere than in S3 it says which library has to be installed
        do = "" if address.partition(":")[0] in _S3 else "install the library that is named"
        raise DrivelabError("S510", _first_line(error), where=address, do=do) from error
    except ValueError as error:
        raise DrivelabError("U054", _first_line(error), where=address) from error
    except Exception as error:
        raise _told_error(error, address, writes=False) from error
    return files, str(root).rstrip("/")


def _told_error(error: Exception, address: str, *, writes: bool) -> DrivelabError:
    code = _s3_code(error)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DrivelabError("S502", f"no room here for what comes from it: {_first_line(error)}", where=address)
    if any(type(one).__name__ in _NO_KEYS for one in _chain(error)):
        return DrivelabError("S512", f"there are no keys for it: {_first_line(error)}", where=address)
    if code == "NoSuchBucket" or (isinstance(error, FileNotFoundError) and writes):
        return DrivelabError("S513", "there is no such bucket", where=address)
    if isinstance(error, PermissionError) or code in _WRONG_KEYS:
        if writes and code not in _WRONG_KEYS:
            return DrivelabError("S514", f"it takes nothing from here: {_first_line(error)}", where=address)
        return DrivelabError("S512", f"it refuses: {_first_line(error)}", where=address)
    return DrivelabError("S511", f"it cannot be reached: {_first_line(error)}", where=address)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _s3_code(error: BaseException) -> str:
    """What S3 calls the error, somewhere among its causes; empty where it is none of S3's."""
    responses = (getattr(one, "response", None) for one in _chain(error))
    return next((str(one.get("Error", {}).get("Code", "")) for one in responses if isinstance(one, dict)), "")


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
