"""The options that say what I/O is issued, one row each."""

from __future__ import annotations

from drivelab.interop.fio.option import Option

OPERATIONS = (
    "read",
    "write",
    "trim",
    "randread",
    "randwrite",
    "randtrim",
    "rw",
    "readwrite",
    "randrw",
    "trimwrite",
    "randtrimwrite",
)
DISTRIBUTIONS = ("random", "zipf", "pareto", "normal", "zoned", "zoned_abs", "sequence")

_ORDER = (
    Option(
        "rw",
        "choice",
        "honoured",
        "the operations and their order; `randread:8` runs on for 8 blocks, `read:8k` skips 8 KiB after each",
        aliases=("readwrite",),
        default="read",
        choices=OPERATIONS,
    ),
    Option(
        "rw_sequencer",
        "choice",
        "not-honoured",
        "each I/O gets an address of its own",
        default="sequential",
        choices=("sequential", "identical"),
    ),
    Option("rwmixread", "number", "honoured", "share of reads in a mix", default="50", minimum=0, maximum=100),
    Option("rwmixwrite", "number", "honoured", "share of writes in a mix", default="50", minimum=0, maximum=100),
    Option("norandommap", "flag", "honoured", "without it, a random order has every block once"),
    Option("percentage_sequential", "text", "not-honoured", "fio has taken it out: use percentage_random"),
    Option("rwmixcycle", "text", "not-honoured", "fio has taken it out"),
    Option("softrandommap", "boolean", "noted", "drivelab needs no map", default="0"),
    Option(
        "random_distribution",
        "choice",
        "honoured",
        "zipf, pareto, normal and zoned",
        default="random",
        choices=DISTRIBUTIONS,
    ),
    Option("random_sequence_stride", "boolean", "not-honoured", "no such order", default="0"),
    Option(
        "percentage_random",
        "numbers",
        "honoured",
        "share of random places in a random order",
        default="100",
        maximum=100,
    ),
    Option(
        "randrepeat",
        "boolean",
        "honoured",
        "0: every run has a seed of its own, which it keeps",
        aliases=("allrandrepeat",),
        default="1",
    ),
    Option("randseed", "number", "honoured", "the seed; drivelab's generator makes other numbers of it"),
    Option(
        "random_generator",
        "choice",
        "noted",
        "drivelab has one generator; its orders cover every block once unless norandommap is set",
        default="tausworthe",
        choices=("tausworthe", "lfsr", "tausworthe64"),
    ),
    Option("sprandom", "boolean", "not-honoured", "no preconditioning of its own: write the drive twice", default="0"),
    Option("spr_num_regions", "number", "not-honoured", "belongs to sprandom", default="100"),
    Option("spr_op", "floats", "not-honoured", "belongs to sprandom", default="0.15"),
    Option("spr_cs", "sizes", "not-honoured", "belongs to sprandom", default="0"),
)

_BLOCKS = (
    Option(
        "bs",
        "sizes",
        "honoured",
        "the block size, for each direction its own if asked",
        aliases=("blocksize",),
        default="4096",
        minimum=1,
    ),
    Option(
        "bsrange",
        "ranges",
        "honoured",
        "equal shares of the sizes in it; more than 64 sizes are thinned out",
        aliases=("blocksize_range",),
    ),
    Option("bssplit", "split", "honoured", "a mix of block sizes with their shares"),
    Option(
        "bs_unaligned",
        "flag",
        "not-honoured",
        "addresses stay multiples of the smallest block size",
        aliases=("blocksize_unaligned",),
    ),
    Option(
        "bs_is_seq_rand",
        "boolean",
        "not-honoured",
        "the first size counts for reads and the second for writes",
        default="0",
    ),
    Option(
        "ba", "sizes", "approximated", "addresses are multiples of the smallest block size", aliases=("blockalign",)
    ),
)

_AMOUNT = (
    Option("size", "size", "honoured", "bytes of the target that each job uses, and moves unless told otherwise"),
    Option("io_size", "size", "honoured", "bytes that each job moves", aliases=("io_limit",)),
    Option("filesize", "extent", "honoured", "size of each file"),
    Option("file_append", "boolean", "honoured", "writes begin at the end of the file", default="0"),
    Option(
        "fill_device",
        "boolean",
        "approximated",
        "the whole target is written; a file system is not filled to its last byte",
        aliases=("fill_fs",),
        default="0",
    ),
    Option("offset", "size", "honoured", "where the range begins", aliases=("fileoffset",), default="0"),
    Option(
        "offset_align",
        "number",
        "honoured",
        "offsets in per cent are multiples of it; of the smallest block, if left out",
        default="0",
    ),
    Option("offset_increment", "size", "honoured", "each job begins so much further on", default="0"),
    Option("number_ios", "number", "honoured", "I/Os after which each job ends", default="0"),
    Option("num_range", "number", "not-honoured", "a trim has one range", default="1"),
    Option("loops", "number", "honoured", "the range is gone through this many times", default="1"),
    Option(
        "runtime",
        "duration",
        "honoured",
        "ends the job; a bare number is in seconds",
        aliases=("timeout",),
        default="0",
        unit="s",
    ),
    Option("time_based", "flag", "honoured", "goes on until runtime is over"),
    Option("ramp_time", "duration", "honoured", "I/O that is not counted, before", default="0", unit="s"),
    Option("ramp_size", "size", "not-honoured", "use ramp_time"),
)

