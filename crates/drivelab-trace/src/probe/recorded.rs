//! What programs in the kernel told of calls, as far as memory has room for it.

use super::{Options, PATH_BYTES, Record, SLEEPS_UNTOLD, programs};
use crate::calls::{Call, Started};

/// What was recorded.
#[derive(Debug, Default)]
pub struct Recorded {
    /// Calls, in the order in which they began.
    pub calls: Vec<Call>,
    /// Threads and processes that were started.
    pub started: Vec<Started>,
    /// Names of threads that have ended.
    pub names: Vec<(u32, String)>,
    /// Paths that calls were given: by which thread, when the call began, and the path.
    pub paths: Vec<(u32, u64, String)>,
    /// Calls, threads and names that there was no room for, in a ring or in memory.
    pub lost: u64,
    /// Where memory was full: all calls that returned before are there.
    pub recorded_until_ns: Option<u64>,
    /// How often some were lost between two looks.
    pub gaps: u64,
    /// Calls that had not returned at the end.
    pub unfinished: u64,
    /// Returns of calls that began before their thread was followed.
    pub unbegun: u64,
    /// Calls of 32 bits, which are not recorded.
    pub of_32_bits: u64,
    /// Threads that could not be followed.
    pub unfollowed: u64,
    pub(super) newest: Option<usize>,
}

/// How many calls, and how many paths, may be kept.
#[derive(Debug, Default)]
pub(super) struct Room {
    calls_max: usize,
    paths_max: usize,
    dispensable: Vec<u32>,
}

impl Room {
    pub(super) fn of(options: &Options) -> Self {
        let calls_max = options.memory_limit_bytes / size_of::<Call>();
        let paths_max = options.memory_limit_bytes / 8 / PATH_BYTES;
        Self { calls_max, paths_max, dispensable: options.dispensable.clone() }
    }

    fn is_for(&self, number: u32, kept: usize) -> bool {
        let is_dispensable = || self.dispensable.contains(&number);
        kept < self.calls_max / 8 * 7 || kept < self.calls_max && !is_dispensable()
    }
}

