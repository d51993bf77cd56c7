//! One input: files, and the number that everything else follows from.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A file of an input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct File {
    pub name: String,
    /// None for a merged dump.
    pub cpu: Option<u32>,
    pub bytes: Vec<u8>,
}

/// One input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Case {
    /// The campaign that it is of.
    pub campaign: String,
    /// Options, operations and whatever else is rolled follow from it.
    pub seed: u64,
    pub files: Vec<File>,
}

impl Case {
    /// Length of all files.
    pub fn bytes(&self) -> usize {
        self.files.iter().map(|file| file.bytes.len()).sum()
    }

    /// As the reader takes them.
    pub fn sources(&self) -> Vec<(String, Option<u32>, Vec<u8>)> {
        self.files.iter().map(|file| (file.name.clone(), file.cpu, file.bytes.clone())).collect()
    }

    /// Saves it below the build's folder; gives the path.
    pub fn save(&self) -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
        std::fs::create_dir_all(&folder).expect("a folder for inputs that fail");
        let path = folder.join(format!("{}-{:016x}.json", self.campaign, self.seed));
        std::fs::write(&path, serde_json::to_vec(self).expect("numbers and texts"))
            .expect("a writable folder");
        path
    }

    /// Reads one that was saved.
    pub fn load(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_slice(&bytes).expect("an input that was saved")
    }
}
