//! The programs that the kernel calls when a thread enters a system call, returns from it, starts another, and ends.

use std::mem::offset_of;

use super::assembler::Function as Of;
use super::assembler::Register::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use super::assembler::Width::{Eight, Four};
use super::assembler::{Assembler, KEY, Label, When};
use super::host;
use super::kernel::Map;
use super::{
    CALLS_MAX, IN_CALL, IN_CALL_OF_MAPPING, IN_CALL_OF_PAIR, IN_CALL_OF_PATH, LOST, Maps, Named, OF_32_BITS,
    OUTSIDE, Open, PATH_BYTES, Record, SLEEPS_UNTOLD, UNBEGUN, UNFOLLOWED, UNKNOWN,
};
use crate::calls::ARGUMENTS;

/// Where `struct pt_regs` holds the arguments of a call that are kept, the one between them, and its number.
#[cfg(target_arch = "x86_64")]
const REGISTERS: ([i16; ARGUMENTS], i16, i16) = ([112, 104, 96, 56, 64], 72, 120);
#[cfg(target_arch = "aarch64")]
const REGISTERS: ([i16; ARGUMENTS], i16, i16) = ([0, 8, 16, 24, 40], 32, 280);
// elsewhere the numbers of calls are not known, either
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const REGISTERS: ([i16; ARGUMENTS], i16, i16) = ([0, 8, 16, 24, 40], 32, 0);
// of a call that begins: its registers are copied to the stack in one piece
const COPIED_BYTES: i16 = 64;
const STACK: i16 = -8 - COPIED_BYTES;
// what a thread is doing, while something else is looked for
const STATE: i16 = STACK - 8;
const NO_WAKEUP: i32 = 1;
/// Memory that is mapped is that of no file.
const MAP_ANONYMOUS: i32 = 0x20;
/// Instead of a call's number: the record tells of a thread that was started, of the name of one that ends, or of the
/// path that a call was given.
pub(super) const STARTED: u32 = u32::MAX;
pub(super) const ENDED: u32 = u32::MAX - 1;
pub(super) const NAMED: u32 = u32::MAX - 2;

fn thread(program: &mut Assembler, maps: &Maps) {
    program
        .call(Of::Thread)
        .set(R9, R0)
        .store(Four, R10, KEY, R0)
        .find(&maps.threads, Label::Out)
        .set(R8, R0);
}

/// Takes room for a record in the ring of this processor: its place is in `R7`.
fn reserve(program: &mut Assembler, maps: &Maps) {
    reserve_bytes(program, maps, size_of::<Record>(), Label::Lost);
}

fn reserve_bytes(program: &mut Assembler, maps: &Maps, bytes: usize, otherwise: Label) {
    program.call(Of::Processor).store(Four, R10, KEY, R0).find(&maps.rings, otherwise);
    program.set(R1, R0).set_number(R2, bytes as i32).set_number(R3, 0).call(Of::Reserve);
    program.jump(When::Equal, R0, 0, otherwise).set(R7, R0);
}

fn hand_over(program: &mut Assembler) -> &mut Assembler {
    program.set(R1, R7).set_number(R2, NO_WAKEUP).call(Of::Submit)
}

/// Hands over the record at `R7`; what had no room is counted.
fn submit<'a>(program: &'a mut Assembler, maps: &Maps) -> &'a mut Assembler {
    hand_over(program).jump(When::Always, R0, 0, Label::Out);
    program.label(Label::Lost).count(&maps.counts, LOST, Label::Out).jump(When::Always, R0, 0, Label::Out)
}

const fn argument(at: usize) -> i16 {
    (offset_of!(Record, arguments) + 8 * at) as i16
}

