//! Which of the writes below a layer are the journal's.

use drivelab_trace::join::join;
use drivelab_trace::lifetime::Remap;
use drivelab_trace::record::category::{META, WRITE};

use crate::layers::{DRIVE, JOB, SHIFT, TOP, WORKER, around, bio, command, write};

#[test]
fn a_write_is_the_journals_only_where_a_layer_says_that_it_came_from_it() {
    // a commit has a loop device write what the program left in its memory before
    let bios = [
        bio(TOP, JOB, 8, WRITE, (10, 0, 20)),
        bio(TOP, JOB, 16, WRITE | META, (30, 0, 90)),
        bio(DRIVE, WORKER, SHIFT + 8, WRITE, (40, 45, 60)),
        bio(DRIVE, WORKER, SHIFT + 16, WRITE | META, (50, 55, 80)),
    ];
    let commands =
        [command(DRIVE, SHIFT + 8, WRITE, 45, 60), command(DRIVE, SHIFT + 16, WRITE | META, 55, 80)];
    let of_journal = |remaps| {
        let joined = join(&[write(0, 100)], &bios, &commands, &around(1, 1, remaps));
        let work = joined.operations[0].work;
        assert_eq!((work.device_writes, work.bytes_written), (2, 2 * 4096));
        (work.journal_writes, work.journal_bytes)
    };
    assert_eq!(of_journal(vec![]), (0, 0));
    let sent_on = |sector, time_ns| Remap {
        device: DRIVE,
        sector: SHIFT + sector,
        from_device: TOP,
        from_sector: sector,
        bytes: 4096,
        time_ns,
    };
    assert_eq!(of_journal(vec![sent_on(16, 50)]), (1, 4096));
}
