"""Which numbers of a mixed trial are of which operation."""

from __future__ import annotations

from drivelab.model.operations_apart import operations_apart, plural

MIX = {
    "iops": 100.0,
    "throughput_bytes_per_s": 400.0,
    "read_iops": 70.0,
    "read_throughput_bytes_per_s": 280.0,
    "write_iops": 30.0,
    "write_throughput_bytes_per_s": 120.0,
    "total_latency_ns_p50": 5.0,
    "write_total_latency_ns_p50": 9.0,
    "device_flushes_per_operation": 1.0,
    "device_reads_per_operation": 1.0,
    "cpu_share": 0.5,
}


def test_each_operation_has_its_latency_its_rates_and_its_commands() -> None:
    found = operations_apart(MIX, "read")
    assert list(found) == ["read", "write", "read and write"]
    assert found["read"] == {
        "total_latency_ns_p50": "total_latency_ns_p50",
        "iops": "read_iops",
        "throughput_bytes_per_s": "read_throughput_bytes_per_s",
        "device_reads_per_operation": "device_reads_per_operation",
    }
    assert found["write"] == {
        "total_latency_ns_p50": "write_total_latency_ns_p50",
        "iops": "write_iops",
        "throughput_bytes_per_s": "write_throughput_bytes_per_s",
        "device_flushes_per_operation": "device_flushes_per_operation",
    }
    assert set(found["read and write"]) == {"iops", "throughput_bytes_per_s", "cpu_share"}


def test_a_write_that_ends_durable_is_told_by_that_latency() -> None:
    durable = MIX | {"durable_write_total_latency_ns_mean": 90.0}
    assert operations_apart(durable, "read")["durable_write"]["total_latency_ns_mean"] == (
        "durable_write_total_latency_ns_mean"
    )
    main = operations_apart(MIX | {"read_total_latency_ns_p50": 4.0}, "durable_write")
    assert main["durable_write"]["total_latency_ns_p50"] == "total_latency_ns_p50"
    assert main["read"]["total_latency_ns_p50"] == "read_total_latency_ns_p50"


def test_one_direction_and_what_is_written_back_are_no_mix() -> None:
    assert operations_apart({"iops": 5.0, "total_latency_ns_p50": 1.0}, "read") == {}
    assert operations_apart({"iops": 5.0, "read_iops": 5.0, "write_iops": 5.0}, "read") == {}
    assert operations_apart({**MIX, "write_iops": None, "iops": 70.0}, "read") == {}


def test_operations_are_named_in_words() -> None:
    assert [plural(name) for name in ("read", "durable_write", "read and write")] == [
        "reads",
        "durable writes",
        "reads and writes",
    ]