/// At `sys_enter`: keeps what the call was asked, where the thread is followed and the call wanted. `sleeps` is where a
/// task counts how often it slept, as far as that is known.
pub(super) fn enter(maps: &Maps, sleeps: Option<i16>) -> Vec<u64> {
    let program = &mut Assembler::default();
    program.set(R6, R1).load(Eight, R7, R6, 8);
    is_wanted(program, &maps.wanted);
    program.store(Eight, R10, STATE, R1);
    thread(program, maps);
    if load_call_of_32_bits(program) {
        program.jump(When::Differs, R1, 0, Label::Out);
    }
    program.store(Four, R8, offset_of!(Open, number) as i16, R7);
    program.store_number(Four, R8, offset_of!(Open, state) as i16, OUTSIDE);
    let first = REGISTERS.0.into_iter().min().unwrap_or(0);
    program.load(Eight, R3, R6, 0).set_place(R3, R3, first).set_place(R1, R10, STACK);
    program.set_number(R2, COPIED_BYTES.into()).call(Of::ReadKernel);
    for (at, place) in REGISTERS.0.into_iter().enumerate() {
        program.load(Eight, R1, R10, STACK + place - first).store(Eight, R8, argument(at), R1);
    }
    program.load(Eight, R1, R10, STATE).jump(When::Differs, R1, IN_CALL_OF_MAPPING, Label::IsAsked);
    program.load(Eight, R1, R8, argument(3)).and_number(R1, MAP_ANONYMOUS);
    program.jump(When::Differs, R1, 0, Label::Out);
    program.load(Eight, R1, R10, STACK + REGISTERS.1 - first).store(Eight, R8, argument(0), R1);
    program.label(Label::IsAsked);
    if let Some(place) = sleeps {
        load_sleeps(program, place).store(Eight, R8, offset_of!(Open, sleeps) as i16, R1);
    }
    program.load(Eight, R1, R10, STATE).store(Four, R8, offset_of!(Open, state) as i16, R1);
    program.call(Of::Time).store(Eight, R8, offset_of!(Open, start_ns) as i16, R0).finish()
}

/// Sets `R1` to how often this thread has slept in its life.
fn load_sleeps(program: &mut Assembler, place: i16) -> &mut Assembler {
    program.call(Of::Task).set_place(R3, R0, place).set_place(R1, R10, STACK);
    program.set_number(R2, 8).call(Of::ReadKernel).load(Eight, R1, R10, STACK)
}

/// Goes on where the number of a call in `R7` is one of those that are wanted; `R1`: what its thread is doing then.
fn is_wanted(program: &mut Assembler, wanted: &Map) {
    program.jump(When::NotBelow, R7, CALLS_MAX as i32, Label::Out).store(Four, R10, KEY, R7);
    program.find(wanted, Label::Out).load(Four, R1, R0, 0).jump(When::Equal, R1, 0, Label::Out);
}

/// Sets `R1` to other than 0 where the call is one of 32 bits, whose numbers mean other calls; whether that is known.
fn load_call_of_32_bits(program: &mut Assembler) -> bool {
    let Some((place, bit)) = host::call_of_32_bits() else { return false };
    program.call(Of::Task).set_place(R3, R0, place).store_number(Eight, R10, STACK, 0);
    program.set_place(R1, R10, STACK).set_number(R2, 4).call(Of::ReadKernel);
    program.load(Eight, R1, R10, STACK).and_number(R1, bit);
    true
}

