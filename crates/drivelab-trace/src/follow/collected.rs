//! A [`Sink`] that keeps everything.

use crate::lifetime::{Bio, Command, Remap, Sink};

/// Lives in the order of their ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// Bios.
    pub bios: Vec<Bio>,
    /// Commands.
    pub commands: Vec<Command>,
    /// What was sent on to lower devices, in the order of the records.
    pub remaps: Vec<Remap>,
}

impl Sink for Collected {
    fn bio(&mut self, bio: Bio) {
        self.bios.push(bio);
    }

    fn command(&mut self, command: Command) {
        self.commands.push(command);
    }

    fn remap(&mut self, remap: Remap) {
        self.remaps.push(remap);
    }
}
