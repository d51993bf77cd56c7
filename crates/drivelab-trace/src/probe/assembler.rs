//! The instructions of the kernel's virtual machine (BPF) that our programs are made of.

use super::kernel::Map;

/// A register. `R0` holds what a function gives, `R1` to `R5` its arguments, `R10` the end of the stack.
#[derive(Debug, Clone, Copy)]
pub(super) enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R6 = 6,
    R7,
    R8,
    R9,
    R10,
}
use Register::{R0, R1, R2, R10};

/// Bytes that are read or written at once.
#[derive(Debug, Clone, Copy)]
pub(super) enum Width {
    Four = 0x00,
    Eight = 0x18,
}

/// Functions of the kernel, by their number.
#[derive(Debug, Clone, Copy)]
pub(super) enum Function {
    Find = 1,
    Update = 2,
    Delete = 3,
    Time = 5,
    Processor = 8,
    Thread = 14,
    ThreadName = 16,
    Task = 35,
    ReadProgram = 112,
    ReadKernel = 113,
    ReadProgramText = 114,
    Reserve = 131,
    Submit = 132,
}

/// When a jump is taken.
#[derive(Debug, Clone, Copy)]
pub(super) enum When {
    Always = 0x05,
    Equal = 0x15,
    NotBelow = 0x35,
    Differs = 0x55,
    Negative = 0xc5,
}

/// Where jumps go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    Unknown,
    Lost,
    Full,
    Outside,
    IsAsked,
    PairIsTold,
    PathIsLoaded,
    Out,
}

// of the stack: what a map is asked for
pub(super) const KEY: i16 = -4;
const LOAD: u8 = 0x61;
const STORE: u8 = 0x63;
const STORE_NUMBER: u8 = 0x62;
const MOVE: u8 = 0xbf;
const MOVE_NUMBER: u8 = 0xb7;
const AND_NUMBER: u8 = 0x57;
const SHIFT_DOWN: u8 = 0x77;
const SUBTRACT: u8 = 0x1f;
const ADD_NUMBER: u8 = 0x07;
const LOAD_MAP: u8 = 0x18;
const CALL: u8 = 0x85;
const JUMP_IF_SAME: u8 = 0x1d;
const EXIT: u8 = 0x95;
const ADD_ATOMICALLY: u8 = 0xdb;
// of the instruction that loads a map: the number is its descriptor
const BY_DESCRIPTOR: u8 = 1;

/// A program that is being written.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    code: Vec<u64>,
    jumps: Vec<(usize, Label)>,
    labels: Vec<(Label, usize)>,
}

impl Assembler {
    fn put(&mut self, operation: u8, target: Register, source: u8, offset: i16, number: i32) -> &mut Self {
        let registers = target as u8 | source << 4;
        let low = u32::from(operation) | u32::from(registers) << 8 | u32::from(offset.cast_unsigned()) << 16;
        self.code.push(u64::from(low) | u64::from(number.cast_unsigned()) << 32);
        self
    }

    pub(super) fn load(&mut self, width: Width, target: Register, from: Register, offset: i16) -> &mut Self {
        self.put(LOAD | width as u8, target, from as u8, offset, 0)
    }

    pub(super) fn store(&mut self, width: Width, at: Register, offset: i16, source: Register) -> &mut Self {
        self.put(STORE | width as u8, at, source as u8, offset, 0)
    }

    pub(super) fn store_number(&mut self, width: Width, at: Register, offset: i16, number: i32) -> &mut Self {
        self.put(STORE_NUMBER | width as u8, at, 0, offset, number)
    }

    pub(super) fn set(&mut self, target: Register, source: Register) -> &mut Self {
        self.put(MOVE, target, source as u8, 0, 0)
    }

    pub(super) fn set_number(&mut self, target: Register, number: i32) -> &mut Self {
        self.put(MOVE_NUMBER, target, 0, 0, number)
    }

    /// Sets a register to a place behind that of another one.
    pub(super) fn set_place(&mut self, target: Register, from: Register, offset: i16) -> &mut Self {
        self.set(target, from).put(ADD_NUMBER, target, 0, 0, offset.into())
    }

    pub(super) fn and_number(&mut self, target: Register, number: i32) -> &mut Self {
        self.put(AND_NUMBER, target, 0, 0, number)
    }

    pub(super) fn shift_down(&mut self, target: Register, bits: i32) -> &mut Self {
        self.put(SHIFT_DOWN, target, 0, 0, bits)
    }

    pub(super) fn subtract(&mut self, from: Register, what: Register) -> &mut Self {
        self.put(SUBTRACT, from, what as u8, 0, 0)
    }

    pub(super) fn set_map(&mut self, target: Register, map: &Map) -> &mut Self {
        self.put(LOAD_MAP, target, BY_DESCRIPTOR, 0, map.descriptor()).put(0, R0, 0, 0, 0)
    }

    pub(super) fn call(&mut self, function: Function) -> &mut Self {
        self.put(CALL, R0, 0, 0, function as i32)
    }

    pub(super) fn jump(&mut self, when: When, what: Register, number: i32, label: Label) -> &mut Self {
        self.jumps.push((self.code.len(), label));
        self.put(when as u8, what, 0, 0, number)
    }

    pub(super) fn jump_if_same(&mut self, what: Register, as_what: Register, label: Label) -> &mut Self {
        self.jumps.push((self.code.len(), label));
        self.put(JUMP_IF_SAME, what, as_what as u8, 0, 0)
    }

    pub(super) fn label(&mut self, label: Label) -> &mut Self {
        self.labels.push((label, self.code.len()));
        self
    }

    /// Finds in a map what the key on the stack stands for: its place is in `R0`.
    pub(super) fn find(&mut self, map: &Map, otherwise: Label) -> &mut Self {
        self.set_map(R1, map).set_place(R2, R10, KEY).call(Function::Find);
        self.jump(When::Equal, R0, 0, otherwise)
    }

    /// Adds one to a number of a map of numbers.
    pub(super) fn count(&mut self, map: &Map, which: i32, otherwise: Label) -> &mut Self {
        self.store_number(Width::Four, R10, KEY, which).find(map, otherwise);
        self.set_number(R1, 1).put(ADD_ATOMICALLY, R0, R1 as u8, 0, 0)
    }

    /// The instructions, with an end where `Out` leads.
    pub(super) fn finish(&mut self) -> Vec<u64> {
        self.label(Label::Out).set_number(R0, 0).put(EXIT, R0, 0, 0, 0);
        for (at, label) in std::mem::take(&mut self.jumps) {
            let place = self.labels.iter().find(|known| known.0 == label).expect("every label is placed").1;
            self.code[at] |= ((place - at - 1) as u64) << 16;
        }
        std::mem::take(&mut self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::Register::R7;
    use super::*;

    #[test]
    fn jumps_lead_behind_what_they_pass_over() {
        let code = Assembler::default()
            .jump(When::Equal, R7, 0, Label::Out)
            .store(Width::Eight, R10, -8, R7)
            .set_place(R2, R10, KEY)
            .finish();
        // if r7 == 0 goto +3; *(u64 *)(r10 - 8) = r7; r2 = r10; r2 += -4; r0 = 0; exit
        let words = [0x0003_0715, 0xfff8_7a7b, 0xa2bf, 0xffff_fffc_0000_0207, 0xb7, 0x95];
        assert_eq!(code, words);
    }
}
