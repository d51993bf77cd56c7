"""The commands of ``drivelab fleet``, in the order in which one works with them."""

from __future__ import annotations

from drivelab.cli.command import Command

COMMANDS = (
    Command(
        "fleet run",
        "One experiment on drives of many hosts, over ssh; the runs come here.",
        ("fleet run ssd-latency --hosts hosts.toml --erase-list serials.txt", "fleet run queue-depth --hosts h.toml"),
    ),
    Command(
        "fleet check",
        "Are drives and directories of many hosts fit? Nothing is destroyed.",
        ("fleet check --hosts hosts.toml --for etcd",),
    ),
    Command(
        "fleet io",
        "One workload from many hosts at the same moment: shared storage.",
        ("fleet io --hosts hosts.toml --operation write --block-size 1MiB --size 1GiB --runtime 10s",),
        takes_words=True,
    ),
    Command(
        "fleet drives",
        "The drives of many hosts, and in what those of one model differ.",
        ("fleet drives --hosts hosts.toml", "fleet drives --hosts hosts.toml --kubernetes registry/drivelab:1.0"),
    ),
    Command(
        "fleet status",
        "What became of a fleet, also while it is measured.",
        ("fleet status", "fleet status FLEET --json"),
    ),
    Command(
        "fleet resume",
        "Go on with a fleet: what was cut off, failed or could not be asked.",
        ("fleet resume LAST", "fleet resume FLEET --erase-list serials.txt", "fleet resume LAST --dry-run"),
    ),
    Command(
        "fleet gather",
        "Bring here the runs that lie complete on their hosts.",
        ("fleet gather LAST",),
    ),
    Command(
        "fleet restore",
        "Have hosts put back what killed runs left changed.",
        ("fleet restore --hosts hosts.toml",),
    ),
    Command(
        "fleet install",
        "Put a wheel of drivelab on many hosts, over ssh.",
        ("fleet install drivelab-0.1.0-...whl --hosts hosts.toml", "fleet install WHEEL --with wheels/ --hosts h.toml"),
    ),
    Command(
        "fleet keys",
        "Certificates for hosts that a job of your own starts.",
        ("fleet keys ./fleet-keys", "fleet keys ./fleet-keys --hosts hosts.toml"),
    ),
    Command(
        "fleet worker",
        "Be a host of a fleet, where a job of your own starts it.",
        ("fleet worker tls://10.0.0.1:8786 --keys ./fleet-keys",),
    ),
    Command(
        "fleet odd",
        "Which of many drives is slow, by monitoring data: the drive or its whole host?",
        ("fleet odd samples/", "fleet odd monday.csv.gz tuesday.csv.gz --details", "fleet odd iostat.json --json"),
    ),
    Command(
        "fleet report",
        "What the runs of many drives tell: which stand apart, and what explains the differences.",
        ("fleet report", "fleet report runs/ --out fleet.html", "fleet report RUN RUN RUN --json"),
    ),
    Command(
        "fleet site",
        "Everything that many runs tell as pages that open offline: a list to filter, sort and compare in.",
        ("fleet site runs/ --out site", "fleet site FLEET --out site --no-run-pages"),
    ),
)
