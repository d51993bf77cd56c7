//! System calls of followed threads: what `raw_syscalls` recorded, each entry with its return.
//!
//! Events are taken from all CPUs and put in order of time, since a thread may enter a call on one CPU and
//! return on another.

use std::collections::HashMap;
use std::io;

use crate::collect::Raw;
use crate::events::format::{EventFormat, Field, FormatError, PageFormat};
use crate::events::page::Page;

/// Arguments that are kept of a call: the first ones, and the last, the flags of `preadv2` and `pwritev2`.
pub const ARGUMENTS: usize = 5;
/// Which of its six they are.
pub const KEPT: [usize; ARGUMENTS] = [0, 1, 2, 3, 5];

/// One call that was seen from its entry to its return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The kernel's id of the thread.
    pub thread: u32,
    /// The kernel's id of its process; 0 where that is not told.
    pub process: u32,
    /// The kernel's number of the call.
    pub number: u32,
    /// Entry, by the clock of the trace.
    pub start_ns: u64,
    /// Return.
    pub end_ns: u64,
    /// Those of `KEPT`, as they stood in the registers.
    pub arguments: [u64; ARGUMENTS],
    /// What it returned.
    pub result: i64,
    /// Whether events were lost meanwhile: then entry and return may be those of two calls.
    pub is_doubtful: bool,
    /// Whether its thread slept meanwhile; None where that is not told.
    pub has_slept: Option<bool>,
}

/// A thread or process that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// The thread that started it.
    pub parent: u32,
    /// Its own id.
    pub child: u32,
    /// When.
    pub time_ns: u64,
    /// What it shares with who started it (`CLONE_...`).
    pub flags: u64,
}

/// What was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    /// In the order in which they began.
    pub calls: Vec<Call>,
    /// Threads and processes that were started, in order of time.
    pub started: Vec<Started>,
    /// Calls without a return: the trace or the thread ended first.
    pub unfinished: u64,
    /// Returns of calls that began before the trace.
    pub unbegun: u64,
    /// What was lost.
    pub missing: Missing,
}

/// The fields of the events that are followed.
#[derive(Debug)]
struct Layout {
    page: PageFormat,
    pid: Field,
    enter: (u16, Field, Field),
    exit: (u16, Field, Field),
    fork: Option<(u16, Field, Field)>,
}

impl Layout {
    fn parse(header_page: &str, formats: &[String]) -> Result<Self, FormatError> {
        let formats = formats.iter().map(|text| EventFormat::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let named = |name: &str| formats.iter().find(|format| format.name == name);
        let pair = |format: &EventFormat, first: &str, second: &str| {
            Ok((format.id, format.required(first)?.clone(), format.required(second)?.clone()))
        };
        let missing = |name: &str| FormatError(format!("the format of {name} is missing"));
        let enter = named("sys_enter").ok_or_else(|| missing("sys_enter"))?;
        let exit = named("sys_exit").ok_or_else(|| missing("sys_exit"))?;
        let fork = named("task_newtask").map(|it| pair(it, "pid", "clone_flags"));
        Ok(Self {
            page: PageFormat::parse(header_page)?,
            pid: enter.required("common_pid")?.clone(),
            enter: pair(enter, "id", "args")?,
            exit: pair(exit, "id", "ret")?,
            fork: fork.transpose()?,
        })
    }

    fn moment(&self, time: u64, data: &[u8]) -> Option<Moment> {
        self.event(data).map(|what| (time, self.pid.number(data) as u32, what))
    }

    fn event(&self, data: &[u8]) -> Option<What> {
        let id = u16::from_ne_bytes(*data.first_chunk::<2>()?);
        if id == self.enter.0 {
            let (word, start) = (self.enter.2.size / 6, self.enter.2.offset);
            let one = |at: usize| Field { offset: start + at * word, size: word, ..self.enter.2.clone() };
            let arguments = KEPT.map(|at| one(at).number(data));
            return Some(What::Enter(self.enter.1.number(data) as u32, arguments));
        }
        if id == self.exit.0 {
            return Some(What::Exit(self.exit.1.number(data) as u32, self.exit.2.number(data).cast_signed()));
        }
        let (number, child, flags) = self.fork.as_ref()?;
        (id == *number).then(|| What::Fork(child.number(data) as u32, flags.number(data)))
    }
}

#[derive(Debug, Clone, Copy)]
enum What {
    Enter(u32, [u64; ARGUMENTS]),
    Exit(u32, i64),
    Fork(u32, u64),
}

/// Time, thread, event.
type Moment = (u64, u32, What);
/// By thread the call that it is in: since when, its number and arguments.
type Open = HashMap<u32, (u64, u32, [u64; ARGUMENTS])>;

/// The calls in what was collected, by the texts of `header_page` and of the events' `format` files.
///
/// # Errors
/// The kernel's description of its events cannot be understood, or what was put aside cannot be read.
pub fn calls(raw: &mut Raw, header_page: &str, formats: &[String]) -> io::Result<Calls> {
    let layout = Layout::parse(header_page, formats)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.0))?;
    let mut moments = Vec::new();
    let missing = each_event(raw, &layout.page, |time, data| moments.extend(layout.moment(time, data)))?;
    moments.sort_by_key(|moment| moment.0);
    let mut found = Calls { missing, ..Calls::default() };
    let unfinished = found.pair(&moments, &mut HashMap::new());
    found.unfinished += unfinished;
    Ok(found)
}

