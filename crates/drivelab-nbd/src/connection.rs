//! One client: a thread takes its commands, another one answers each of them when it is time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::drive::{Accepted, ServedDrive};
use crate::protocol::{Asked, EIO, Request, TRANSFER_BYTES_MAX, broken, reply_header};

/// More commands, or bytes of them, are not taken in before others are answered.
const OUTSTANDING_MAX: usize = 1024;
const OUTSTANDING_BYTES_MAX: usize = 256 << 20;

/// An answer that waits for its moment.
struct Answer {
    at_ns: u64,
    /// Those of one moment leave in the order in which their commands came.
    number: u64,
    /// None for a request that was refused: the drive knows nothing of it.
    accepted: Option<Accepted>,
    bytes: Vec<u8>,
}

impl Answer {
    fn order(&self) -> Reverse<(u64, u64)> {
        Reverse((self.at_ns, self.number))
    }
}

impl PartialEq for Answer {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Answer {}

impl PartialOrd for Answer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Answer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

#[derive(Default)]
struct Waiting {
    answers: BinaryHeap<Answer>,
    bytes: usize,
    /// No more commands will come.
    is_last: bool,
    /// Nobody takes answers any more.
    is_gone: bool,
}

/// What both threads share.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an answer once there is room for it; false when nobody takes it.
    fn put(&self, answer: Answer) -> bool {
        let is_full = |waiting: &mut Waiting| {
            let is_full = waiting.answers.len() >= OUTSTANDING_MAX || waiting.bytes >= OUTSTANDING_BYTES_MAX;
            is_full && !waiting.is_gone
        };
        let mut waiting =
            self.changed.wait_while(self.lock(), is_full).unwrap_or_else(PoisonError::into_inner);
        waiting.bytes += answer.bytes.len();
        waiting.answers.push(answer);
        self.changed.notify_all();
        !waiting.is_gone
    }

    /// The next answer, at its moment; none when the last one has left.
    fn take(&self, drive: &ServedDrive) -> Option<Answer> {
        let mut waiting = self.lock();
        loop {
            let wait = match waiting.answers.peek() {
                Some(answer) => drive.until(answer.at_ns),
                None if waiting.is_last => return None,
                None => {
                    waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
            };
            if wait.is_zero() {
                let answer = waiting.answers.pop()?;
                waiting.bytes -= answer.bytes.len();
                self.changed.notify_all();
                return Some(answer);
            }
            waiting = self.changed.wait_timeout(waiting, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Serves a client that has negotiated, until it leaves or breaks the protocol.
///
/// # Errors
///
/// What the connection says; `InvalidData` when the client does not keep to the protocol.
pub fn serve(mut requests: impl Read, answers: impl Write + Send, drive: &ServedDrive) -> io::Result<()> {
    let queue = Queue::default();
    thread::scope(|scope| {
        scope.spawn(|| send(answers, &queue, drive));
        let ended = receive(&mut requests, &queue, drive);
        queue.lock().is_last = true;
        queue.changed.notify_all();
        ended
    })
}

fn receive(requests: &mut impl Read, queue: &Queue, drive: &ServedDrive) -> io::Result<()> {
    for number in 0.. {
        let request = match Request::read(requests) {
            Ok(request) => request,
            // clients may leave without a word
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        };
        if request.asked == Asked::Disconnect {
            return Ok(());
        }
        let mut data = Vec::new();
        if request.asked == Asked::Write {
            if request.bytes > TRANSFER_BYTES_MAX {
                return Err(broken("a write too long"));
            }
            data.resize(request.bytes as usize, 0);
            requests.read_exact(&mut data)?;
        }
        if !queue.put(answer_to(&request, data, number, drive)) {
            return Ok(());
        }
    }
    Ok(())
}

fn answer_to(request: &Request, mut data: Vec<u8>, number: u64, drive: &ServedDrive) -> Answer {
    let mistake = request.mistake(drive.export().size_bytes);
    if mistake != 0 {
        drive.tally().refused_requests += 1;
        let bytes = reply_header(request.cookie, mistake).to_vec();
        return Answer { at_ns: 0, number, accepted: None, bytes };
    }
    let accepted = drive.accept(request);
    let mut error = accepted.done.result.min(0).unsigned_abs();
    if error == 0 {
        if request.asked == Asked::Read {
            data.resize(request.bytes as usize, 0);
        }
        if drive.move_data(request, &mut data).is_err() {
            drive.tally().failed_contents += 1;
            error = EIO;
        }
    }
    let mut bytes = reply_header(request.cookie, error).to_vec();
    if request.asked == Asked::Read && error == 0 {
        bytes.append(&mut data);
    }
    Answer { at_ns: accepted.done.at_ns, number, accepted: Some(accepted), bytes }
}

fn send(mut answers: impl Write, queue: &Queue, drive: &ServedDrive) {
    // SAFETY: sets a number of this thread; a sleep ends as near to its moment as the kernel can have it
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
    while let Some(answer) = queue.take(drive) {
        if let Some(accepted) = &answer.accepted {
            drive.count(accepted);
        }
        if answers.write_all(&answer.bytes).is_err() {
            break;
        }
    }
    queue.lock().is_gone = true;
    queue.changed.notify_all();
}
