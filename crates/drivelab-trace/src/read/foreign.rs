//! What a file is that is no recording, as far as its first bytes tell.

/// What such a file looks like, and what to do, as a sentence without its end.
pub(crate) fn description(bytes: &[u8]) -> String {
    let known: [(&[u8], &str); 8] = [
        (b"\x1f\x8b", "it is compressed with gzip: gunzip it first"),
        (b"\x28\xb5\x2f\xfd", "it is compressed with zstd: unzstd it first"),
        (b"\xfd7zXZ", "it is compressed with xz: unxz it first"),
        (b"BZh", "it is compressed with bzip2: bunzip2 it first"),
        (b"PERFILE2", "it is a recording of perf; blktrace's files, or a dump of blkparse -d, are read"),
        (
            b"\x17\x08\x44tracing",
            "it is a recording of trace-cmd; blktrace's files, or a dump of blkparse -d, are read",
        ),
        (b"PAR1", "it is a Parquet file; blktrace's files, or a dump of blkparse -d, are read"),
        (b"\x7fELF", "it is a program; blktrace's files, or a dump of blkparse -d, are read"),
    ];
    if let Some((_, what)) = known.iter().find(|(start, _)| bytes.starts_with(start)) {
        return format!("not a block trace: {what}");
    }
    let sample = &bytes[..bytes.len().min(512)];
    if sample.get(257..262) == Some(b"ustar") {
        return "not a block trace: it is a tar archive: unpack it first".to_owned();
    }
    if sample.iter().all(|byte| *byte == 0) {
        return "not a block trace: it starts with zeros".to_owned();
    }
    if sample.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        return "not a block trace: it is text; the binary files that blktrace wrote are read, or blkparse -d's dump"
            .to_owned();
    }
    let first: Vec<String> = sample.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("not a block trace: it starts with the bytes {}, not with 07 74 61 65", first.join(" "))
}

#[cfg(test)]
mod tests {
    use super::description;

    #[test]
    fn common_mistakes_are_named() {
        for (bytes, what) in [
            (b"\x1f\x8b\x08".as_slice(), "gunzip"),
            (b"PERFILE2....", "perf"),
            (b"  8,0    1        1     0.000000000    70  Q  WS 8 + 8 [fio]\n", "text"),
            (&[0; 100], "zeros"),
            (b"\xff\xfe\0\x01", "ff fe 00 01"),
        ] {
            assert!(description(bytes).contains(what), "{}", description(bytes));
        }
    }
}
