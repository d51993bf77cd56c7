"""Tables of the published pages as they print them, typed from the pages: a cell that spans rows is empty below."""

from __future__ import annotations

from collections.abc import Sequence

SSD_LATENCY_HARDWARE = """
Machine | Type | Model | Linux Distro/Version | SATA
rc01/rc21 | Server | Colfax CX1180-X4 / Supermicro 5016TI-TF | Debian 8.3, Kernel 3.16.7 | 3Gbps
rcmonster | Server | Colfax CX1265i-X5 | " | 6Gbps
rcmaster | Server | Colfax 6016T-NTF | " | 3Gbps
"""

SSD_LATENCY_DRIVES = """
Drive Name | Firmware | Capacity | Installed On
Samsung 850 PRO | EXM02B6Q | 256GB | rc01
Crucial M4 CT128M4SSD2 | 0309 | 128GB | rc21
Intel 5120 SSDSC2CW120A3 | 400i | 120GB | rcmonster
Crucial M550 Crucial_CT1024M550SSD1 | MU01 | 1TB | rcmonster
Western Digital 7200RPM WD1002FBYS-02A6B0 | 03.00C06 | 1TB | rcmaster
"""

SSD_LATENCY_RAW = """
Drive Name/Model | Firmware | Write Cache | Filesystem | TRIM | 512B Write Latency (ms)
Samsung 850 PRO 256 GB on rc01 | EXM02B6Q | Enabled | RAW | - | 3.10
 |  |  | Ext4 | Yes | ~8
 |  |  | Ext4 | No | ~8
 |  |  | XFS | Yes | 6.2
 |  |  | XFS | No | 6.2
 |  | Disabled | RAW | n/a | 2.9
 |  |  | Ext4 | Yes | 10.5
 |  |  | Ext4 | No | 10.5
 |  |  | XFS | Yes | 6.05
 |  |  | XFS | No | 6.06
Crucial 128GB M4 - CT128M4SSD2 on rc21 | 0309 | Enabled | RAW | - | 3.76
 |  |  | Ext4 | Yes | 7.8
 |  |  |  | No | 8.2
 |  |  | XFS | Yes | 5.7
 |  |  |  | No | 5.4
 |  | Disabled | RAW | - | 1.3
 |  |  | Ext4 | Yes | 4.3
 |  |  |  | No | 4.5
 |  |  | XFS | Yes | 2.8
 |  |  |  | No | 2.8
Intel 520 120GB SSDSC2CW120A3 on rcmonster | 400i | Enabled | RAW | - | 0.44
 |  |  | Ext4 | Yes | 0.96
 |  |  |  | No | 0.96
 |  |  | XFS | Yes | 0.88
 |  |  |  | No | 0.88
 |  | Disabled | RAW | - | 0.048
 |  |  | Ext4 | Yes | 0.25
 |  |  |  | No | 0.24
 |  |  | XFS | Yes | 0.13
 |  |  |  | No | 0.13
Crucial M550 1TB Crucial_CT1024M550SSD1 on rcmonster | MU01 | Enabled | RAW | - | 4.2
 |  |  | Ext4 | Yes | 8.7
 |  |  |  | No | 8.7
 |  |  | XFS | Yes | 8.6
 |  |  |  | No | 8.6
 |  | Disabled | RAW | - | 2.0
 |  |  | Ext4 | Yes | 6.1
 |  |  |  | No | 6.1
 |  |  | XFS | Yes | 4.0
 |  |  |  | No | 4.0
WD 7200RPM HDD WD1002FBYS-02A6B0 | 03.00C06 | Enabled | RAW | - | 8.5
 |  |  | Ext4 | Yes | 40.1
 |  |  |  | No | 41.3
 |  |  | XFS | Yes | 31
 |  |  |  | No | 31
 |  | Disabled | RAW | - | 8.5
 |  |  | Ext4 | Yes | 42.5
 |  |  |  | No | 41.2
 |  |  | XFS | Yes | 30
 |  |  |  | No | 30
"""

