"""What iostat -x and sar -d print, on real output of several of their versions."""

from __future__ import annotations

import pytest

from drivelab.interop.foreign import ForeignTrial, SourceText
from drivelab.interop.recognise import read_foreign, recognised_kind
from drivelab.model.errors import DrivelabError

IOSTAT = """\
Linux 7.0.12-linuxkit (pgops) \t09/25/2026 \t_aarch64_\t(14 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.72    0.10    1.56    0.38    0.00   96.23

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util
vda              2.17     26.31     3.15  59.21    0.12    12.11  813.42  10206.07    99.52  10.90    0.40    12.55    0.35   3.85
vdb              0.22    102.59     0.00   0.27    0.35   460.19    0.00      0.00     0.00   0.00    0.00     0.00    0.00   0.00

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util
vda              0.00      0.00     0.00   0.00    0.00     0.00 1000.00   4000.00     0.00   0.00    2.00     4.00    2.00  99.00
vdb             50.00    200.00     0.00   0.00    1.00     4.00    0.00      0.00     0.00   0.00    0.00     0.00    0.05   5.00

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util
vda              0.00      0.00     0.00   0.00    0.00     0.00 3000.00  12000.00     0.00   0.00    4.00     4.00   12.00 100.00
"""  # noqa: E501
OLD_IOSTAT = """\
Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
sda               0,00     0,00  100,00    0,00     1,00     0,00    16,00     0,10    0,50    0,50    0,00   0,10   1,00
"""  # noqa: E501
SAR = """\
Linux 6.12.46-66.121.amzn2023.x86_64 (ip-192-168-94-143)     10/31/25        _x86_64_        (2 CPU)

21:15:28          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
21:15:29      nvme0n1     22.00      0.00    244.00      0.00     11.09      0.02      0.91      2.00
21:15:29      nvme1n1   1059.00      0.00 262688.00      0.00    248.05     16.35     15.44    100.00

21:15:29          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
21:15:30      nvme0n1     20.00      0.00    224.00      0.00     11.20      0.02      0.95      2.00
21:15:30      nvme1n1   1022.00      0.00 254640.00      0.00    249.16     16.63     16.27    100.00

Average:          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
Average:      nvme0n1     21.00      0.00    234.00      0.00     11.14      0.02      0.93      2.00
"""
SAR_OF_12_HOURS = """\
04:18:47 PM       DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     svctm     %util
04:18:48 PM  dev253-0      4.00     16.00      0.00      4.00      0.00      0.50      1.75      0.70
04:18:49 PM  dev253-0      5.00     84.00      0.00     16.80      0.00      0.60      1.80      0.90
"""


def trials_of(text: str) -> dict[tuple[str, str], ForeignTrial]:
    assert recognised_kind(text) == "sysstat"
    return {(each.drive, each.operation): each for each in read_foreign(SourceText("counters.txt", text)).trials}


def test_the_report_since_the_boot_is_left_out_and_an_idle_device_counts_as_idle() -> None:
    trials = trials_of(IOSTAT)
    assert set(trials) == {("vda", "write"), ("vdb", "read")}
    written, read = trials["vda", "write"].estimates, trials["vdb", "read"].estimates
    assert written["iops"].value == 2000
    assert written["throughput_bytes_per_s"].value == 8000 * 1024
    assert written["total_latency_ns_mean"].value == 3.5e6
    assert read["iops"].value == 25
    notes = read_foreign(SourceText("counters.txt", IOSTAT)).notes
    assert any("since the boot, and is left out" in note for note in notes)
    assert any("whoever issued it" in note for note in notes)


def test_an_older_iostat_with_mb_and_decimal_commas_is_read() -> None:
    (trial,) = trials_of(OLD_IOSTAT).values()
    assert trial.estimates["throughput_bytes_per_s"].value == 2**20
    assert trial.estimates["total_latency_ns_mean"].value == 0.5e6


@pytest.mark.parametrize(("text", "drive", "iops"), [(SAR, "nvme1n1", 1040.5), (SAR_OF_12_HOURS, "dev253-0", 4.5)])
def test_sar_is_read_without_its_own_means(text: str, drive: str, iops: float) -> None:
    trial = trials_of(text)[drive, "mixed"]
    assert trial.estimates["iops"].value == iops
    assert trial.workload == "sar-mixed"


def test_the_mean_of_sar_is_that_of_its_reports() -> None:
    trial = trials_of(SAR)["nvme0n1", "mixed"]
    assert trial.estimates["iops"].value == 21
    assert trial.estimates["throughput_bytes_per_s"].value == 234 * 1024
    latency = trial.estimates["total_latency_ns_mean"].value
    assert latency == pytest.approx(0.93e6, abs=5e3)


def test_a_line_with_too_few_numbers_is_named() -> None:
    with pytest.raises(DrivelabError) as caught:
        read_foreign(SourceText("counters.txt", SAR.replace("     16.63     16.27    100.00", "")))
    assert (caught.value.code, caught.value.where) == ("I504", "counters.txt:9")


def test_a_report_of_idle_devices_has_no_result() -> None:
    text = SAR_OF_12_HOURS.replace("4.00     16.00", "0.00      0.00").replace("5.00     84.00", "0.00      0.00")
    with pytest.raises(DrivelabError) as caught:
        read_foreign(SourceText("counters.txt", text))
    assert caught.value.code == "I505"
