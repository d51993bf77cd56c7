//! Requests of io_uring: what its trace events recorded, each submission with its completion.
//!
//! A request has an address in the kernel that no other one has meanwhile. Its completion may be told by another
//! thread than its submission (a worker, a poller), so the rings of everybody are recorded and told apart later.

use std::collections::HashMap;
use std::io;

use crate::calls::{Missing, each_event};
use crate::collect::Raw;
use crate::events::format::{EventFormat, Field, FormatError, PageFormat};

/// Of a request's flags: its descriptor is a number in the ring's own table (`REQ_F_FIXED_FILE`).
const FIXED_FILE: u64 = 1;
/// Of a completion's flags: the request has more of them to come (`IORING_CQE_F_MORE`).
const MORE: u64 = 2;
// named so up to Linux 6.2, and since
const SUBMISSIONS: [&str; 2] = ["io_uring_submit_sqe", "io_uring_submit_req"];

/// One request that was seen from its submission to its completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The kernel's id of the thread that submitted it: that of the program, or one that polls for it.
    pub thread: u32,
    /// What it does (`IORING_OP_...`).
    pub opcode: u8,
    /// Whether a thread of the kernel took it from the ring (SQPOLL).
    pub is_polled: bool,
    /// Whether its file is one of those that the ring knows by numbers of its own.
    pub is_registered: bool,
    /// Whether it was given to a worker.
    pub is_handed_over: bool,
    /// Its file's descriptor, where the kernel told it.
    pub descriptor: Option<i32>,
    /// Submission, by the clock of the trace.
    pub start_ns: u64,
    /// Completion.
    pub end_ns: u64,
    /// What it came to: bytes, or an error.
    pub result: i64,
    /// Whether events were lost meanwhile.
    pub is_doubtful: bool,
}

/// What was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requests {
    /// In the order in which they were submitted.
    pub requests: Vec<Request>,
    /// Requests without a completion.
    pub unfinished: u64,
    /// Completions of requests that were submitted before the trace, and of none.
    pub unbegun: u64,
    /// What was lost.
    pub missing: Missing,
}

/// The fields of the events.
#[derive(Debug)]
pub struct Layout {
    page: PageFormat,
    pid: Field,
    submit: (u16, [Field; 4]),
    complete: (u16, [Field; 3]),
    file: Option<(u16, [Field; 2])>,
    hand_over: Option<(u16, [Field; 1])>,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Submit { opcode: u8, flags: u64, is_polled: bool },
    File(i32),
    HandOver,
    Complete { result: i64, has_more: bool },
}

/// Time, thread, request, event.
type Moment = (u64, u32, u64, What);
/// By the address of a request what is known of it so far.
pub type Open = HashMap<u64, Request>;

impl Layout {
    /// Reads the texts of `header_page` and of the events' `format` files.
    ///
    /// # Errors
    /// The kernel does not tell of which request its events are.
    pub fn parse(header_page: &str, formats: &[String]) -> Result<Self, FormatError> {
        let formats = formats.iter().map(|text| EventFormat::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let named = |names: &[&str]| formats.iter().find(|format| names.contains(&format.name.as_str()));
        let missing = |name: &str| FormatError(format!("the format of {name} is missing"));
        let submit = named(&SUBMISSIONS).ok_or_else(|| missing(SUBMISSIONS[1]))?;
        let complete = named(&["io_uring_complete"]).ok_or_else(|| missing("io_uring_complete"))?;
        let file = named(&["io_uring_file_get"]).map(|it| fields(it, ["req", "fd"]));
        let hand_over = named(&["io_uring_queue_async_work"]).map(|it| fields(it, ["req"]));
        Ok(Self {
            page: PageFormat::parse(header_page)?,
            pid: submit.required("common_pid")?.clone(),
            submit: fields(submit, ["req", "opcode", "flags", "sq_thread"])?,
            complete: fields(complete, ["req", "res", "cflags"])?,
            file: file.transpose()?,
            hand_over: hand_over.transpose()?,
        })
    }

    fn moment(&self, time: u64, data: &[u8]) -> Option<Moment> {
        let id = u16::from_ne_bytes(*data.first_chunk::<2>()?);
        let number = |field: &Field| field.number(data);
        let thread = number(&self.pid) as u32;
        if id == self.submit.0 {
            let [request, opcode, flags, is_polled] = self.submit.1.each_ref().map(number);
            let what = What::Submit { opcode: opcode as u8, flags, is_polled: is_polled != 0 };
            return Some((time, thread, request, what));
        }
        if id == self.complete.0 {
            let [request, result, flags] = self.complete.1.each_ref().map(number);
            let what = What::Complete { result: result.cast_signed(), has_more: flags & MORE != 0 };
            return Some((time, thread, request, what));
        }
        if let Some((_, [request, descriptor])) = self.file.as_ref().filter(|file| id == file.0) {
            return Some((time, thread, number(request), What::File(number(descriptor) as i32)));
        }
        let (_, [request]) = self.hand_over.as_ref().filter(|it| id == it.0)?;
        Some((time, thread, number(request), What::HandOver))
    }
}

fn fields<const N: usize>(format: &EventFormat, names: [&str; N]) -> Result<(u16, [Field; N]), FormatError> {
    let found = names.map(|name| format.required(name).cloned());
    let mut whole = Vec::with_capacity(N);
    for field in found {
        whole.push(field?);
    }
    Ok((format.id, whole.try_into().expect("as many as there are names")))
}

/// The requests in what was collected, by the texts of `header_page` and of the events' `format` files.
///
/// # Errors
/// The kernel's description of its events cannot be understood, or what was put aside cannot be read.
pub fn requests(raw: &mut Raw, header_page: &str, formats: &[String]) -> io::Result<Requests> {
    let layout = Layout::parse(header_page, formats)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.0))?;
    let mut moments = Vec::new();
    let missing = each_event(raw, &layout.page, |time, data| moments.extend(layout.moment(time, data)))?;
    moments.sort_by_key(|moment| moment.0);
    let mut found = Requests { missing, ..Requests::default() };
    found.unfinished += found.pair(&moments, &mut Open::new());
    Ok(found)
}

