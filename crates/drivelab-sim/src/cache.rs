//! A write cache: what it holds is written out in the order in which it came.

/// When each of its places is free again.
#[derive(Debug, Clone)]
pub struct Cache {
    free_at: Vec<u64>,
    next: usize,
    /// When all that was ever put into it is on the medium.
    drained_at: u64,
}

impl Cache {
    /// An empty cache with so many places; with none a write ends when the medium has it.
    pub fn new(places: usize) -> Self {
        Self { free_at: vec![0; places], next: 0, drained_at: 0 }
    }

    /// When the next place is free.
    #[inline]
    pub fn admits_at(&self, now: u64) -> u64 {
        self.free_at.get(self.next).map_or(now, |free| now.max(*free))
    }

    /// Takes a place until the medium has what is in it; returns when the write has ended for the host.
    #[inline]
    pub fn put(&mut self, admitted: u64, on_medium: u64) -> u64 {
        self.drained_at = self.drained_at.max(on_medium);
        let Some(place) = self.free_at.get_mut(self.next) else { return on_medium };
        *place = on_medium;
        self.next = if self.next + 1 == self.free_at.len() { 0 } else { self.next + 1 };
        admitted
    }

    /// Whether there is memory, which a disk also reads ahead into.
    pub fn exists(&self) -> bool {
        !self.free_at.is_empty()
    }

    /// When the medium has everything.
    pub fn drained_at(&self) -> u64 {
        self.drained_at
    }
}