impl Recorded {
    pub(super) fn keep(&mut self, record: Record, path: &[u8], room: &Room) {
        let Record { start_ns, end_ns, arguments, result, thread, number, process, sleeps } = record;
        match number {
            programs::STARTED => self.started.push(Started {
                parent: thread,
                child: arguments[0] as u32,
                time_ns: start_ns,
                flags: arguments[1],
            }),
            programs::ENDED => {
                let bytes: Vec<u8> = arguments.iter().flat_map(|word| word.to_ne_bytes()).collect();
                let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
                self.names.push((thread, String::from_utf8_lossy(name).into_owned()));
            }
            // one that is cut off, or no text, or too many names no file
            programs::NAMED => {
                let told = path
                    .get(..usize::try_from(result - 1).unwrap_or(usize::MAX))
                    .filter(|_| result < PATH_BYTES as i64);
                if let Some(Ok(path)) = told.filter(|_| self.paths.len() < room.paths_max).map(str::from_utf8)
                {
                    self.paths.push((thread, start_ns, path.to_owned()));
                }
            }
            _ if !room.is_for(number, self.calls.len()) => {
                self.lost += 1;
                // the rings are emptied one after the other, so what is left out first is not the oldest
                let until_ns = self.recorded_until_ns.get_or_insert(end_ns);
                *until_ns = end_ns.min(*until_ns);
            }
            _ => {
                let has_slept = (sleeps != SLEEPS_UNTOLD).then_some(sleeps > 0);
                let is_doubtful = false;
                let call = Call {
                    thread,
                    process,
                    number,
                    start_ns,
                    end_ns,
                    arguments,
                    result,
                    is_doubtful,
                    has_slept,
                };
                self.calls.push(call);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::ARGUMENTS;

    #[test]
    fn records_are_calls_threads_that_start_and_names_of_those_that_end() {
        let name = u64::from_ne_bytes(*b"writer\0x");
        let record = |number, arguments| Record {
            start_ns: 5,
            end_ns: 9,
            arguments,
            result: -4,
            thread: 7,
            number,
            process: 6,
            sleeps: 0,
        };
        let (mut recorded, room) = (Recorded::default(), Room { calls_max: 1, ..Room::default() });
        recorded.keep(record(programs::STARTED, [8, 17, 0, 0, 0]), &[], &room);
        recorded.keep(record(74, [3, 0, 0, 0, 0]), &[], &room);
        recorded.keep(record(programs::ENDED, [name, 0, 0, 0, 0]), &[], &room);
        assert_eq!(recorded.started, [Started { parent: 7, child: 8, time_ns: 5, flags: 17 }]);
        assert_eq!(recorded.names, [(7, "writer".to_owned())]);
        let told: Vec<_> = recorded.calls.iter().map(|it| (it.number, it.end_ns, it.result)).collect();
        assert_eq!(told, [(74, 9, -4)]);
    }

    #[test]
    fn a_call_that_slept_is_told_from_one_that_did_not_and_from_one_of_which_that_is_not_known() {
        let record = |sleeps| Record {
            start_ns: 5,
            end_ns: 9,
            arguments: [0; ARGUMENTS],
            result: 0,
            thread: 7,
            number: 18,
            process: 6,
            sleeps,
        };
        let (mut recorded, room) = (Recorded::default(), Room { calls_max: 9, ..Room::default() });
        [0, 3, SLEEPS_UNTOLD].into_iter().for_each(|sleeps| recorded.keep(record(sleeps), &[], &room));
        let told: Vec<_> = recorded.calls.iter().map(|call| call.has_slept).collect();
        assert_eq!(told, [Some(false), Some(true), None]);
    }

    #[test]
    fn a_path_is_kept_whole_or_not_at_all_and_only_as_long_as_there_is_room() {
        let record = |start_ns, result| Record {
            start_ns,
            end_ns: 0,
            arguments: [0; ARGUMENTS],
            result,
            thread: 7,
            number: programs::NAMED,
            process: 6,
            sleeps: 0,
        };
        let (mut recorded, room) = (Recorded::default(), Room { paths_max: 2, ..Room::default() });
        let mut path = [b'x'; PATH_BYTES];
        path[..3].copy_from_slice(b"/a\0");
        recorded.keep(record(1, 3), &path, &room);
        // that of a bad address, an empty one, one that is cut off, and one that is no text
        for result in [-14, 0, PATH_BYTES as i64] {
            recorded.keep(record(2, result), &path, &room);
        }
        recorded.keep(record(3, 2), b"\xff\0", &room);
        recorded.keep(record(4, 1), &[0; PATH_BYTES], &room);
        recorded.keep(record(5, 3), &path, &room);
        assert_eq!(recorded.paths, [(7, 1, "/a".to_owned()), (7, 4, String::new())]);
        assert!(recorded.calls.is_empty() && recorded.lost == 0);
    }

    #[test]
    fn what_memory_has_no_room_for_is_counted_and_says_until_when_all_was_kept() {
        let (read, sync) = (17, 74);
        let record = |number, end_ns| Record {
            start_ns: 1,
            end_ns,
            arguments: [0; ARGUMENTS],
            result: 0,
            thread: 7,
            number,
            process: 6,
            sleeps: 0,
        };
        let room = Room { calls_max: 8, dispensable: vec![read], ..Room::default() };
        let mut recorded = Recorded::default();
        (1..=7).for_each(|end_ns| recorded.keep(record(read, end_ns), &[], &room));
        assert_eq!((recorded.lost, recorded.recorded_until_ns), (0, None));
        // another ring has older ones; and a sync has its place rather than a read
        for (number, end_ns) in [(read, 12), (read, 10), (sync, 13), (sync, 14)] {
            recorded.keep(record(number, end_ns), &[], &room);
        }
        recorded.keep(record(programs::STARTED, 0), &[], &room);
        assert_eq!((recorded.lost, recorded.recorded_until_ns), (3, Some(10)));
        assert_eq!(recorded.calls.iter().filter(|call| call.number == sync).count(), 1);
        assert_eq!(recorded.started.len(), 1);
    }
}
