"""fio's engines: what each becomes, and why some become nothing."""

from __future__ import annotations

from dataclasses import dataclass

from drivelab.interop.fio.translated import Effect
from drivelab.model.workload import BackendName, TreeOperationName


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine that drivelab has, or has something near to.

    Attributes
    ----------
    name : str
        As job files name it.
    backend : str
        What issues the I/O instead.
    is_synchronous : bool
        Whether one I/O at a time is outstanding, whatever iodepth says.
    tree_operation : str or None
        What it does to files instead of reading and writing blocks.
    effect, what : str
        Whether it is the same, and what is different.
    """

    name: str
    backend: BackendName
    is_synchronous: bool = True
    tree_operation: TreeOperationName | None = None
    effect: Effect = "honoured"
    what: str = ""

    def batches(self, depth: int, *, sent: int, least: int, most: int, low: int) -> dict[str, int]:
        """How many I/Os are sent with one call, and taken with one look, as keys of a workload.

        Parameters
        ----------
        depth : int
            I/Os outstanding in each job.
        sent, least, most, low : int
            fio's `iodepth_batch`, `iodepth_batch_complete_min` and `_max`, and `iodepth_low`.
        """
        if self.is_synchronous or depth == 1:
            sent, least, most, low = 0, 0, depth, 0
        elif self.backend == "null":
            least, most, low = 0, depth, 0
        taken = max(1, least, most)
        return {
            "submission_batch": 0 if sent >= depth else sent,
            "completion_batch": 0 if taken >= depth else taken,
            "completion_batch_min": min(least, depth) if least > 1 else 0,
            "refill_depth": 0 if low >= depth else low,
        }


def _on_files(name: str, operation: TreeOperationName, what: str) -> Engine:
    where = "in a directory of drivelab's own, which is removed: no files are left for another job"
    return Engine(name, "auto", tree_operation=operation, effect="approximated", what=f"{what} {where}")


_FAMILY = (
    Engine("psync", "sync", what="pread and pwrite"),
    Engine("sync", "sync", what="pread and pwrite; fio seeks first"),
    Engine("pvsync", "sync", what="pread and pwrite of one buffer"),
    Engine("pvsync2", "sync", what="pread and pwrite of one buffer"),
    Engine(
        "vsync",
        "sync",
        effect="approximated",
        what="pread and pwrite; neighbours are not put into one call as fio does",
    ),
    Engine("libaio", "aio", is_synchronous=False, what="Linux asynchronous I/O"),
    Engine("io_uring", "uring", is_synchronous=False, what="io_uring"),
    Engine(
        "io_uring_cmd",
        "uring-cmd",
        is_synchronous=False,
        what="NVMe commands past the block layer, to a whole drive, by the name of its block device or its own",
    ),
    Engine(
        "posixaio",
        "posixaio",
        is_synchronous=False,
        what="aio_read and aio_write: a thread of the C library does one I/O of each job after the other, whatever the "
        "iodepth; every sync call is an fsync",
    ),
    Engine(
        "windowsaio", "uring", is_synchronous=False, effect="approximated", what="io_uring instead of Windows' own I/O"
    ),
    Engine(
        "solarisaio", "uring", is_synchronous=False, effect="approximated", what="io_uring instead of Solaris' own I/O"
    ),
    Engine(
        "mmap", "mmap", what="copies from and to mapped memory, made durable by msync for fdatasync, by fsync for fsync"
    ),
    Engine("splice", "splice", what="splice and vmsplice: pages through a pipe"),
    Engine("falloc", "falloc", what="fallocate instead of reads and writes, a hole for each trim; no data is moved"),
    Engine("null", "null", is_synchronous=False, what="no I/O: what drivelab itself costs"),
    _on_files("filecreate", "create", "empty files are created"),
    _on_files("filestat", "stat", "empty files are looked at"),
    _on_files("filedelete", "delete", "empty files are deleted"),
    _on_files("dircreate", "make_directory", "directories are made"),
    _on_files("dirdelete", "remove_directory", "directories are removed"),
    _on_files("dirstat", "stat", "empty files are looked at instead of directories"),
)
ENGINES: dict[str, Engine] = {engine.name: engine for engine in _FAMILY}

_NETWORK = "it sends over a network: measure what is mounted here instead"
_STORE = "it speaks to a store of objects or blocks on other machines: map it as a block device, or mount it"
_PASSED = "it sends commands past the block layer: use io_uring or libaio on the block device"
_MEMORY = "it moves data from and to graphics processors"
_PERSISTENT = "it stores to persistent memory: use mmap on a file that is mounted with dax"
_LIBRARY = "it needs a library of its own: use io_uring or libaio on the block device"
_FILES = "it changes how a file lies on its file system, and reads or writes nothing"
# why an engine has no place in a drive lab
REFUSED: dict[str, str] = {
    "netsplice": _NETWORK,
    "net": _NETWORK,
    "rdma": _NETWORK,
    "librpma_apm_client": _NETWORK,
    "librpma_apm_server": _NETWORK,
    "librpma_gpspm_client": _NETWORK,
    "librpma_gpspm_server": _NETWORK,
    "http": _STORE,
    "rbd": _STORE,
    "rados": _STORE,
    "gfapi": _STORE,
    "gfapi_async": _STORE,
    "libhdfs": _STORE,
    "libiscsi": _STORE,
    "nbd": _STORE,
    "nfs": _STORE,
    "dfs": _STORE,
    "ime_psync": _STORE,
    "ime_psyncv": _STORE,
    "ime_aio": _STORE,
    "sg": _PASSED,
    "libblkio": _LIBRARY,
    "xnvme": _LIBRARY,
    "spdk": _LIBRARY,
    "spdk_bdev": _LIBRARY,
    "libzbc": "it writes to zoned drives",
    "libcufile": _MEMORY,
    "cufile": _MEMORY,
    "libhipfile": _MEMORY,
    "hipfile": _MEMORY,
    "libpmem": _PERSISTENT,
    "pmemblk": _PERSISTENT,
    "dev-dax": _PERSISTENT,
    "mtd": "it writes to bare flash memory",
    "cpuio": "it only keeps processors busy",
    "exec": "it starts programs",
    "page_fault": "it only touches memory",
    "guasi": "it is gone from fio",
    "binject": "it is gone from fio",
    "e4defrag": _FILES,
    "ftruncate": _FILES,
    "external": "it is a library that somebody wrote for fio",
}
