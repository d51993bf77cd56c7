//! The phases of btt's table: what it adds up, and how it writes that.

use std::fmt::Write;

const NS_PER_S: u64 = 1_000_000_000;

/// A phase, in the order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Phase {
    /// From one Q to the next, of devices that btt takes for dm or md.
    Q2qRemapper,
    /// From Q to A, of such devices.
    Q2aRemapper,
    /// From Q to C, of such devices.
    Q2cRemapper,
    /// From one Q to the next.
    Q2q,
    /// From Q to A.
    Q2a,
    /// From Q to G.
    Q2g,
    /// From S to G.
    S2g,
    /// From G to I.
    G2i,
    /// From Q to M or F.
    Q2m,
    /// From I to D.
    I2d,
    /// From M or F to D.
    M2d,
    /// From D to C.
    D2c,
    /// From Q to C.
    Q2c,
}

impl Phase {
    /// Number of phases.
    pub const COUNT: usize = 13;
    /// All phases in the order of the rows.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Q2qRemapper,
        Self::Q2aRemapper,
        Self::Q2cRemapper,
        Self::Q2q,
        Self::Q2a,
        Self::Q2g,
        Self::S2g,
        Self::G2i,
        Self::Q2m,
        Self::I2d,
        Self::M2d,
        Self::D2c,
        Self::Q2c,
    ];

    /// Its name in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Q2qRemapper => "Q2Qdm",
            Self::Q2aRemapper => "Q2Adm",
            Self::Q2cRemapper => "Q2Cdm",
            Self::Q2q => "Q2Q",
            Self::Q2a => "Q2A",
            Self::Q2g => "Q2G",
            Self::S2g => "S2G",
            Self::G2i => "G2I",
            Self::Q2m => "Q2M",
            Self::I2d => "I2D",
            Self::M2d => "M2D",
            Self::D2c => "D2C",
            Self::Q2c => "Q2C",
        }
    }
}

/// Times of one phase, added up.
#[derive(Debug, Clone, Copy, Default)]
pub struct Total {
    min_ns: u64,
    max_ns: u64,
    total_ns: u64,
    n: u64,
}

impl Total {
    pub(super) fn add(&mut self, ns: u64) {
        self.min_ns = if self.n == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
        self.total_ns = self.total_ns.wrapping_add(ns);
        self.n += 1;
    }
}

/// The times of every phase.
#[derive(Debug, Clone, Default)]
pub struct Totals([Total; Phase::COUNT]);

impl Totals {
    pub(super) fn add(&mut self, phase: Phase, ns: u64) {
        self.0[phase as usize].add(ns);
    }

    /// The row of a phase; None where it never came.
    #[must_use]
    pub fn row(&self, phase: Phase) -> Option<Row> {
        let Total { min_ns, max_ns, total_ns, n } = self.0[phase as usize];
        (n > 0).then_some(Row { phase, min_ns, max_ns, total_ns, n })
    }

    /// The rows of all phases that came, in btt's order.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        Phase::ALL.into_iter().filter_map(|phase| self.row(phase)).collect()
    }
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The phase.
    pub phase: Phase,
    /// Shortest time in ns.
    pub min_ns: u64,
    /// Longest time in ns.
    pub max_ns: u64,
    /// Sum of all times in ns.
    pub total_ns: u64,
    /// Number of times; at least 1.
    pub n: u64,
}

impl Row {
    /// Shortest time in s, as btt rounds it.
    #[must_use]
    pub fn min_s(&self) -> f64 {
        seconds(self.min_ns)
    }

    /// Mean in s, as btt rounds it.
    #[must_use]
    pub fn avg_s(&self) -> f64 {
        seconds(self.total_ns) / self.n as f64
    }

    /// Longest time in s, as btt rounds it.
    #[must_use]
    pub fn max_s(&self) -> f64 {
        seconds(self.max_ns)
    }

    /// Writes it as btt does, after a name.
    pub(super) fn write(&self, name: &str, text: &mut String) {
        let (min, avg, max, n) = (self.min_s(), self.avg_s(), self.max_s(), self.n);
        writeln!(text, "{name:<15} {min:13.9} {avg:13.9} {max:13.9} {n:11}")
            .expect("a string takes everything");
    }
}

/// Two roundings, since btt adds whole seconds and the rest: the ninth decimal can depend on it.
fn seconds(ns: u64) -> f64 {
    (ns / NS_PER_S) as f64 + (ns % NS_PER_S) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_written_in_the_columns_of_btt() {
        let mut total = Total::default();
        for ns in [1_252, 3_621_810, 2_000_000_001] {
            total.add(ns);
        }
        let mut totals = Totals::default();
        totals.0[Phase::Q2c as usize] = total;
        let mut text = String::new();
        totals.row(Phase::Q2c).unwrap().write("Q2C", &mut text);
        assert_eq!(text, "Q2C               0.000001252   0.667874354   2.000000001           3\n");
        assert!(totals.row(Phase::Q2q).is_none());
        assert_eq!(totals.rows().len(), 1);
    }

    #[test]
    fn the_phases_are_numbered_in_the_order_of_the_rows() {
        assert!(Phase::ALL.iter().enumerate().all(|(place, phase)| *phase as usize == place));
    }
}