/// At `sys_exit`: a record of the whole call, and one of the path that it was given.
pub(super) fn exit(maps: &Maps, sleeps: Option<i16>) -> Vec<u64> {
    let program = &mut Assembler::default();
    program.set(R6, R1);
    thread(program, maps);
    let state = offset_of!(Open, state) as i16;
    program.load(Four, R1, R8, state).jump(When::Equal, R1, OUTSIDE, Label::Outside);
    program.store_number(Four, R8, state, OUTSIDE).jump(When::Equal, R1, UNKNOWN, Label::Unknown);
    program.store(Eight, R10, STATE, R1);
    reserve(program, maps);
    program.load(Eight, R1, R8, offset_of!(Open, start_ns) as i16);
    program.store(Eight, R7, offset_of!(Record, start_ns) as i16, R1);
    for at in 0..ARGUMENTS {
        program.load(Eight, R1, R8, argument(at)).store(Eight, R7, argument(at), R1);
    }
    program.load(Eight, R1, R6, 8).store(Eight, R7, offset_of!(Record, result) as i16, R1);
    tell_pair(program);
    tell_thread(program);
    program.load(Four, R1, R8, offset_of!(Open, number) as i16);
    program.store(Four, R7, offset_of!(Record, number) as i16, R1);
    program.call(Of::Time).store(Eight, R7, offset_of!(Record, end_ns) as i16, R0);
    tell_sleeps(program, sleeps);
    hand_over(program);
    tell_path(program, maps);
    submit(program, maps);
    // the thread may have been in a call when it was first followed
    program.label(Label::Unknown).load(Eight, R3, R6, 0).set_place(R3, R3, REGISTERS.2);
    program
        .store_number(Eight, R10, STACK, 0)
        .set_place(R1, R10, STACK)
        .set_number(R2, 4)
        .call(Of::ReadKernel);
    program.load(Eight, R7, R10, STACK);
    is_wanted(program, &maps.wanted);
    program.count(&maps.counts, UNBEGUN, Label::Out).jump(When::Always, R0, 0, Label::Out);
    program.label(Label::Outside);
    if load_call_of_32_bits(program) {
        program.jump(When::Equal, R1, 0, Label::Out).count(&maps.counts, OF_32_BITS, Label::Out);
    }
    program.finish()
}

/// Puts into the record at `R7` how often the thread slept since its call began.
fn tell_sleeps(program: &mut Assembler, sleeps: Option<i16>) {
    let told = offset_of!(Record, sleeps) as i16;
    if let Some(place) = sleeps {
        load_sleeps(program, place).load(Eight, R2, R8, offset_of!(Open, sleeps) as i16);
        program.subtract(R1, R2).store(Four, R7, told, R1);
    } else {
        program.store_number(Four, R7, told, SLEEPS_UNTOLD.cast_signed());
    }
}

/// Where the call that returns gave two descriptors, they take the place of its first argument in the record at `R7`.
fn tell_pair(program: &mut Assembler) {
    program.load(Eight, R1, R10, STATE).jump(When::Differs, R1, IN_CALL_OF_PAIR, Label::PairIsTold);
    program.set_place(R1, R7, argument(0)).set_number(R2, 8).load(Eight, R3, R8, argument(0));
    program.call(Of::ReadProgram).label(Label::PairIsTold);
}

/// Goes on where the call that returns was given a path and has not failed: a record of the path is at `R7`. By now the
/// kernel has read it, so that it is in memory; where there is no room for it, only the path is missing.
fn tell_path(program: &mut Assembler, maps: &Maps) {
    let [of_first, _] = IN_CALL_OF_PATH;
    program.load(Eight, R1, R10, STATE).jump(When::Equal, R1, IN_CALL, Label::Out);
    program.jump(When::NotBelow, R1, IN_CALL_OF_PAIR, Label::Out);
    program.load(Eight, R1, R6, 8).jump(When::Negative, R1, 0, Label::Out);
    reserve_bytes(program, maps, size_of::<Named>(), Label::Out);
    program.load(Eight, R1, R8, offset_of!(Open, start_ns) as i16);
    program.store(Eight, R7, offset_of!(Record, start_ns) as i16, R1);
    program.load(Eight, R1, R10, STATE).load(Eight, R3, R8, argument(0));
    program.jump(When::Equal, R1, of_first, Label::PathIsLoaded).load(Eight, R3, R8, argument(1));
    program.label(Label::PathIsLoaded).set_place(R1, R7, offset_of!(Named, path) as i16);
    program.set_number(R2, PATH_BYTES as i32).call(Of::ReadProgramText);
    program.store(Eight, R7, offset_of!(Record, result) as i16, R0).call(Of::Thread).set(R9, R0);
    tell(program, NAMED);
}

