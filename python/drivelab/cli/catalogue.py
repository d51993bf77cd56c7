"""The list of commands, in the order in which one works with them."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.cli import fleet
from drivelab.cli.command import Command

COMMANDS = (
    Command(
        "drives",
        "What is here, and what may be touched.",
        ("drives", "drives --smart", "drives --json"),
    ),
    Command(
        "settings",
        "What each setting of a drive is, and what it can be.",
        ("settings /dev/sda", "settings . --json"),
    ),
    Command(
        "check",
        "Is this directory or drive fit? A verdict in under a minute.",
        ("check /var/lib/etcd --for etcd", "check . --quick", "check /dev/nvme0n1 --json"),
        one_at_a_time="check each by itself, then put both into one report: drivelab report 2 1",
    ),
    Command(
        "experiments",
        "The experiments there are, and what each one asks.",
        ("experiments", "experiments ssd-latency", "experiments ssd-latency --toml"),
    ),
    Command(
        "plan",
        "What a run would do: steps, time, bytes, what it erases.",
        ("plan ssd-latency scratch:1GiB --quick", "plan ssd-latency /dev/sdb"),
    ),
    Command(
        "run",
        "Run an experiment on targets; everything is kept.",
        ("run ssd-latency scratch:1GiB --quick", "run ssd-latency /dev/sdb --erase SERIAL"),
    ),
    Command(
        "resume",
        "Go on with a run that was cut off; its trials are kept.",
        ("resume RUN", "resume RUN --erase SERIAL"),
    ),
    Command(
        "restore",
        "Put back the settings that an interrupted run left changed.",
        ("restore",),
    ),
    Command(
        "runs",
        "The runs that are kept, the newest first: drives and answers.",
        ("runs", "runs /var/lib/etcd", "runs --all --json"),
    ),
    Command(
        "history",
        "What one drive or directory gave over dates, and what changed.",
        (
            "history /var/lib/etcd",
            "history /var/lib/etcd --out history.html",
            "history SERIAL --json",
            "history --all-drives",
        ),
    ),
    Command(
        "fleet",
        "Many drives at once: which of them is slow, and what do the runs of all tell?",
        ("fleet odd samples/", "fleet report runs/"),
        commands=fleet.COMMANDS,
    ),
    Command(
        "push",
        "Put runs into a store for many computers: a bucket, or a shared directory.",
        ("push LAST --to s3://BUCKET/PREFIX", "push FLEET --to /mnt/shared/runs"),
    ),
    Command(
        "report",
        "Write the report of runs: one page that opens offline, or Markdown, CSV, JSON.",
        (
            "report LAST",
            "report RUN RUN --out both.html",
            "report RUN --with-reference ssd-latency --format markdown",
            "report reference:ssd-latency --text",
        ),
    ),
    Command(
        "compare",
        "Which is faster, BASE or NEW? Ratios of runs with their intervals.",
        ("compare BASE NEW", "compare BASE NEW --fail-on regression --format markdown"),
        one_at_a_time="name each run of a side by itself: drivelab compare --base A1 --base A2 --new B1 --new B2",
    ),
    Command(
        "explain",
        "Where the time of an operation goes: software, queue, device, flush (root).",
        (
            "explain scratch:1GiB",
            "explain /var/lib/etcd --file-state append",
            "explain /dev/sdb --erase SERIAL",
            "explain --pid 4711 --runtime 10s",
            "explain BASE NEW",
        ),
    ),
    Command(
        "sql",
        "Ask runs a question in SQL: one, several, or all that are kept.",
        (
            'sql "select run, experiment, status, trial_count from runs"',
            'sql "select trial, iops from trials order by iops" RUN',
            'sql "describe trials" RUN --json',
        ),
    ),
    Command(
        "btt",
        "Read a block trace: the time of each phase, and what btt hides.",
        ("btt sda", "btt sda.blktrace.0 --json", "btt merged.bin --compat 1.2"),
    ),
    Command(
        "import",
        "Results of fio, bonnie++, IOzone, ioping, dd and others as a run.",
        (
            "import results.json",
            "import bonnie old.csv --drive 'Disk 750GB'",
            "import fio a.json b.json --dry-run",
        ),
    ),
    Command(
        "export",
        "A run as fio's JSON and logs, as bonnie++'s line, or as CSV.",
        (
            "export fio RUN",
            "export fio RUN --out charts --no-logs",
            "export bonnie RUN",
            "export csv RUN --out run.csv",
        ),
    ),
    Command(
        "io",
        "One workload, every option of the engine a flag.",
        (
            "io data.bin --operation write --size 1GiB --durability fdatasync --count 1000",
            "io data.bin --block-size 4KiB --queue-depth 32 --direct --runtime 5s",
            "io null: --queue-depth 32 --runtime 1s --json",
        ),
    ),
    Command(
        "replay",
        "Issue a recorded load again: which calls become slower on this drive?",
        (
            "replay app.iolog /srv/data",
            "replay sda.blktrace.0 /dev/sdb --erase SERIAL",
            "replay RUN /mnt/a /mnt/b --speed 2",
        ),
    ),
    Command(
        "fio",
        "A command line of fio, as it is: its jobs, its output, and a run that is kept.",
        (
            "fio --name=a --directory=/srv --size=1g --rw=randread --bs=4k --direct=1 --runtime=30 --time_based",
            "fio --filename=/dev/sdb --name=b --rw=randwrite --erase SERIAL --output-format=json",
            "fio --parse-only jobs.fio --section=reader",
        ),
        takes_words=True,
    ),
    Command(
        "serve",
        "A simulated drive as a block device (NBD), in real time, for other programs.",
        ("serve sim:consumer-ssd drive.sock", "serve sim:./DRIVE.toml 127.0.0.1:10809 --precondition"),
    ),
    Command(
        "errors",
        "What an error code means and what to do about it.",
        ("errors", "errors U001"),
    ),
)

# those that do something, each with its own help: a group has nothing but its commands
SINGLE_COMMANDS = tuple(one for command in COMMANDS for one in command.commands or (command,))
BY_NAME = {command.name: command for command in (*COMMANDS, *SINGLE_COMMANDS)}


def command_of(arguments: Sequence[str]) -> Command | None:
    """The command that a command line names, with its group; None where it names none."""
    words = [argument for argument in arguments if not argument.startswith("-")]
    return BY_NAME.get(" ".join(words[:2])) or BY_NAME.get(" ".join(words[:1]))