SSD_LATENCY_PIVOT = """
Drive | RAW + WC | Ext4 + WC | XFS + WC | RAW - WC | Ext4 - WC | XFS - WC
Samsung 850 PRO 256 GB | 3.1 | 8 | 6.2 | 2.9 | 10.5 | 6.05
Crucial M4 128GB on rc21 | 3.76 | 8 | 5.5 | 1.3 | 4.4 | 2.8
Intel 520 120GB on rcmonster | 0.44 | 0.96 | 0.88 | 0.048 | 0.25 | 0.13
Crucial 550 1TB on rcmonster | 4.2 | 8.7 | 8.6 | 2.0 | 6.1 | 4.0
Western Digital 7200RPM on rcmaster | 8.5 | 40.1 | 31 | 8.5 | 42 | 30
"""

SSD_LATENCY_WRITE_CACHE = """
Drive | Write Cache | Max Bandwidth (MB/s) | Bandwidth Degradation | Small Write Latency (ms) | Latency Improvement
Samsung 850 PRO 256 GB on rc01 | Enabled | 234 |  | 3.1 |
 | Disabled | 61.4 | 3.8x | 2.9 | 1.06x
Crucial M4 on rc21 | Enabled | 175 |  | 3.76 |
 | Disabled | 135 | 1.3x | 1.3 | 2.9x
Intel 520 on rcmonster | Enabled | 251 |  | 0.44 |
 | Disabled | 257 | 0.98x (got faster) | 0.048 | 9.2x
Crucial M550 on rcmonster | Enabled | 253 |  | 4.2 |
 | Disabled | 228 | 1.1x | 2.0 | 2.1x
Western Digital 7200RPM on rcmaster | Enabled | 107 |  | 8.5 |
 | Disabled | 39.7 | 2.7x | 8.5 | 1.0x
"""

# the descriptions are told in fewer words than the page has
INTEL_530_MACHINES = """
name | type | description | model | distro | kernel | SATA | USB | Purchased
rc66 | server | the machine type to be used, 80 of them | \
Colfax CX1180-X4 / Supermicro 5016TI-TF | RHEL6 | 2.6.32 | 3gbps | 2.0 | 2011
rcmonster | server | newer and stronger, with Intel 520 drives, also RHEL6 | \
Colfax CX1265i-X5 | RHEL6 | 2.6.32 | 6gbps | 3.0 | 2013
flygecko | desktop | newer, newer version of Linux |  | Arch | 3.12 | 3gbps | 2.0 | 2013
x1 | laptop | newer version of Linux | \
Lenovo Thinkpad X1 Carbon | Debian Jessie | 3.12 | mSATA 6gbps | 3.0 | 2012
"""

INTEL_530_DISKS = """
model | qty | capacitor | performance
Crucial M4 | 160 |  | 3.7ms per write on rc66
Intel 320 (SSDSC2CW120A3) | 1 | yes | ~200us per write on rcmonster
Intel 520 (SSDSC2CW120A3) | 2 | no | <1ms per write on rc66, rcmonster (440us)
Intel X25-M (SSDSA2M120G2GC) | 1 |  | 210us per write on flygecko
Intel 530 (SSDSC2BW120A4) | 5 | no | 10ms per write on rc66 (9.8ms), rcmonster (10.1ms), and flygecko (9.7ms)
Intel 530 attached over USB-to-SATA adapter | 1 | no | <1ms per write on rc66, rcmonster, flygecko, and x1
SanDisk X100 (SD5SG2128G1052E) | 1 |  | 830us per write on x1
Cheap USB thumb drive | n |  | 7.6ms per write on x1
"""

INTEL_530_WRITE_CACHE = """
host | disk | write caching off | write caching on
rcmonster | 520 | 100us per write | 440us per write
rcmonster | 530 | 10.4ms per write | 10.1ms per write
rc66 | M4 | 1.5ms per write | 2.7ms per write
rc66 | 530 | 1.7ms per write | 9.8ms per write
flygecko | X25-M | 1.1ms per write | 210us per write
flygecko | 530 | 1.5ms per write | 9.5ms per write
"""

