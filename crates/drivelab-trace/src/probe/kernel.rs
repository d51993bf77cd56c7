//! bpf(2) and what belongs to it: maps, programs, and where they are called.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const MAP_CREATE: i32 = 0;
const MAP_FIND: i32 = 1;
const MAP_UPDATE: i32 = 2;
const MAP_NEXT_KEY: i32 = 4;
const PROGRAM_LOAD: i32 = 5;
const INFO: i32 = 15;
const RAW_TRACEPOINT_OPEN: i32 = 17;
const ATTRIBUTE_BYTES: usize = 128;
const NO_MEMORY_BEFOREHAND: u32 = 1;
const ONLY_NEW: u64 = 1;
const LICENSE: &CStr = c"Dual MIT/GPL";
const PERF_TRACEPOINT: u32 = 2;
const PERF_CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
const PERF_SET_PROGRAM: libc::Ioctl = 0x4004_2408;
// in what the kernel tells of a program: calls that were left out, since it ran on this processor already
const MISSES_AT: usize = 208;

/// Numbers for the kernel, each at its place.
#[repr(C, align(8))]
struct Attribute([u8; ATTRIBUTE_BYTES]);

impl Attribute {
    fn new(words: &[(usize, u32)], longs: &[(usize, u64)]) -> Self {
        let mut bytes = [0; ATTRIBUTE_BYTES];
        words.iter().for_each(|(at, word)| bytes[*at..at + 4].copy_from_slice(&word.to_ne_bytes()));
        longs.iter().for_each(|(at, long)| bytes[*at..at + 8].copy_from_slice(&long.to_ne_bytes()));
        Self(bytes)
    }

    /// # Safety
    /// Every address in it has to be that of memory of the length that the kernel expects.
    unsafe fn call(&self, command: i32) -> io::Result<i32> {
        // SAFETY: the attribute lives through the call; the rest is as the caller says.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_ptr(), ATTRIBUTE_BYTES) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
    }

    /// # Safety
    /// As of `call`, and the command gives a descriptor.
    unsafe fn open(&self, command: i32) -> io::Result<OwnedFd> {
        // SAFETY: as the caller says.
        unsafe { Ok(OwnedFd::from_raw_fd(self.call(command)?)) }
    }
}

fn address<T>(of: &T) -> u64 {
    std::ptr::from_ref(of) as u64
}

/// What a map is.
#[derive(Debug, Clone, Copy)]
pub(super) enum MapKind {
    Hash = 1,
    Array = 2,
    Maps = 12,
    Ring = 27,
}

/// A map, whose keys are 32-bit numbers.
#[derive(Debug)]
pub(super) struct Map(OwnedFd);

impl Map {
    pub(super) fn new(
        kind: MapKind,
        value_bytes: usize,
        entries: u32,
        inner: Option<&Self>,
    ) -> io::Result<Self> {
        Self::with_flags(kind, value_bytes, entries, inner, 0)
    }

    /// A map from numbers to values that takes its memory as it grows.
    pub(super) fn growing(value_bytes: usize, entries: u32) -> io::Result<Self> {
        Self::with_flags(MapKind::Hash, value_bytes, entries, None, NO_MEMORY_BEFOREHAND)
    }

    fn with_flags(
        kind: MapKind,
        value_bytes: usize,
        entries: u32,
        inner: Option<&Self>,
        flags: u32,
    ) -> io::Result<Self> {
        let key_bytes = if matches!(kind, MapKind::Ring) { 0 } else { 4 };
        let inner = inner.map_or(0, |map| map.descriptor().cast_unsigned());
        let words = [
            (0, kind as u32),
            (4, key_bytes),
            (8, value_bytes as u32),
            (12, entries),
            (16, flags),
            (20, inner),
        ];
        // SAFETY: there is no address in it, and the command gives a descriptor.
        unsafe { Attribute::new(&words, &[]).open(MAP_CREATE).map(Self) }
    }

    pub(super) fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Sets a value, which has the length of the map's.
    pub(super) fn insert<T: Copy>(&self, key: u32, value: &T) -> io::Result<()> {
        let longs = [(8, address(&key)), (16, address(value))];
        // SAFETY: key and value live through the call, and have the lengths of the map's.
        unsafe { self.about(&longs).call(MAP_UPDATE).map(drop) }
    }

