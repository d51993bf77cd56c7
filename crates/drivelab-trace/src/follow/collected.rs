//! A [`Sink`] that keeps everything.

use crate::lifetime::{Bio, Command, Sink};

/// Lives in the order of their ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// Bios.
    pub bios: Vec<Bio>,
    /// Commands.
    pub commands: Vec<Command>,
}

impl Sink for Collected {
    fn bio(&mut self, bio: Bio) {
        self.bios.push(bio);
    }

    fn command(&mut self, command: Command) {
        self.commands.push(command);
    }
}