/// At the event `task_newtask`, with the places of `pid` and `clone_flags` in it: who is started is followed, too.
pub(super) fn fork(maps: &Maps, child: i16, flags: i16) -> Vec<u64> {
    let program = &mut Assembler::default();
    let open = -8 - size_of::<Open>() as i16;
    program.load(Four, R6, R1, child).load(Eight, R7, R1, flags).store(Eight, R10, open - 8, R7);
    thread(program, maps);
    for at in (0..size_of::<Open>() as i16).step_by(8) {
        program.store_number(Eight, R10, open + at, 0);
    }
    program.set_place(R3, R10, open);
    follow(program, maps);
    reserve(program, maps);
    clear(program);
    program.store(Eight, R7, argument(0), R6).load(Eight, R1, R10, open - 8).store(
        Eight,
        R7,
        argument(1),
        R1,
    );
    program.call(Of::Time).store(Eight, R7, offset_of!(Record, start_ns) as i16, R0);
    tell(program, STARTED);
    submit(program, maps).label(Label::Full).count(&maps.counts, UNFOLLOWED, Label::Out).finish()
}

/// Follows the thread whose number is in `R6`, with what it is doing at `R3`.
fn follow(program: &mut Assembler, maps: &Maps) {
    program.store(Four, R10, KEY, R6).set_map(R1, &maps.threads).set_place(R2, R10, KEY);
    program.set_number(R4, 0).call(Of::Update).jump(When::Differs, R0, 0, Label::Full);
}

/// At the event `sched_process_exec`, with the places of `pid` and `old_pid` in it: a thread that becomes another
/// program takes the number of its process, whose first thread has ended, and returns from the call by this number.
pub(super) fn exec(maps: &Maps, pid: i16, old_pid: i16) -> Vec<u64> {
    let program = &mut Assembler::default();
    program.load(Four, R6, R1, pid).load(Four, R7, R1, old_pid).jump_if_same(R6, R7, Label::Out);
    program.store(Four, R10, KEY, R7).find(&maps.threads, Label::Out).set(R3, R0);
    follow(program, maps);
    program.store(Four, R10, KEY, R7).set_map(R1, &maps.threads).set_place(R2, R10, KEY).call(Of::Delete);
    program.jump(When::Always, R0, 0, Label::Out);
    program.label(Label::Full).count(&maps.counts, UNFOLLOWED, Label::Out).finish()
}

/// At `sched_process_exit`: tells the thread's name, and follows it no longer.
pub(super) fn end(maps: &Maps) -> Vec<u64> {
    let program = &mut Assembler::default();
    thread(program, maps);
    program.store(Four, R10, KEY, R9).set_map(R1, &maps.threads).set_place(R2, R10, KEY).call(Of::Delete);
    reserve(program, maps);
    clear(program);
    program.set_place(R1, R7, argument(0)).set_number(R2, 16).call(Of::ThreadName);
    tell(program, ENDED);
    submit(program, maps).finish()
}

fn clear(program: &mut Assembler) {
    for at in (0..size_of::<Record>() as i16).step_by(8) {
        program.store_number(Eight, R7, at, 0);
    }
}

/// Puts the thread and its process into the record at `R7`, by their numbers in `R9`.
fn tell_thread(program: &mut Assembler) {
    program.store(Four, R7, offset_of!(Record, thread) as i16, R9);
    program.shift_down(R9, 32).store(Four, R7, offset_of!(Record, process) as i16, R9);
}

fn tell(program: &mut Assembler, what: u32) {
    tell_thread(program);
    program.store_number(Four, R7, offset_of!(Record, number) as i16, what.cast_signed());
}