/// What is missing of one CPU's events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Missing {
    /// Pages that could not be read to their end.
    pub damaged_pages: u64,
    /// Gaps in which events were lost.
    pub gaps: Vec<(u64, u64)>,
    pub(crate) last_ns: u64,
}

impl Missing {
    /// Gives the events of the next page to `take`: time and bytes.
    pub fn each_event(&mut self, format: &PageFormat, page: &[u8], mut take: impl FnMut(u64, &[u8])) {
        let Ok(events) = Page::open(format, page) else {
            self.damaged_pages += 1;
            return;
        };
        let mut has_gap = events.lost_before != Some(0);
        for event in events {
            let Ok(event) = event else {
                self.damaged_pages += 1;
                has_gap = true;
                break;
            };
            if has_gap {
                self.gaps.push((self.last_ns, event.time));
                has_gap = false;
            }
            self.last_ns = event.time;
            take(event.time, event.data);
        }
        if has_gap {
            self.gaps.push((self.last_ns, u64::MAX));
        }
    }

    /// Whether events were lost between two moments.
    #[must_use]
    pub fn touches(&self, start_ns: u64, end_ns: u64) -> bool {
        self.gaps.iter().any(|&(from, until)| from < end_ns && start_ns < until)
    }

    /// What is missing of another CPU, too.
    pub fn add(&mut self, other: Self) {
        self.damaged_pages += other.damaged_pages;
        self.gaps.extend(other.gaps);
    }
}

/// Gives every event of all CPUs to `take`, one CPU after the other, and tells what is missing.
///
/// # Errors
/// What was put aside cannot be read.
pub fn each_event(
    raw: &mut Raw,
    format: &PageFormat,
    mut take: impl FnMut(u64, &[u8]),
) -> io::Result<Missing> {
    let mut missing = Missing::default();
    for cpu in &mut raw.cpus {
        let mut of_cpu = Missing::default();
        cpu.each_page(|page| {
            of_cpu.each_event(format, page, &mut take);
            Ok(())
        })?;
        missing.add(of_cpu);
    }
    Ok(missing)
}

/// Pairs calls while they are still being recorded.
#[derive(Debug)]
pub struct LiveCalls {
    layout: Layout,
    open: Open,
}

impl LiveCalls {
    /// By the texts of `header_page` and of the events' `format` files.
    ///
    /// # Errors
    /// They cannot be understood.
    pub fn new(header_page: &str, formats: &[String]) -> Result<Self, FormatError> {
        Ok(Self { layout: Layout::parse(header_page, formats)?, open: Open::new() })
    }