impl Requests {
    /// Pairs submissions with completions; how many requests are `open` after it.
    fn pair(&mut self, moments: &[Moment], open: &mut Open) -> u64 {
        for &(time, thread, address, what) in moments {
            match what {
                What::Submit { opcode, flags, is_polled } => {
                    let request = Request {
                        thread,
                        opcode,
                        is_polled,
                        is_registered: flags & FIXED_FILE != 0,
                        is_handed_over: false,
                        descriptor: None,
                        start_ns: time,
                        end_ns: time,
                        result: 0,
                        is_doubtful: false,
                    };
                    self.unfinished += u64::from(open.insert(address, request).is_some());
                }
                What::File(descriptor) => {
                    open.entry(address).and_modify(|request| request.descriptor = Some(descriptor));
                }
                What::HandOver => {
                    open.entry(address).and_modify(|request| request.is_handed_over = true);
                }
                What::Complete { has_more: true, .. } => {}
                What::Complete { result, .. } => match open.remove(&address) {
                    Some(request) => {
                        let is_doubtful = self.missing.touches(request.start_ns, time);
                        self.requests.push(Request { end_ns: time, result, is_doubtful, ..request });
                    }
                    None => self.unbegun += 1,
                },
            }
        }
        self.requests.sort_by_key(|request| request.start_ns);
        open.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn submit(time: u64, address: u64, opcode: u8) -> Moment {
        (time, 7, address, What::Submit { opcode, flags: 0, is_polled: false })
    }

    fn complete(time: u64, address: u64, result: i64) -> Moment {
        (time, 9, address, What::Complete { result, has_more: false })
    }

    fn paired(moments: &[Moment], gaps: &[(u64, u64)]) -> Requests {
        let missing = Missing { gaps: gaps.to_vec(), ..Missing::default() };
        let mut found = Requests { missing, ..Requests::default() };
        found.unfinished += found.pair(moments, &mut Open::new());
        found
    }

    #[test]
    fn a_request_lasts_from_its_submission_to_its_completion_by_whomever() {
        let moments = [
            submit(1, 0xa, 23),
            (2, 7, 0xa, What::File(5)),
            submit(3, 0xb, 3),
            (4, 7, 0xb, What::HandOver),
            complete(8, 0xb, 0),
            complete(9, 0xa, 4096),
        ];
        let found = paired(&moments, &[]);
        let told: Vec<_> = found
            .requests
            .iter()
            .map(|it| {
                (it.thread, it.opcode, it.descriptor, it.is_handed_over, it.start_ns, it.end_ns, it.result)
            })
            .collect();
        assert_eq!(told, [(7, 23, Some(5), false, 1, 9, 4096), (7, 3, None, true, 3, 8, 0)]);
        assert_eq!((found.unfinished, found.unbegun), (0, 0));
    }

    #[test]
    fn an_address_that_is_used_again_is_another_request() {
        let moments = [submit(1, 0xa, 22), complete(2, 0xa, 512), submit(3, 0xa, 23), complete(7, 0xa, 1024)];
        let found = paired(&moments, &[]);
        assert_eq!(
            found.requests.iter().map(|it| (it.opcode, it.result)).collect::<Vec<_>>(),
            [(22, 512), (23, 1024)]
        );
    }

    #[test]
    fn what_lacks_its_other_half_is_counted_and_what_a_loss_touches_is_doubtful() {
        let more = (2, 7, 0xa, What::Complete { result: 1, has_more: true });
        let moments =
            [complete(1, 0xc, 0), submit(2, 0xa, 22), more, submit(3, 0xb, 22), complete(9, 0xa, 1)];
        let found = paired(&moments, &[(4, 5)]);
        assert_eq!((found.unbegun, found.unfinished), (1, 1));
        assert_eq!(found.requests.iter().map(|it| it.is_doubtful).collect::<Vec<_>>(), [true]);
    }

    #[test]
    fn a_kernel_that_names_no_request_is_refused() {
        let old =
            "name: io_uring_submit_sqe\nID: 5\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";
        let complete = "name: io_uring_complete\nID: 6\n".to_owned();
        let header = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
             \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
             \tfield: char data;\toffset:16;\tsize:48;\tsigned:0;\n";
        let error = Layout::parse(header, &[old.to_owned(), complete]).unwrap_err();
        assert_eq!(error.0, "io_uring_submit_sqe has no field req");
        assert_eq!(Layout::parse(header, &[]).unwrap_err().0, "the format of io_uring_submit_req is missing");
    }
}
