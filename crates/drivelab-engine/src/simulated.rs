//! A simulated drive as a target: what it holds and its time go on from one run to the next.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drivelab_sim::{Command, Drive, Model, Operation};

use crate::clock::virtual_time::VirtualTime;
use crate::error::{Code, EngineError, Result};

/// A drive and its time.
#[derive(Clone)]
pub struct SimulatedDrive {
    drive: Arc<Mutex<Drive>>,
    time: VirtualTime,
    size_bytes: u64,
}

impl std::fmt::Debug for SimulatedDrive {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "a simulated drive of {} bytes", self.size_bytes)
    }
}

impl SimulatedDrive {
    /// A new drive of a model, given as JSON.
    ///
    /// # Errors
    ///
    /// [`Code::InvalidWorkload`]: no drive can be made of it.
    pub fn new(model_json: &str, seed: u64) -> Result<Self> {
        let wrong = |what: String| EngineError::new(Code::InvalidWorkload, what).at("the model of a drive");
        let model: Model = serde_json::from_str(model_json).map_err(|error| wrong(error.to_string()))?;
        let drive = Drive::new(&model, seed).map_err(wrong)?;
        let size_bytes = drive.size_bytes();
        Ok(Self { drive: Arc::new(Mutex::new(drive)), time: VirtualTime::default(), size_bytes })
    }

    /// The drive itself.
    pub fn lock(&self) -> MutexGuard<'_, Drive> {
        self.drive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The drive itself, for whoever serves it to others.
    #[must_use]
    pub fn shared(&self) -> Arc<Mutex<Drive>> {
        Arc::clone(&self.drive)
    }

    /// Its time.
    #[must_use]
    pub fn time(&self) -> &VirtualTime {
        &self.time
    }

    /// Empties its write cache, and how long that takes, in ns.
    pub fn flush(&self) -> u64 {
        let now = self.time.now();
        let command =
            Command { operation: Operation::Flush, offset: 0, bytes: 0, is_forced: false, stored_share: 1.0 };
        let done = self.lock().submit(now, &command).at_ns.max(now);
        self.time.set(done);
        done - now
    }

    /// What the host sees.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }
}
