"""Every error a user can meet: its stable code, its exit code, and what to do.

This is the only list. ``docs/errors.md`` is generated from it and a test
provokes each entry. A code is never reused for another meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_REFUSED = 3
EXIT_NOT_TRUSTED = 4
EXIT_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """One entry of the list of errors.

    Attributes
    ----------
    code : str
        Stable code, one letter for the area and three digits.
    title : str
        What the error means, without the particulars of one occurrence.
    advice : str
        What to do, used when the place that raises it knows nothing better.
    exit_code : int
        Exit status of the program when the error ends it.
    """

    code: str
    title: str
    advice: str
    exit_code: int = EXIT_FAILED


_KINDS = (
    # U: what was typed
    ErrorKind("U001", "not a size in bytes", "write a number and a unit: 4KiB, 1MB, 512", EXIT_USAGE),
    ErrorKind("U002", "not a duration", "write a number and a unit: 5s, 250ms, 10us", EXIT_USAGE),
    ErrorKind("U003", "not a valid workload", "correct the option that is named", EXIT_USAGE),
    ErrorKind("U004", "options that exclude each other", "keep one of them", EXIT_USAGE),
    ErrorKind("U005", "unknown name", "choose one of the names that are listed", EXIT_USAGE),
    ErrorKind("U006", "arguments that cannot be understood", "read the help: drivelab COMMAND --help", EXIT_USAGE),
    ErrorKind("U007", "results could not be written to stdout", "send them to a place with room"),
    ErrorKind(
        "U008",
        "a query that cannot be answered",
        "correct it; what there is: drivelab sql 'show tables', drivelab sql 'describe trials'",
        EXIT_USAGE,
    ),
    ErrorKind("U009", "no runs to query", "name the directory of a run, or make one: drivelab run", EXIT_USAGE),
    ErrorKind("U011", "a margin that makes no sense", "write a share between 0 % and 100 %: --margin 5%", EXIT_USAGE),
    ErrorKind(
        "U012", "a run that is compared with itself, or with its copy", "name each run once, on one side", EXIT_USAGE
    ),
    ErrorKind("U013", "no such metric in these runs", "choose one of those that are listed", EXIT_USAGE),
    ErrorKind("U014", "this format needs a file", "name one: --out FILE", EXIT_USAGE),
    ErrorKind("U015", "not a price", "write SERIAL=129.90EUR", EXIT_USAGE),
    ErrorKind("U016", "a price for a drive that is not there", "name a drive by its serial or target", EXIT_USAGE),
    ErrorKind("U020", "a run without traces", "make one: drivelab explain TARGET", EXIT_USAGE),
    ErrorKind("U021", "not what can be explained at once", "name one target, one run, or two runs", EXIT_USAGE),
    ErrorKind("U022", "traces with nothing in common", "compare runs of the same workload", EXIT_USAGE),
    ErrorKind("U030", "a job file that cannot be read", "check its name and who may read it", EXIT_USAGE),
    ErrorKind("U031", "not a job file of fio", "write sections with options: [NAME], then rw=read", EXIT_USAGE),
    ErrorKind("U032", "an option of a job file with a value that fio would refuse", "correct the option", EXIT_USAGE),
    ErrorKind("U033", "options of a job file that contradict each other", "keep one of them", EXIT_USAGE),
    ErrorKind("U034", "an engine that no drive lab has", "use libaio, io_uring, psync, mmap, or null", EXIT_USAGE),
    ErrorKind("U035", "a job that drivelab cannot issue", "change the option that is named", EXIT_USAGE),
    ErrorKind("U036", "options that are not done as fio does them", "take them out, or leave out --strict", EXIT_USAGE),
    ErrorKind("U037", "a job file without jobs", "add a section, [NAME]; on a command line --name=NAME", EXIT_USAGE),
    ErrorKind("U038", "an experiment that cannot be written", "name another file: --output FILE"),
    ErrorKind("U040", "not a RAID set", "write LEVEL:MEMBER,MEMBER,...: raid1:/dev/sdb,/dev/sdc", EXIT_USAGE),
    ErrorKind("U041", "too few members for this RAID level", "name more members, or another level", EXIT_USAGE),
    ErrorKind("U042", "not a member of a RAID set", "name drives, partitions or scratch:SIZE", EXIT_USAGE),
    ErrorKind("U043", "one drive twice in a RAID set", "name each drive once", EXIT_USAGE),
    ErrorKind("U044", "not a number of members", "write how many: raid5:3*scratch:1GiB", EXIT_USAGE),
    ErrorKind("U045", "not a rate of commits", "write --for postgres --at-least 500", EXIT_USAGE),
    ErrorKind("U050", "nobody said when to begin", "write the moment to the standard input", EXIT_USAGE),
    ErrorKind("U051", "not a tag", "write KEY=VALUE: --tag rack=r07", EXIT_USAGE),
    ErrorKind("U052", "no number that drives share", "run the same experiment on each of them", EXIT_USAGE),
    ErrorKind("U053", "drives of several hosts", "name the host, HOST:TARGET, or the serial", EXIT_USAGE),
    ErrorKind("U054", "not the address of a store", "write s3://BUCKET/PREFIX, or a directory", EXIT_USAGE),
    # T: the target that was typed
    ErrorKind("T101", "the target does not exist", "check the spelling", EXIT_USAGE),
    ErrorKind("T102", "no permission to use the target", "run as root, or choose a target of your own"),
    ErrorKind("T103", "the target is read-only", "choose a target that can be written"),
    ErrorKind("T104", "the drive has no medium", "insert one, or choose another drive: drivelab drives"),
    ErrorKind("T105", "not something to send I/O to", "give a directory, a file or a block device", EXIT_USAGE),
    ErrorKind("T106", "no such simulated drive", "list them: drivelab drives --simulated", EXIT_USAGE),
    ErrorKind("T107", "the target vanished", "see whether the drive is still there: drivelab drives"),
    ErrorKind("T108", "too small for a scratch drive", "ask for a larger one: scratch:1GiB", EXIT_USAGE),
    ErrorKind("T109", "a drive cannot be served there", "name a new file in a directory of yours: drive.sock"),
    # B: recordings of the block layer
    ErrorKind("B901", "no such recording", "name a file, or what stands before .blktrace.0 in its name", EXIT_USAGE),
    ErrorKind("B902", "not a recording of the block layer", "name files that blktrace or blkparse -d wrote"),
    ErrorKind("B903", "a recording cannot be read", "run it as a user who may read the files"),
    ErrorKind(
        "B904", "a recording that is not whole", "trace again; blktrace -b 1024 -n 16 loses less", EXIT_NOT_TRUSTED
    ),
    ErrorKind("B905", "a directory without recordings", "name the one that holds NAME.blktrace.0", EXIT_USAGE),
    ErrorKind("B906", "a recording of an unknown version", "convert it, or install the newest drivelab"),
    ErrorKind("B910", "operations that cannot be joined", "make them from the records of one run: operations_of"),
    ErrorKind("B911", "a recording of another time", "name the one that was made while the operations ran"),
    ErrorKind("B912", "a recording of another disk", "name the one of the disk that the operations went to"),
    ErrorKind(
        "B920",
        "no load that can be issued again",
        "name an iolog of fio, a run with kept I/Os, or a block trace",
        EXIT_USAGE,
    ),
    ErrorKind(
        "B921", "a recorded load with a line or number that none can have", "correct what is named, or record again"
    ),
    ErrorKind("B922", "a recording without anything to issue", "record again while the program works"),
    ErrorKind("B923", "a recorded load out of order", "record each job into a file of its own"),
    # C: what must be true before a drive is written to
    ErrorKind("C201", "nobody consented to erase this drive", "type --erase and its serial", EXIT_REFUSED),
    ErrorKind("C202", "the drive is mounted", "unmount it, or choose another drive", EXIT_REFUSED),
    ErrorKind("C203", "the drive is swap space", "take it out of swap, or choose another drive", EXIT_REFUSED),
    ErrorKind("C204", "another device holds the drive", "take it out of that device, or choose another", EXIT_REFUSED),
    ErrorKind("C205", "the drive is open elsewhere", "end the program, or choose another drive", EXIT_REFUSED),
    ErrorKind("C206", "the drive holds something", "type --erase SERIAL+contents to destroy that too", EXIT_REFUSED),
    ErrorKind("C207", "not the drive that it was", "look again: drivelab drives", EXIT_REFUSED),
    ErrorKind("C208", "two drives go by this name", "name it by its WWN, or unplug the other one", EXIT_REFUSED),
    ErrorKind("C209", "the drive could not be looked at", "run as root", EXIT_REFUSED),
    ErrorKind("C210", "nobody consented to purge this drive", "type --purge and its serial", EXIT_REFUSED),
    ErrorKind("C211", "another run uses the drive", "wait until that run has ended", EXIT_REFUSED),
    ErrorKind("C212", "a setting that puts data at risk", "measure a whole drive that may be erased", EXIT_REFUSED),
    ErrorKind("C213", "what a run left on the drive is still there", "run: drivelab restore", EXIT_REFUSED),
    ErrorKind("C220", "a file of yours would be overwritten", "name a new file, or add --overwrite-file", EXIT_REFUSED),
    ErrorKind("C221", "the file for the records exists already", "name a file that does not exist", EXIT_REFUSED),
    # E: the engine
    ErrorKind("E301", "a workload that makes no sense", "correct the value that is named", EXIT_USAGE),
    ErrorKind("E302", "the file or device does not exist", "check the spelling of the path"),
    ErrorKind("E303", "no permission to open it", "run it with sudo, or choose a target of your own"),
    ErrorKind("E304", "the file system refuses O_DIRECT", "leave out --direct, or choose another file system"),
    ErrorKind("E305", "it can only be read", "choose a target that can be written"),
    ErrorKind("E306", "the file system is full", "free space there, or choose a smaller --size"),
    ErrorKind("E307", "the device is in use", "unmount it and stop what uses it, or choose another: drivelab drives"),
    ErrorKind("E308", "an offset or size that direct I/O cannot have", "use multiples of the logical block size"),
    ErrorKind("E309", "the target is smaller than asked", "choose a smaller --size, or a larger target"),
    ErrorKind("E310", "io_uring cannot be used here", "use --backend aio or sync, or leave the choice to drivelab"),
    ErrorKind("E311", "Linux asynchronous I/O cannot be used here", "use --backend sync, or uring"),
    ErrorKind("E312", "the buffers do not fit into memory", "choose a smaller block size, queue depth or job count"),
    ErrorKind("E313", "this backend cannot do that here", "choose another backend or operation"),
    ErrorKind("E314", "the operating system refused", "read its reason, above"),
    ErrorKind("E315", "a defect of the engine", "please report it, with the command that led to it"),
    ErrorKind("E316", "operations on files need a directory", "name a directory, or a file system made on the drive"),
    ErrorKind("E317", "the file system has too few inodes for the files", "choose fewer files"),
    ErrorKind("E318", "what lies there is not drivelab's", "move it away, or name another directory"),
    # R: running, settings, the undo journal
    ErrorKind("R401", "this needs root", "run it with sudo"),
    ErrorKind("R402", "a program is not installed", "install the package that is named"),
    ErrorKind("R403", "a program of the system failed", "read what it said; drivelab has put back what it changed"),
    ErrorKind("R404", "a setting was not taken", "leave that level out, or use another target"),
    ErrorKind("R405", "no room for a scratch drive", "ask for a smaller one, or name a directory in DRIVELAB_SCRATCH"),
    ErrorKind("R406", "something could not be put back", "end what uses it, then run: drivelab restore"),
    ErrorKind("R407", "no step of the plan gave a result", "read why the steps failed, above"),
    ErrorKind("R408", "a journal cannot be read", "look at the file, put back what it names, and delete it"),
    ErrorKind("R409", "no journal can be written", "make the directory writable, or set XDG_STATE_HOME"),
    ErrorKind("R420", "the drive failed an I/O", "look at the kernel log: dmesg"),
    ErrorKind("R421", "the run has nothing left to do", "read its report: drivelab report RUN", EXIT_USAGE),
    ErrorKind("R422", "the run cannot be resumed", "run the experiment again"),
    ErrorKind("R424", "what a simulated drive does not have", "leave it out, or measure a real drive", EXIT_USAGE),
    ErrorKind("R426", "a job of fio ended by a limit of its own", "read which, above; what it measured is kept"),
    ErrorKind("R425", "nothing that a step could take over from one before", "measure it with other levels"),
    ErrorKind("R423", "a run that another user can have written", "run the experiment again", EXIT_REFUSED),
    ErrorKind("R410", "cannot be trimmed or purged that way", "leave that level out, or use another drive"),
    ErrorKind("R411", "a trim or purge did not do its work", "read why, above, and look: drivelab drives"),
    ErrorKind(
        "R412",
        "a journal that somebody else may have written",
        "look at it before: drivelab restore --trust",
        EXIT_REFUSED,
    ),
    ErrorKind("R430", "tracing needs root", "run it with sudo"),
    ErrorKind("R431", "nothing can be traced here", "read why, above; drivelab btt reads what was traced elsewhere"),
    ErrorKind("R432", "somebody else traces", "wait until the other trace has ended"),
    ErrorKind("R433", "not a disk that can be traced", "name a whole disk: drivelab drives", EXIT_USAGE),
    ErrorKind("R434", "a recording could not be made", "free space where the recording goes, and trace again"),
    ErrorKind(
        "R435", "a trace that would be written to the disk that it traces", "name a directory elsewhere", EXIT_USAGE
    ),
    ErrorKind("R440", "operations cannot be traced here", "name a directory or a device with one drive beneath"),
    ErrorKind(
        "R441",
        "no operation was explained",
        "read why, above; the timed passes are kept: drivelab report RUN",
        EXIT_NOT_TRUSTED,
    ),
    ErrorKind("R442", "not a process that can be followed", "name a process: ps -e", EXIT_USAGE),
    ErrorKind("R443", "nobody has this file open", "start the program first, or follow it from its start: --command"),
    ErrorKind("R444", "a command that cannot be started", "name a program of this machine", EXIT_USAGE),
    ErrorKind(
        "R445",
        "a followed program that made no call to explain",
        "follow it while it reads, writes or syncs, on the disk of its files: --path DIR",
        EXIT_NOT_TRUSTED,
    ),
    ErrorKind("R450", "this kernel has no RAID", "load the module, or use a kernel that has it: modprobe md_mod"),
    ErrorKind("R451", "no working file can be made", "run it as a user who may write there"),
    ErrorKind("R452", "not enough room for a check", "free space there, or check a file: it is only read"),
    ErrorKind("R453", "the target is too small to be checked", "check a larger one, or use: drivelab io", EXIT_USAGE),
    ErrorKind("R454", "a trial has no data to work on", "read why the trial that lays them out failed"),
    ErrorKind("R455", "a RAID set could not be made", "read what mdadm said, above"),
    ErrorKind("R456", "not the RAID set that was asked for", "look at it while it is there: cat /proc/mdstat; dmesg"),
    ErrorKind("R457", "the RAID set is not whole", "replace the member that failed: dmesg; then: drivelab resume"),
    ErrorKind("R459", "not the file that was made", "let nobody rename files there, or use a directory of your own"),
    # S: the run directory
    ErrorKind("S501", "a run directory cannot be written", "name another place: --out DIR"),
    ErrorKind("S502", "no room to store the run", "free space there, or name another place: --out DIR"),
    ErrorKind("S503", "the disk that holds the run failed", "name another place: --out DIR"),
    ErrorKind("S504", "not a run directory", "name the directory that holds run.json", EXIT_USAGE),
    ErrorKind("S505", "a run of a newer drivelab", "install the newest drivelab: pip install --upgrade drivelab"),
    ErrorKind("S506", "a run directory is damaged", "restore it from a copy, or run the experiment again"),
    ErrorKind("S507", "another drivelab is writing the run", "wait until it is done, or end it"),
    ErrorKind("S508", "a query needs more memory than it may take", "name fewer columns, or fewer runs"),
    ErrorKind("S509", "the name of a run's directory is no UTF-8 text", "rename the directory"),
    ErrorKind("S510", "what reaches stores elsewhere is not installed", "pip install 'drivelab[remote]'"),
    ErrorKind("S511", "a store cannot be reached", "check the network and the address, and type it again: it goes on"),
    ErrorKind("S512", "a store lets nobody in", "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    ErrorKind("S513", "a store that is not there", "correct the name of the bucket, or make it", EXIT_USAGE),
    ErrorKind("S514", "a store takes nothing", "ask whoever has the bucket for the right to write (s3:PutObject)"),
    ErrorKind("S515", "a run in a store is damaged", "remove it and its manifest there, and push it again"),
    ErrorKind(
        "S516", "another run has this name in the store", "rename one of them, or remove it and its manifest there"
    ),
    ErrorKind("S517", "a run that has not ended", "end it first: drivelab resume RUN"),
    ErrorKind("S518", "a run in a store is only read", "copy it to a directory here, and name that"),
    ErrorKind("S519", "the run is in the store under another name", "read it under that name"),
    ErrorKind(
        "S520", "a store that holds what is put into it", "name a directory apart from that of the runs", EXIT_USAGE
    ),
    # I: results of other programs
    ErrorKind(
        "I501", "a file of no program that is known here", "name its program: drivelab import fio FILE", EXIT_USAGE
    ),
    ErrorKind("I502", "a file that should be JSON and is not", "export it again, or correct the line that is named"),
    ErrorKind("I503", "a field of a foreign file that cannot be read", "correct the line that is named"),
    ErrorKind("I504", "a line of a foreign file that does not fit its format", "correct the line that is named"),
    ErrorKind("I505", "a foreign file without results", "name the file that the program wrote its results to"),
    ErrorKind("I506", "a foreign file that cannot be opened", "name a text file that may be read", EXIT_USAGE),
    ErrorKind("I507", "a foreign format that is not read", "read which ones are: docs/how-to/import.md", EXIT_USAGE),
    ErrorKind("I508", "more results than a run should hold", "import the files in several runs", EXIT_USAGE),
    ErrorKind("I509", "results that are named twice", "name each file once", EXIT_USAGE),
    ErrorKind(
        "I510",
        "samples without a time, a drive or a latency",
        "name the columns of the first line: time,host,drive,throughput,latency",
        EXIT_USAGE,
    ),
    ErrorKind(
        "I511",
        "latencies whose units cannot be told",
        "write the unit into the name of the column, latency_us, or say it: --latency-unit us",
        EXIT_USAGE,
    ),
    ErrorKind(
        "I512",
        "several samples of one drive at one time",
        "add a column 'host', or name the directory whose folders are the hosts",
        EXIT_USAGE,
    ),
    # P: what an experiment asks for, and whether it can be planned
    ErrorKind("P701", "no such experiment", "list them: drivelab experiments", EXIT_USAGE),
    ErrorKind("P702", "an experiment or need that is not TOML", "correct the line that is named", EXIT_USAGE),
    ErrorKind("P703", "an experiment or need with a mistake", "correct the key that is named", EXIT_USAGE),
    ErrorKind("P704", "a factor that this target cannot have", "use a block device or scratch:SIZE", EXIT_USAGE),
    ErrorKind(
        "P705", "the target is too small", "use a larger target, or a smaller size; --quick needs less", EXIT_USAGE
    ),
    ErrorKind("P706", "a trial that cannot be issued", "change the workload that is named", EXIT_USAGE),
    ErrorKind("P707", "a level that this target cannot have", "leave it out: --skip-unavailable", EXIT_USAGE),
    ErrorKind("P708", "nothing is left to measure", "choose another target, or an experiment that fits it", EXIT_USAGE),
    ErrorKind("P709", "labels that do not fit the targets", "give one --label for each target", EXIT_USAGE),
    ErrorKind("P710", "two targets that overlap", "name only one of them", EXIT_REFUSED),
    ErrorKind("P711", "a target that cannot answer the question", "use a block device or scratch:SIZE", EXIT_USAGE),
    ErrorKind("P712", "a level that the experiment does not have", "choose one of those that it has", EXIT_USAGE),
    ErrorKind("P713", "an option that may reach beyond the target", "use only options that are listed", EXIT_USAGE),
    # F: many hosts as one
    ErrorKind("F901", "the hosts cannot be read", "check the file: docs/how-to/measure-many-hosts.md", EXIT_USAGE),
    ErrorKind("F902", "a mistake in the list of drives that may be erased", "write one serial a line", EXIT_USAGE),
    ErrorKind("F903", "no such fleet", "name a directory that 'drivelab fleet run' or 'fleet check' made", EXIT_USAGE),
    ErrorKind("F904", "keys that cannot be used", "make them: drivelab fleet keys DIR", EXIT_USAGE),
    ErrorKind("F905", "what carries messages between hosts is not installed", "pip install 'drivelab[fleet]'"),
    ErrorKind("F906", "a host was asked for something that a fleet does not ask", "start it by 'drivelab fleet run'"),
    ErrorKind("F907", "another command measures it", "wait until that has ended", EXIT_REFUSED),
    ErrorKind("F908", "a host with another version", "install the same drivelab on all of them"),
    ErrorKind("F909", "hosts and those who ask cannot reach each other", "check addresses, ports and keys"),
    ErrorKind("F910", "what a host sent is not what it has", "gather it again: drivelab fleet gather FLEET"),
    ErrorKind("F912", "a wheel that cannot be installed", "make one: make package leaves it in dist/", EXIT_USAGE),
    # O: the report
    ErrorKind("O801", "what pages are made with is not installed", "pip install 'drivelab[report]'"),
    ErrorKind("O802", "a report cannot be written", "name another place: --out FILE"),
    ErrorKind("O803", "what PNGs are made with is not installed", "pip install 'drivelab[pictures]'"),
    # runs in the formats of other programs
    ErrorKind(
        "O811", "a run that another program has no format for", "write its report as CSV: drivelab export csv RUN"
    ),
    ErrorKind("O812", "an export cannot be written", "name another place: --out PLACE"),
    ErrorKind("O813", "what answers queries is not installed", "pip install 'drivelab[sql]'"),
    # what notebooks ask for
    ErrorKind("O820", "a library for tables is not installed", "install it: pip install pandas"),
    ErrorKind("O821", "tables of an unknown kind", "one of arrow, pandas, polars", EXIT_USAGE),
    ErrorKind("O822", "a report in an unknown format", "one of html, markdown, csv, json, card", EXIT_USAGE),
    ErrorKind("O823", "nothing was named to be opened", "name a run, or a published page: reference:PAGE", EXIT_USAGE),
)

KINDS: dict[str, ErrorKind] = {kind.code: kind for kind in _KINDS}


class DrivelabError(Exception):
    """An expected failure: what happened, where, and what to do.

    Parameters
    ----------
    code : str
        A code of `KINDS`.
    what : str
        What happened, with the value and the bound.
    where : str, optional
        The target, the step, the file and line.
    do : str, optional
        A command or action that helps here; default the kind's advice.
    """

    def __init__(self, code: str, what: str, *, where: str = "", do: str = "") -> None:
        self.kind = KINDS[code]
        self.what = what
        self.where = where
        self.do = do or self.kind.advice
        super().__init__(what)

    @property
    def code(self) -> str:
        """Stable code of the error."""
        return self.kind.code

    @property
    def exit_code(self) -> int:
        """Exit status of the program when this error ends it."""
        return self.kind.exit_code

    def __str__(self) -> str:
        lines = [f"error[{self.code}] {self.what}"]
        if self.where:
            lines.append(f"  where: {self.where}")
        lines.append(f"  do:    {self.do}")
        return "\n".join(lines)


def error_words(error: BaseException) -> str:
    """What an error says, in one line: of one that nobody expected its kind, too."""
    if isinstance(error, DrivelabError):
        return error.what
    return ": ".join(filter(None, (type(error).__name__, str(error).strip().partition("\n")[0])))
