//! The order in which blkparse merges streams that are each in the order of time.
//!
//! It is not that of a heap: among equal times blkparse stays on the stream it is on. btt's numbers depend on it
//! where records of several CPUs carry the same time, so it is followed to the letter.

const NONE: usize = usize::MAX;

/// A list of streams sorted by the time of their next record.
#[derive(Debug, Clone)]
pub struct MergeOrder {
    first: usize,
    /// The stream after each.
    following: Vec<usize>,
    /// Time of each stream's next record.
    times: Vec<u64>,
}

impl Default for MergeOrder {
    fn default() -> Self {
        Self { first: NONE, following: Vec::new(), times: Vec::new() }
    }
}

impl MergeOrder {
    /// Adds a stream whose first record has this time; streams are numbered from 0 in the order in which they come.
    pub fn add(&mut self, time_ns: u64) {
        let stream = self.times.len();
        self.times.push(time_ns);
        self.following.push(NONE);
        self.insert(stream);
    }

    /// Adds a stream that has no records.
    pub fn add_empty(&mut self) {
        self.times.push(0);
        self.following.push(NONE);
    }

    /// The stream whose record comes next.
    #[must_use]
    pub fn first(&self) -> Option<usize> {
        (self.first != NONE).then_some(self.first)
    }

    /// The time of the record that comes next.
    #[must_use]
    pub fn first_time_ns(&self) -> Option<u64> {
        self.first().map(|stream| self.times[stream])
    }

    /// The first stream has moved on to a record of this time: it stays first unless the second one's is earlier.
    #[inline]
    pub fn move_on(&mut self, time_ns: u64) {
        let stream = self.first;
        self.times[stream] = time_ns;
        let second = self.following[stream];
        if second != NONE && time_ns > self.times[second] {
            self.first = second;
            self.insert(stream);
        }
    }

    /// The first stream has come to its end.
    pub fn remove_first(&mut self) {
        self.first = std::mem::replace(&mut self.following[self.first], NONE);
    }

    fn insert(&mut self, stream: usize) {
        let time = self.times[stream];
        if self.first == NONE || time < self.times[self.first] {
            self.following[stream] = self.first;
            self.first = stream;
            return;
        }
        let mut before = self.first;
        while self.following[before] != NONE && self.times[self.following[before]] < time {
            before = self.following[before];
        }
        self.following[stream] = self.following[before];
        self.following[before] = stream;
    }
}

#[cfg(test)]
mod tests {
    use super::MergeOrder;

    /// The order in which streams come, by number.
    fn order_of(streams: &[&[u64]]) -> Vec<usize> {
        let mut order = MergeOrder::default();
        let mut positions = vec![0; streams.len()];
        for stream in streams {
            match stream.first() {
                Some(time) => order.add(*time),
                None => order.add_empty(),
            }
        }
        let mut found = Vec::new();
        while let Some(stream) = order.first() {
            found.push(stream);
            positions[stream] += 1;
            match streams[stream].get(positions[stream]) {
                Some(time) => order.move_on(*time),
                None => order.remove_first(),
            }
        }
        found
    }

    #[test]
    fn it_stays_on_a_stream_among_equal_times() {
        assert_eq!(order_of(&[&[1, 5, 5], &[5, 5, 6]]), [0, 0, 0, 1, 1, 1]);
        assert_eq!(order_of(&[&[1, 6], &[5, 6, 6]]), [0, 1, 1, 1, 0]);
    }

    #[test]
    fn a_later_file_with_an_equal_first_time_comes_right_after_the_first() {
        assert_eq!(order_of(&[&[1], &[1], &[1]]), [0, 2, 1]);
    }

    #[test]
    fn streams_without_records_are_passed_over() {
        assert_eq!(order_of(&[&[], &[2], &[], &[1]]), [3, 1]);
    }

    #[test]
    fn a_record_from_the_past_does_not_stop_it() {
        assert_eq!(order_of(&[&[10, 3, 11], &[10, 12]]), [0, 0, 1, 0, 1]);
    }
}
