//! Whose a thread is: the program's, the kernel's, or another program's.

use std::collections::{HashMap, HashSet};

use super::{Operation, Surroundings};
use crate::kernel_threads::{is_journal_thread, is_kernel_thread, worker_for};
use crate::lifetime::{Bio, Command};
use crate::record::category;

/// Whose a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thread {
    /// The program's; workers of io_uring count as the thread that they work for.
    Own(u32),
    /// The kernel's.
    Kernel,
    /// Another program's.
    Foreign,
}

/// Every thread of a trace.
#[derive(Debug)]
pub struct Who {
    threads: HashMap<u32, Thread>,
    journal: HashSet<u32>,
    /// Bios of threads whose name is not known.
    pub unnamed: usize,
}

impl Who {
    /// Whose the threads of these bios and commands are.
    ///
    /// In a trace that names no thread at all, what is not the program's is taken for the kernel's; in one that
    /// names some, a thread without a name is taken for another program's.
    pub fn new(operations: &[Operation], bios: &[Bio], commands: &[Command], around: &Surroundings) -> Self {
        let own =
            operations.iter().map(|operation| operation.thread).chain(around.own_threads.iter().copied());
        let own: HashSet<u32> = own.collect();
        let nameless = if around.names.is_empty() { Thread::Kernel } else { Thread::Foreign };
        let mut who = Self { threads: HashMap::new(), journal: HashSet::new(), unnamed: 0 };
        let of_bios = bios.iter().map(|bio| (bio.pid, 1));
        for (pid, bio) in of_bios.chain(commands.iter().map(|command| (command.pid, 0))) {
            let name = around.names.get(&pid).map(String::as_str);
            who.unnamed += if pid != 0 && name.is_none() && !own.contains(&pid) { bio } else { 0 };
            who.threads.entry(pid).or_insert_with(|| whose(pid, name, &own, nameless));
            if name.is_some_and(is_journal_thread) {
                who.journal.insert(pid);
            }
        }
        who
    }

    /// Whose this thread is.
    pub fn of(&self, pid: u32) -> Thread {
        self.threads.get(&pid).copied().unwrap_or(Thread::Foreign)
    }

    /// Whether this thread writes the journal or the log of a file system.
    pub fn is_journal_thread(&self, pid: u32) -> bool {
        self.journal.contains(&pid)
    }

    /// Whether a bio writes the file system's own: its journal, its log, its tree.
    pub fn is_journal(&self, bio: &Bio) -> bool {
        let writes =
            bio.bytes > 0 && bio.category & category::WRITE != 0 && bio.category & category::DISCARD == 0;
        writes && (bio.category & category::META != 0 || self.journal.contains(&bio.pid))
    }
}

fn whose(pid: u32, name: Option<&str>, own: &HashSet<u32>, nameless: Thread) -> Thread {
    if own.contains(&pid) {
        return Thread::Own(pid);
    }
    match name {
        _ if pid == 0 => Thread::Kernel,
        None => nameless,
        Some(name) => match worker_for(name).filter(|thread| own.contains(thread)) {
            Some(thread) => Thread::Own(thread),
            None if is_kernel_thread(name) => Thread::Kernel,
            None => Thread::Foreign,
        },
    }
}
