"""Every key of ``hosts.toml``; the tables of the page about many hosts are made from this list."""

from __future__ import annotations

from drivelab.experiments.keys import Key

KEYS: dict[str, dict[str, Key]] = {
    "FleetHosts": {
        "format": Key("`1`", "", "version of this format", is_required=True),
        "defaults": Key("a table", "{}", "what all hosts share: the keys of a host; what a host says itself counts"),
        "hosts": Key("a table of tables", "", "the hosts, by name: letters, digits, `.`, `_`, `-`", is_required=True),
    },
    "HostEntry": {
        "address": Key(
            "a name or an address",
            "",
            "what ssh connects to, or Slurm or Kubernetes calls the node; without it the name",
        ),
        "user": Key("a name", "", "the user there; without it ssh's own"),
        "port": Key("1 to 65535", "", "the port of its sshd; without it ssh's own"),
        "sudo": Key("`true`, `false`", "", "whether drivelab is started by `sudo -n` there"),
        "drivelab": Key(
            "a command", "", "drivelab there; without it `drivelab`, as a login without a terminal finds it"
        ),
        "drives": Key("a list of rules or serials", "", "which drives are meant"),
        "targets": Key("a list of texts", "", 'directories and other targets: `"/var/lib/etcd"`, `"scratch:4GiB"`'),
        "tags": Key(
            'a table: `{ rack = "r07" }`',
            "{}",
            "words of your own, kept with each run of the host, as by `--tag`",
        ),
    },
    "DriveRule": {
        "serial": Key("a text", "", "its serial"),
        "name": Key("a text", "", "its name there: `nvme0n1`"),
        "model": Key("a text with `*` and `?`", "", 'its model: `"SAMSUNG MZ7LH*"`; `"*"` is every model'),
        "transport": Key("a text", "", "how it is connected: `nvme`, `sata`, `usb`"),
        "rotational": Key("`true`, `false`", "", "whether it is a disk that rotates"),
        "in_use": Key("`true`, `false`", "false", "whether one that is mounted or used is meant, too, to be read"),
        "min_size": Key("a size: `1TB`", "", "how large it is at least"),
    },
}
