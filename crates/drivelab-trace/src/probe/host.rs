//! What programs and maps have to know of the kernel that they are for.

use std::fs;
use std::io;

// before it, maps are charged to what a process may lock in memory
const CHARGED_TO_GROUPS: (u32, u32) = (5, 11);
// before it, such maps get their memory in a way that kernels warn of
const MAPS_GROW: (u32, u32) = (6, 1);
// before it, the state of a thread stands where its second word of flags is now
#[cfg(target_arch = "x86_64")]
const HAS_MORE_FLAGS: (u32, u32) = (5, 11);
const THREADS_BEFOREHAND_MAX: u32 = 1 << 17;

/// Version of the kernel: the first two numbers of it.
pub(super) fn version() -> (u32, u32) {
    let told = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = told.split(|it: char| !it.is_ascii_digit()).map(|word| word.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// For how many threads a map has to have memory from the beginning; None where it can grow.
pub(super) fn threads_beforehand(most: u32) -> Option<u32> {
    (version() < MAPS_GROW).then(|| most.min(THREADS_BEFOREHAND_MAX))
}

/// Where a task says that it is in a call of 32 bits: the place of the word, and the bit; None where none is known.
pub(super) fn call_of_32_bits() -> Option<(i16, i32)> {
    // `thread_info.status` and TS_COMPAT: a task begins with this structure, whatever the kernel is configured with
    #[cfg(target_arch = "x86_64")]
    return Some((if version() < HAS_MORE_FLAGS { 8 } else { 16 }, 2));
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// Numbers of the processors that are online, in order, and how many there may ever be.
pub(super) fn processors() -> io::Result<(Vec<u32>, u32)> {
    let told = |which| fs::read_to_string(format!("/sys/devices/system/cpu/{which}")).map(|it| numbers(&it));
    let (online, possible) = (told("online")?, told("possible")?);
    if online.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the processors that are online are not known",
        ));
    }
    let highest = possible.iter().chain(&online).max().copied().unwrap_or(0);
    Ok((online, highest + 1))
}

fn numbers(list: &str) -> Vec<u32> {
    let range = |word: &str| {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    list.trim().split(',').filter_map(range).flatten().collect()
}

/// Lets this process have maps of any size.
pub(super) fn allow_maps() -> io::Result<()> {
    if version() >= CHARGED_TO_GROUPS {
        return Ok(());
    }
    let limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the limit lives through the call.
    if unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_processors_has_ranges_and_gaps() {
        assert_eq!(numbers("0-2,5,8-9\n"), [0, 1, 2, 5, 8, 9]);
        assert!(numbers("\n").is_empty());
    }

    #[test]
    fn this_kernel_tells_its_version_and_processors() {
        assert!(version() > (2, 6));
        assert!(threads_beforehand(7).is_none_or(|most| most == 7));
        let (online, count) = processors().unwrap();
        assert!(!online.is_empty() && online.iter().all(|processor| *processor < count));
    }
}
