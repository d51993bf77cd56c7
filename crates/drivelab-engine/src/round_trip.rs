//! What the least that a program of commits can do costs beside its log: a client that asks, a server that answers.
//!
//! How long that takes is the computer's, not the drive's: two system calls on either side, and
//! a thread that sleeps while the log is synced, and is woken. What real programs take beside
//! their logs is a multiple of it that hardly differs from computer to computer.
//!
//! Both threads keep to one processor. Left to themselves they are on one or on two as it
//! happens, and to wake another processor of a guest takes 3 to 20 times as long, by how deeply
//! it sleeps and what else the host does.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::processor;

/// Bytes of a request, and of its answer.
const REQUEST: usize = 64;
/// Bytes that the server appends to its log for each.
const ENTRY: [u8; 107] = [b'.'; 107];
/// The first ones find cold caches.
const WARM_UP: usize = 20;
/// Of so many stretches of time the median counts: what disturbs one of them does not.
const STRETCHES: u32 = 9;

/// Mean time of a request less that of its log write, in ns: the median over stretches of time.
///
/// # Errors
/// The log cannot be opened, written or synced, or no request was answered in the time.
pub fn round_trip_ns(log: &Path, length: Duration) -> io::Result<f64> {
    let log = OpenOptions::new().append(true).open(log)?;
    let (client, server) = UnixStream::pair()?;
    let cpu = processor::current();
    thread::scope(|scope| {
        let served = scope.spawn(move || keep_to(cpu).and_then(|()| serve(server, log)));
        let asked = scope.spawn(move || keep_to(cpu).and_then(|()| ask(client, length)));
        let (served, asked) = (joined(served), joined(asked));
        // What the server failed at is why the client got no answer.
        served.and(asked)
    })
}

fn keep_to(cpu: Option<usize>) -> io::Result<()> {
    cpu.map_or(Ok(()), processor::keep_thread_on)
}

fn joined<T>(thread: thread::ScopedJoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Appends an entry for each request, makes it durable, and answers with how long that took.
fn serve(mut stream: UnixStream, mut log: File) -> io::Result<()> {
    let mut request = [0_u8; REQUEST];
    loop {
        match stream.read_exact(&mut request) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
        let begun = Instant::now();
        log.write_all(&ENTRY)?;
        log.sync_data()?;
        let wrote_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        request[..8].copy_from_slice(&wrote_ns.to_ne_bytes());
        stream.write_all(&request)?;
    }
}

/// Asks one request after another, and takes off what the server says of its log.
fn ask(mut stream: UnixStream, length: Duration) -> io::Result<f64> {
    let mut buffer = [0_u8; REQUEST];
    for _ in 0..WARM_UP {
        ask_once(&mut stream, &mut buffer)?;
    }
    let mut means = Vec::new();
    for _ in 0..STRETCHES {
        let (begun, mut own_ns, mut count) = (Instant::now(), 0.0, 0.0);
        while count == 0.0 || begun.elapsed() < length / STRETCHES {
            own_ns += ask_once(&mut stream, &mut buffer)?;
            count += 1.0;
        }
        means.push(own_ns / count);
    }
    means.sort_by(f64::total_cmp);
    Ok(means[means.len() / 2])
}

fn ask_once(stream: &mut UnixStream, buffer: &mut [u8; REQUEST]) -> io::Result<f64> {
    let begun = Instant::now();
    stream.write_all(buffer)?;
    stream.read_exact(buffer)?;
    let took_ns = begun.elapsed().as_secs_f64() * 1e9;
    let mut wrote = [0_u8; 8];
    wrote.copy_from_slice(&buffer[..8]);
    #[allow(clippy::cast_precision_loss)]
    Ok(took_ns - u64::from_ne_bytes(wrote) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_takes_longer_than_its_log_write() {
        let path = std::env::temp_dir().join(format!("drivelab-round-trip-{}", std::process::id()));
        let log = File::create(&path).unwrap();
        let found = round_trip_ns(&path, Duration::from_millis(50));
        std::fs::remove_file(&path).unwrap();
        let found = found.unwrap();
        assert!(found > 0.0, "{found}");
        let entries = log.metadata().unwrap().len() / ENTRY.len() as u64;
        assert!(entries >= WARM_UP as u64 + u64::from(STRETCHES), "{entries}");
    }

    #[test]
    fn who_measures_keeps_all_processors() {
        let path = std::env::temp_dir().join(format!("drivelab-round-trip-cpus-{}", std::process::id()));
        File::create(&path).unwrap();
        let before = thread::available_parallelism().unwrap();
        let found = round_trip_ns(&path, Duration::from_millis(10));
        std::fs::remove_file(&path).unwrap();
        found.unwrap();
        assert_eq!(thread::available_parallelism().unwrap(), before);
    }

    #[test]
    fn a_log_that_cannot_be_written_is_why_it_failed() {
        assert_eq!(
            round_trip_ns(Path::new("/nowhere/log"), Duration::ZERO).unwrap_err().kind(),
            ErrorKind::NotFound
        );
        let full = round_trip_ns(Path::new("/dev/full"), Duration::ZERO).unwrap_err();
        assert_eq!(full.raw_os_error(), Some(libc::ENOSPC));
    }
}
