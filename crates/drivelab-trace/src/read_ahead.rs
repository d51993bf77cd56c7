//! Reads a recording in a thread of its own, some thousand records ahead of whoever follows them.
//!
//! Half of the work of reading a trace is decoding and merging. Done beside the other half it costs no time, and
//! whoever waits for a file that gives nothing, a pipe for instance, can look at something else meanwhile.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::read::Recording;
use crate::record::Record;

const BATCH_RECORDS: usize = 2048;
const BATCHES: usize = 4;

/// Records in their order; used again, so that nothing is allocated for a record.
#[derive(Default)]
pub struct Batch {
    records: Vec<Record>,
    count: usize,
    /// Before which of them records are missing.
    losses: Vec<usize>,
}

impl Batch {
    /// The records, each with whether records are missing before it.
    pub fn iter(&self) -> impl Iterator<Item = (&Record, bool)> {
        let mut losses = self.losses.iter().peekable();
        let records = self.records[..self.count].iter().enumerate();
        records.map(move |(place, record)| (record, losses.next_if_eq(&&place).is_some()))
    }
}

/// What [`ReadAhead::next`] gives.
pub enum Next {
    /// Records; to be given back.
    Batch(Batch),
    /// Nothing came in the time given.
    Nothing,
    /// The recording is over.
    End,
}

/// A recording that is being read in a thread of its own.
pub struct ReadAhead<T> {
    full: Receiver<Batch>,
    empty: Sender<Batch>,
    reader: JoinHandle<(Recording, T)>,
}

impl<T: Send + 'static> ReadAhead<T> {
    /// Begins to read. Every record is shown to `state` in that thread, too.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(recording: Recording, state: T, show: fn(&mut T, &Record)) -> std::io::Result<Self> {
        let (to_follower, full) = sync_channel(BATCHES);
        let (empty, from_follower) = channel();
        let reader = Builder::new()
            .name("drivelab-read".to_owned())
            .spawn(move || read_on(recording, state, show, &to_follower, &from_follower))?;
        for _ in 0..BATCHES {
            // the reader has ended at once when it does not take them
            let _ = empty.send(Batch { records: vec![Record::default(); BATCH_RECORDS], ..Batch::default() });
        }
        Ok(Self { full, empty, reader })
    }

    /// The next records; waits at most so long.
    pub fn next(&self, wait: Duration) -> Next {
        match self.full.recv_timeout(wait) {
            Ok(batch) => Next::Batch(batch),
            Err(RecvTimeoutError::Timeout) => Next::Nothing,
            Err(RecvTimeoutError::Disconnected) => Next::End,
        }
    }

    /// Gives records back when they have been followed.
    pub fn give_back(&self, batch: Batch) {
        let _ = self.empty.send(batch);
    }

    /// After the end: the recording, and what was shown its records.
    ///
    /// # Panics
    /// When the reader has.
    #[must_use]
    pub fn finish(self) -> (Recording, T) {
        self.reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn read_on<T>(
    mut recording: Recording,
    mut state: T,
    show: fn(&mut T, &Record),
    full: &SyncSender<Batch>,
    empty: &Receiver<Batch>,
) -> (Recording, T) {
    let mut losses = 0;
    // it ends early when nobody follows any more
    while let Ok(mut batch) = empty.recv() {
        batch.losses.clear();
        batch.count = 0;
        for (place, record) in batch.records.iter_mut().enumerate() {
            if !recording.next(record) {
                break;
            }
            show(&mut state, record);
            if recording.losses() != losses {
                losses = recording.losses();
                batch.losses.push(place);
            }
            batch.count += 1;
        }
        let is_last = batch.count < batch.records.len();
        if full.send(batch).is_err() || is_last {
            break;
        }
    }
    (recording, state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::ReadOptions;

    /// Records of 48 bytes with these numbers, one ns after the other.
    fn recording(sequences: impl Iterator<Item = u32>) -> Recording {
        let mut bytes = Vec::new();
        for (time, sequence) in sequences.enumerate() {
            let mut record = [0; 48];
            record[..4].copy_from_slice(&0x6561_7407_u32.to_ne_bytes());
            record[4..8].copy_from_slice(&sequence.to_ne_bytes());
            record[8..16].copy_from_slice(&(time as u64).to_ne_bytes());
            record[28..32].copy_from_slice(&1_u32.to_ne_bytes());
            bytes.extend_from_slice(&record);
        }
        Recording::from_bytes(vec![("made up".to_owned(), None, bytes)], ReadOptions::default()).unwrap()
    }

    fn followed(recording: Recording) -> (Vec<(u64, bool)>, u64) {
        let ahead = ReadAhead::start(recording, 0_u64, |shown, _| *shown += 1).unwrap();
        let mut found = Vec::new();
        loop {
            match ahead.next(Duration::from_secs(10)) {
                Next::Batch(batch) => {
                    found.extend(batch.iter().map(|(record, is_after_loss)| (record.time_ns, is_after_loss)));
                    ahead.give_back(batch);
                }
                Next::Nothing => panic!("the reader stands still"),
                Next::End => break,
            }
        }
        let (recording, shown) = ahead.finish();
        assert_eq!(recording.summary().records, shown);
        (found, shown)
    }

    #[test]
    fn every_record_comes_once_and_in_order() {
        for count in [0, 1, BATCH_RECORDS - 1, BATCH_RECORDS, 10 * BATCH_RECORDS + 7] {
            let (found, shown) = followed(recording(1..=count as u32));
            assert_eq!(shown, count as u64);
            assert!(
                found
                    .iter()
                    .enumerate()
                    .all(|(place, (time, is_after_loss))| *time == place as u64 && !is_after_loss)
            );
        }
    }

    #[test]
    fn losses_are_told_before_the_record_that_follows_them() {
        let gaps = [3_000, 3_001, 9_000];
        let sequences = (1..12_000).filter(|sequence| !gaps.contains(sequence));
        let (found, _) = followed(recording(sequences));
        let places: Vec<u64> =
            found.iter().filter(|(_, is_after_loss)| *is_after_loss).map(|(time, _)| *time).collect();
        // the reader is one record ahead when it sees a gap
        assert_eq!(places.len(), 2);
        assert!(places[0].abs_diff(2_999) <= 1 && places[1].abs_diff(8_997) <= 1, "{places:?}");
    }

    #[test]
    fn a_reader_that_nobody_follows_ends() {
        let ahead = ReadAhead::start(recording(1..=50_000), (), |(), _| {}).unwrap();
        let ReadAhead { full, empty, reader } = ahead;
        drop((full, empty));
        assert!(reader.join().unwrap().0.summary().records < 50_000);
    }
}