_CONTENTS = (
    Option("zero_buffers", "flag", "honoured", "writes zeros"),
    Option("refill_buffers", "flag", "honoured", "contents are new with every write, always"),
    Option("scramble_buffers", "boolean", "honoured", "contents are new with every write, always", default="1"),
    Option("buffer_pattern", "text", "honoured", "bytes that blocks repeat: texts, numbers, files"),
    Option("buffer_compress_percentage", "number", "honoured", "share that compresses", minimum=0, maximum=100),
    Option(
        "buffer_compress_chunk", "number", "approximated", "drivelab has one size of compressible pieces", default="512"
    ),
    Option("dedupe_percentage", "number", "honoured", "share of blocks that repeat others", minimum=0, maximum=100),
    Option(
        "dedupe_mode",
        "choice",
        "approximated",
        "repeats are of one block",
        default="repeat",
        choices=("repeat", "working_set"),
    ),
    Option("dedupe_working_set_percentage", "number", "approximated", "repeats are of one block", default="5"),
    Option("dedupe_global", "boolean", "approximated", "jobs repeat the same block", default="0"),
)

_RATE = (
    Option(
        "rate",
        "sizes",
        "honoured",
        "an open loop of so many bytes a second: arrivals by schedule, what waits for its turn is counted",
    ),
    Option("rate_iops", "numbers", "honoured", "an open loop of so many I/Os a second"),
    Option(
        "rate_min",
        "sizes",
        "honoured",
        "below it the job ends with an error; looked at every rate_cycle, from 2 s on",
        aliases=("ratemin",),
    ),
    Option("rate_iops_min", "numbers", "honoured", "as rate_min"),
    Option(
        "rate_process",
        "choice",
        "honoured",
        "arrivals at equal distances, or as of many clients",
        default="linear",
        choices=("linear", "poisson"),
    ),
    Option("rate_cycle", "number", "honoured", "belongs to rate_min", aliases=("ratecycle",), default="1000"),
    Option("rate_ignore_thinktime", "boolean", "noted", "an open loop does not think", default="0"),
    Option("thinktime", "duration", "honoured", "a pause after I/Os; a bare number is in us", default="0", unit="us"),
    Option("thinktime_blocks", "number", "honoured", "I/Os between two pauses", default="1"),
    Option(
        "thinktime_blocks_type",
        "choice",
        "approximated",
        "completed I/Os are counted",
        default="complete",
        choices=("complete", "issue"),
    ),
    Option(
        "thinktime_spin",
        "duration",
        "approximated",
        "the pause is slept, its last 60 to 300 us are spun",
        default="0",
        unit="us",
    ),
    Option(
        "thinktime_iotime", "duration", "not-honoured", "pauses come after I/Os, not after times", default="0", unit="s"
    ),
    Option("thinkcycles", "number", "not-honoured", "use thinktime", default="0"),
    Option(
        "latency_target",
        "duration",
        "not-honoured",
        "the depth is the one that is asked for; which depth keeps a latency: experiment queue-depth",
        default="0",
        unit="us",
    ),
    Option("latency_window", "duration", "not-honoured", "belongs to latency_target", default="0", unit="us"),
    Option("latency_percentile", "floats", "not-honoured", "belongs to latency_target", default="100"),
    Option("latency_run", "boolean", "not-honoured", "belongs to latency_target", default="0"),
    Option(
        "max_latency",
        "durations",
        "honoured",
        "a slower I/O ends the job with an error, within 0.2 s; a bare number is in us",
        unit="us",
    ),
)

_DURABILITY = (
    Option(
        "sync",
        "choice",
        "honoured",
        "O_SYNC, or O_DSYNC with dsync",
        default="none",
        choices=("none", "0", "sync", "1", "dsync"),
    ),
    Option("fsync", "number", "honoured", "fsync after so many writes, but the last", default="0"),
    Option("fdatasync", "number", "honoured", "fdatasync after so many writes, but the last", default="0"),
    Option("end_fsync", "boolean", "honoured", "one fsync after the last write", default="0"),
    Option("fsync_on_close", "boolean", "honoured", "one fsync after the last write", default="0"),
    Option("end_syncfs", "boolean", "approximated", "one fsync after the last write", default="0"),
    Option("sync_file_range", "text", "approximated", "sync_file_range after so many writes"),
    Option("write_barrier", "number", "noted", "fio makes no call for it either", default="0"),
    Option("direct", "boolean", "honoured", "past the page cache", default="0"),
    Option("buffered", "boolean", "honoured", "the opposite of direct", default="1"),
    Option("atomic", "boolean", "not-honoured", "writes are not marked atomic; direct is set", default="0"),
)

TOPICS: dict[str, tuple[Option, ...]] = {
    "Operations and their order": _ORDER,
    "Block sizes": _BLOCKS,
    "How much, and how long": _AMOUNT,
    "Contents": _CONTENTS,
    "Rates and pauses": _RATE,
    "Durability and the page cache": _DURABILITY,
}