BTT_INTEL_530 = """
ALL | MIN | AVG | MAX | N
Q2Q | 0.000000943 | 0.010212746 | 0.736672437 | 1015
Q2G | 0.000001300 | 0.000002340 | 0.000022269 | 16144
G2I | 0.000001200 | 0.000002133 | 0.000020969 | 16144
Q2M | 0.000000173 | 0.000000526 | 0.000000858 | 112
I2D | 0.000006150 | 0.000068040 | 0.023831449 | 16144
M2D | 0.000014449 | 0.000021722 | 0.000026137 | 112
D2C | 0.000099355 | 0.002885890 | 0.160061067 | 1016
Q2C | 0.000125742 | 0.002958056 | 0.160093994 | 1016
"""

BTT_INTEL_X25_M = """
ALL | MIN | AVG | MAX | N
Q2Q | 0.000001345 | 0.000214151 | 0.000508142 | 1015
Q2G | 0.000000668 | 0.000001025 | 0.000005047 | 16080
G2I | 0.000000720 | 0.000000966 | 0.000019082 | 16080
Q2M | 0.000000237 | 0.000000374 | 0.000000968 | 176
I2D | 0.000000320 | 0.000003889 | 0.000020007 | 16080
M2D | 0.000015045 | 0.000021314 | 0.000028772 | 176
D2C | 0.000078657 | 0.000084969 | 0.000281596 | 1016
Q2C | 0.000083605 | 0.000091020 | 0.000317568 | 1016
"""

SSD_EVALUATION_CONTROLLERS = """
Controller Manufacturer | SSDs
Marvell 88SS9174 | Intel 510 series, Plextor M2, Crucial M4
Intel | All Intel SSDs aside from the 510 series
Samsung | Apparently Samsung drives, only
Toshiba | Only consumer drive appears to be Kingston SNVP325 series (though also used by OEMS, e.g. Apple)
Indilinx | Tons of random consumer drives (e.g. OCZ)
JMicron | Tons of random consumer drives (e.g. Kingston, OCZ)
Sandforce | Lots of random consumer drives
"""

SSD_EVALUATION_DRIVES = """
SSD | Sizes | Controller (purported) | Tested Firmware | Latest Firmware | Flash Chips (*) | Part Numbers | Link
Intel 320 Series | 80GB, 120GB | Intel PC29AS21BA0 | 0302 | ?? | Intel/Micron 25nm 29F16B08CCME1 | \
SSDSA2CW080G3B5, SSDSA2CW120G3B5 |
Samsung 470 Series | 64GB, 128GB | Samsung S3C29MAX01 | AXM09B1Q | AXM09B1Q (5/5/2011) | \
Samsung 32nm(?) K9HDGD8U5M | MZ-5PA064, MZ-5PA128 |
Crucial M4 | 64GB, 128GB | Marvell 88SS9174 | 0002 | 0002 (6/20/2011) | \
Intel/Micron 25nm 29F128G08CFAAB | CT064M4SSD2, CT128M4SSD2 |
Mushkin Calisto Deluxe | 60GB, 120GB | Sandforce SF1200 | 3.6.1 | 3.6.1 (4/28/2011) | \
Intel/Micron 34nm 29F64G08CAMDB | MKNSSDCL60GB-DX, MKNSSDCL120GB-DX |
"""

SAMSUNG_840_BUFFERS = """
drive | buffer
120GB | 3GB
250GB | 3GB
500GB | 6GB
750GB | 9GB
1TB | 12GB
"""


def cells_of(text: str) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table."""
    heads, *rows = [[cell.strip() for cell in line.split("|")] for line in text.strip("\n").split("\n")]
    assert {len(row) for row in rows} == {len(heads)}
    return heads, rows


def filled_down(rows: Sequence[Sequence[str]], columns: int) -> list[list[str]]:
    """The rows with what spans them in every one of them, in the first so many columns."""
    full: list[list[str]] = []
    for row in rows:
        kept = [cell or full[-1][place] for place, cell in enumerate(row[:columns])] if full else list(row[:columns])
        full.append([*kept, *row[columns:]])
    return full
