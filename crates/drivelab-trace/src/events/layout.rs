//! Which events tell of which station of a bio or a command, and where their fields stand.

use std::collections::HashMap;

use super::format::{EventFormat, Field, FormatError, PageFormat};
use crate::record::{Action, category};

/// How an event is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A bio: sector and number of sectors.
    Bio,
    /// A request: its length in bytes stands there too, for a driver's own commands.
    Request,
    /// A bio that was cut in two.
    Split,
    /// A bio or a request that was sent to another place.
    Remap,
    /// Neither device nor sector.
    Plug,
    /// The same, with the number of requests.
    Unplug,
    /// What a program wrote into `trace_marker`.
    Marker,
}

const STATIONS: [(&str, Shape, Action, u32); 19] = {
    use Action::{
        BackMerge, Bounce, Complete, FrontMerge, GetRequest, Insert, Issue, Plug, Queue, Remap, Requeue,
        SleepRequest, Split, Unplug, UnplugTimer,
    };
    use category::{COMPLETE, FS, ISSUE, QUEUE, REQUEUE};
    [
        ("block_bio_queue", Shape::Bio, Queue, QUEUE),
        ("block_bio_backmerge", Shape::Bio, BackMerge, QUEUE),
        ("block_bio_frontmerge", Shape::Bio, FrontMerge, QUEUE),
        ("block_getrq", Shape::Bio, GetRequest, QUEUE),
        ("block_sleeprq", Shape::Bio, SleepRequest, QUEUE),
        ("block_bio_bounce", Shape::Bio, Bounce, 0),
        // of drivers that take bios and not requests; where there are requests, they complete
        ("block_bio_complete", Shape::Bio, Complete, COMPLETE),
        ("block_rq_insert", Shape::Request, Insert, QUEUE | FS),
        ("block_rq_issue", Shape::Request, Issue, ISSUE | FS),
        ("block_rq_merge", Shape::Request, BackMerge, QUEUE | FS),
        ("block_rq_requeue", Shape::Request, Requeue, REQUEUE | FS),
        ("block_rq_complete", Shape::Request, Complete, COMPLETE | FS),
        ("block_split", Shape::Split, Split, 0),
        ("block_bio_remap", Shape::Remap, Remap, QUEUE),
        ("block_rq_remap", Shape::Remap, Remap, QUEUE | FS),
        ("block_plug", Shape::Plug, Plug, QUEUE),
        ("block_unplug", Shape::Unplug, Unplug, QUEUE),
        ("block_unplug_io", Shape::Unplug, Unplug, QUEUE),
        ("block_unplug_timer", Shape::Unplug, UnplugTimer, QUEUE),
    ]
};

/// Names of the events that are read, in no order; those that a kernel has are worth enabling.
#[must_use]
pub fn event_names() -> Vec<&'static str> {
    STATIONS.iter().map(|station| station.0).collect()
}

/// One kind of event, ready to be read.
#[derive(Debug, Clone)]
pub(super) struct Station {
    pub shape: Shape,
    pub action: Action,
    pub category: u32,
    pub pid: Field,
    pub device: Option<Field>,
    pub sector: Option<Field>,
    pub sectors: Option<Field>,
    pub bytes: Option<Field>,
    pub error: Option<Field>,
    pub letters: Option<Field>,
    pub process: Option<Field>,
    pub command: Option<Field>,
    pub new_sector: Option<Field>,
    pub old_device: Option<Field>,
    pub old_sector: Option<Field>,
    pub requests: Option<Field>,
    pub text: Option<Field>,
}

impl Station {
    fn new(format: &EventFormat, shape: Shape, action: Action, category: u32) -> Result<Self, FormatError> {
        let required: &[&str] = match shape {
            Shape::Bio | Shape::Request => &["dev", "sector", "nr_sector", "rwbs"],
            Shape::Split => &["dev", "sector", "new_sector", "rwbs"],
            Shape::Remap => &["dev", "sector", "nr_sector", "old_dev", "old_sector", "rwbs"],
            Shape::Plug => &[],
            Shape::Unplug => &["nr_rq"],
            Shape::Marker => &["buf"],
        };
        for name in required {
            format.required(name)?;
        }
        let field = |name: &str| format.field(name).cloned();
        Ok(Self {
            shape,
            action,
            category,
            pid: format.required("common_pid")?.clone(),
            device: field("dev"),
            sector: field("sector"),
            sectors: field("nr_sector"),
            bytes: field("bytes"),
            // its name before Linux 4.14
            error: field("error").or_else(|| field("errors")),
            letters: field("rwbs"),
            process: field("comm"),
            command: field("cmd"),
            new_sector: field("new_sector"),
            old_device: field("old_dev"),
            old_sector: field("old_sector"),
            requests: field("nr_rq"),
            text: field("buf"),
        })
    }
}

/// How the kernel that recorded lays out its pages and events.
#[derive(Debug, Clone)]
pub struct Layout {
    pub(super) page: PageFormat,
    pub(super) stations: HashMap<u16, Station>,
    pub(super) is_blk_tracer: bool,
}

impl Layout {
    /// Reads `header_page` and the `format` files of the events that were recorded.
    ///
    /// # Errors
    /// One of them cannot be understood, or lacks a field that is needed.
    pub fn parse<'a>(
        header_page: &str,
        formats: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, FormatError> {
        let mut stations = HashMap::new();
        for text in formats {
            let format = EventFormat::parse(text)?;
            let known = STATIONS.iter().find(|station| station.0 == format.name);
            let station = match known {
                Some((_, shape, action, category)) => Station::new(&format, *shape, *action, *category)?,
                None if format.name == "print" => {
                    Station::new(&format, Shape::Marker, Action::DriverData, 0)?
                }
                None => {
                    return Err(FormatError(format!("an event that nothing is known of: {}", format.name)));
                }
            };
            stations.insert(format.id, station);
        }
        Ok(Self { page: PageFormat::parse(header_page)?, stations, is_blk_tracer: false })
    }

    /// Reads `header_page` of a buffer that the kernel's `blk` tracer filled.
    ///
    /// # Errors
    /// It cannot be understood.
    pub fn of_blk_tracer(header_page: &str) -> Result<Self, FormatError> {
        Ok(Self { page: PageFormat::parse(header_page)?, stations: HashMap::new(), is_blk_tracer: true })
    }

    /// Layout of pages.
    #[must_use]
    pub fn page(&self) -> &PageFormat {
        &self.page
    }
}