    /// Sets a value where there is none; whether there is one now, since the map may be full.
    pub(super) fn insert_new<T: Copy>(&self, key: u32, value: &T) -> io::Result<bool> {
        let longs = [(8, address(&key)), (16, address(value)), (24, ONLY_NEW)];
        // SAFETY: as in `insert`.
        match unsafe { self.about(&longs).call(MAP_UPDATE) } {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::E2BIG | libc::ENOMEM)) => Ok(false),
            other => other.map(|_| true),
        }
    }

    /// A value, which has the length of the map's.
    pub(super) fn get<T: Copy + Default>(&self, key: u32) -> Option<T> {
        let mut value = T::default();
        let longs = [(8, address(&key)), (16, std::ptr::from_mut(&mut value) as u64)];
        // SAFETY: as in `insert`; any bytes are a value.
        unsafe { self.about(&longs).call(MAP_FIND).is_ok().then_some(value) }
    }

    /// All keys; one that goes away meanwhile may have others told twice.
    pub(super) fn keys(&self) -> Vec<u32> {
        let (mut found, mut key, mut next) = (Vec::new(), 0_u32, 0_u32);
        loop {
            let before = if found.is_empty() { 0 } else { address(&key) };
            let longs = [(8, before), (16, std::ptr::from_mut(&mut next) as u64)];
            // SAFETY: both keys live through the call.
            if unsafe { self.about(&longs).call(MAP_NEXT_KEY) }.is_err() {
                return found;
            }
            key = next;
            found.push(key);
        }
    }

    fn about(&self, longs: &[(usize, u64)]) -> Attribute {
        Attribute::new(&[(0, self.descriptor().cast_unsigned())], longs)
    }
}

/// From where a program is called.
#[derive(Debug, Clone, Copy)]
pub(super) enum ProgramKind {
    Tracepoint = 5,
    RawTracepoint = 17,
}

/// A program that the kernel has found harmless.
#[derive(Debug)]
pub(super) struct Program(OwnedFd);

impl Program {
    pub(super) fn load(kind: ProgramKind, code: &[u64]) -> io::Result<Self> {
        let longs = [(8, code.as_ptr() as u64), (16, LICENSE.as_ptr() as u64)];
        // SAFETY: code and license live through the call, which gives a descriptor.
        unsafe {
            Attribute::new(&[(0, kind as u32), (4, code.len() as u32)], &longs).open(PROGRAM_LOAD).map(Self)
        }
    }

    /// Has it called at a tracepoint until what comes back is dropped.
    pub(super) fn attach_raw(&self, name: &CStr) -> io::Result<OwnedFd> {
        let words = [(8, self.0.as_raw_fd().cast_unsigned())];
        // SAFETY: the name lives through the call, which gives a descriptor.
        unsafe { Attribute::new(&words, &[(0, name.as_ptr() as u64)]).open(RAW_TRACEPOINT_OPEN) }
    }

    /// Has it called with the records of an event until what comes back is dropped.
    ///
    /// An event belongs to a processor, which has to be online; programs are called on all of them.
    pub(super) fn attach(&self, event: u16, processor: u32) -> io::Result<OwnedFd> {
        let words = [(0, PERF_TRACEPOINT), (4, ATTRIBUTE_BYTES as u32)];
        let attribute = Attribute::new(&words, &[(8, event.into())]);
        let (all, none) = (-1, -1);
        // SAFETY: the attribute lives through the call and tells its length; then the descriptor is owned once.
        let event = unsafe {
            let number = libc::syscall(
                libc::SYS_perf_event_open,
                attribute.0.as_ptr(),
                all,
                processor,
                none,
                PERF_CLOSE_ON_EXEC,
            );
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            File::from_raw_fd(number as i32)
        };
        // SAFETY: a plain number is handed over.
        if unsafe { libc::ioctl(event.as_raw_fd(), PERF_SET_PROGRAM, self.0.as_raw_fd()) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(event.into())
    }

    /// How often it was not called where it should have been; 0 where the kernel is too old to tell.
    pub(super) fn misses(&self) -> u64 {
        let mut info = [0_u64; 2 * ATTRIBUTE_BYTES / 8];
        let words = [(0, self.0.as_raw_fd().cast_unsigned()), (4, size_of_val(&info) as u32)];
        // SAFETY: the kernel writes no more than the length that it is told.
        let told = unsafe { Attribute::new(&words, &[(8, info.as_mut_ptr() as u64)]).call(INFO) };
        told.map_or(0, |_| info[MISSES_AT / 8])
    }
}