    /// The calls that have returned in these pages, which are newer than those of the last time.
    pub fn next(&mut self, pages: &[Vec<u8>]) -> Calls {
        let (mut moments, mut found) = (Vec::new(), Calls::default());
        for page in pages {
            // where events were lost, a call may be halves of two: the lasting record tells
            Missing::default().each_event(&self.layout.page, page, |time, data| {
                moments.extend(self.layout.moment(time, data));
            });
        }
        moments.sort_by_key(|moment| moment.0);
        found.pair(&moments, &mut self.open);
        found
    }
}

impl Calls {
    /// Pairs entries with returns; how many calls are `open` after it.
    fn pair(&mut self, moments: &[Moment], open: &mut Open) -> u64 {
        for &(time, thread, what) in moments {
            match what {
                What::Enter(number, arguments) => {
                    self.unfinished += u64::from(open.insert(thread, (time, number, arguments)).is_some());
                }
                What::Exit(number, result) => match open.remove(&thread) {
                    Some((start_ns, begun, arguments)) if begun == number => {
                        let is_doubtful = self.missing.touches(start_ns, time);
                        let call = Call {
                            thread,
                            process: 0,
                            number,
                            start_ns,
                            end_ns: time,
                            arguments,
                            result,
                            is_doubtful,
                            has_slept: None,
                        };
                        self.calls.push(call);
                    }
                    other => {
                        self.unbegun += 1;
                        self.unfinished += u64::from(other.is_some());
                    }
                },
                What::Fork(child, flags) => {
                    self.started.push(Started { parent: thread, child, time_ns: time, flags });
                }
            }
        }
        self.calls.sort_by_key(|call| call.start_ns);
        open.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(time: u64, thread: u32, number: u32) -> Moment {
        (time, thread, What::Enter(number, [3, 0, 0, 0, 0]))
    }

    fn exit(time: u64, thread: u32, number: u32) -> Moment {
        (time, thread, What::Exit(number, 0))
    }

    fn paired(moments: &[Moment], gaps: &[(u64, u64)]) -> Calls {
        let missing = Missing { gaps: gaps.to_vec(), ..Missing::default() };
        let mut found = Calls { missing, ..Calls::default() };
        found.unfinished += found.pair(moments, &mut HashMap::new());
        found
    }

    #[test]
    fn entries_and_returns_of_several_threads_are_paired() {
        let found =
            paired(&[enter(1, 7, 74), enter(2, 8, 75), exit(5, 8, 75), exit(9, 7, 74), enter(9, 8, 1)], &[]);
        let told: Vec<_> = found.calls.iter().map(|call| (call.thread, call.start_ns, call.end_ns)).collect();
        assert_eq!(told, [(7, 1, 9), (8, 2, 5)]);
        assert_eq!((found.unfinished, found.unbegun), (1, 0));
    }

    #[test]
    fn a_return_of_another_call_is_no_return_of_this_one() {
        let found = paired(&[exit(1, 7, 0), enter(2, 7, 74), exit(3, 7, 75)], &[]);
        assert_eq!((found.calls.len(), found.unfinished, found.unbegun), (0, 1, 2));
    }

    #[test]
    fn calls_that_a_loss_touches_are_doubtful_and_others_are_not() {
        let moments = [enter(1, 7, 74), exit(4, 7, 74), enter(5, 7, 74), exit(9, 7, 74)];
        let found = paired(&moments, &[(6, 8)]);
        assert_eq!(found.calls.iter().map(|call| call.is_doubtful).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn a_description_without_the_events_is_refused_by_name() {
        let mut raw = Raw { cpus: Vec::new(), thread_cpu_ns: 0, rounds: 0, is_full: false, failure: None };
        let error = calls(&mut raw, "", &[]).unwrap_err();
        assert_eq!(error.to_string(), "the format of sys_enter is missing");
    }
}
