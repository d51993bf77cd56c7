"""Which options of mkfs and mount an experiment may ask for: those that are known to touch the target alone.

Other options name a second device (a log, a journal, a member), write or read a
file, mount something else, make nothing at all, or give the file system an
identity by which drivelab would not know it again. So what is not listed is refused.

What an option takes is written as in a manual: words apart by blanks are what may
stand between its commas, ``N`` is a whole number, ``SIZE`` one with a unit of one
letter, ``PERCENT`` one with a decimal point; ``|`` is "or", ``[=0|1]`` may be left
out, ``[^]`` turns a feature off.
"""

from __future__ import annotations

_EXT_MKFS = {
    "-b": "SIZE",
    "-C": "SIZE",
    "-D": "",
    "-e": "continue|remount-ro",
    "-E": "assume_storage_prezeroed[=0|1] desc_size=N discard lazy_itable_init[=0|1] lazy_journal_init[=0|1] "
    "mmp_update_interval=N nodiscard num_backup_sb=0|1|2 orphan_file_size=SIZE packed_meta_blocks[=0|1] resize=SIZE "
    "stride=N stripe_width=N stripe-width=N",
    "-g": "N",
    "-G": "N",
    "-i": "SIZE",
    "-I": "N",
    "-j": "",
    "-J": "fast_commit_size=N location=SIZE size=N",
    "-K": "",
    "-m": "PERCENT",
    "-N": "N",
    "-O": "none [^]64bit [^]bigalloc [^]casefold [^]dir_index [^]dir_nlink [^]ea_inode [^]encrypt [^]ext_attr "
    "[^]extent [^]extents [^]extra_isize [^]fast_commit [^]filetype [^]flex_bg [^]has_journal [^]huge_file "
    "[^]inline_data [^]large_dir [^]large_file [^]meta_bg [^]metadata_csum [^]metadata_csum_seed [^]mmp "
    "[^]orphan_file [^]project [^]quota [^]resize_inode [^]sparse_super [^]sparse_super2 [^]stable_inodes [^]uninit_bg "
    "[^]verity",
    "-q": "",
    "-r": "0|1",
    "-T": "big default floppy huge largefile largefile4 news small",
    "-v": "",
}
_XFS_MKFS = {
    "-b": "size=SIZE",
    "-d": "agcount=N agsize=SIZE concurrency=N cowextsize=SIZE daxinherit=0|1 extszinherit=SIZE noalign[=0|1] "
    "sectsize=SIZE size=SIZE su=SIZE sunit=N sw=N swidth=N",
    "-f": "",
    "-i": "align[=0|1] attr=0|1|2 exchange[=0|1] maxpct=N nrext64[=0|1] perblock=N projid32bit[=0|1] size=SIZE "
    "sparse[=0|1]",
    "-K": "",
    "-l": "agnum=N concurrency=N internal[=1] lazy-count[=0|1] sectsize=SIZE size=SIZE su=SIZE sunit=N version=1|2",
    "-m": "autofsck[=0|1] bigtime[=0|1] crc[=0|1] finobt[=0|1] inobtcount[=0|1] metadir[=0|1] reflink[=0|1] "
    "rmapbt[=0|1]",
    "-n": "ftype[=0|1] parent[=0|1] size=SIZE version=2|ci",
    "-q": "",
    "-s": "size=SIZE",
}
_BTRFS_FEATURES = (
    "[^]block-group-tree [^]extref [^]free-space-tree [^]mixed-bg [^]no-holes [^]quota [^]skinny-metadata [^]squota"
)
_BTRFS_MKFS = {
    "-b --byte-count": "SIZE",
    "--csum --checksum": "blake2|blake2b|crc32c|sha256|xxhash|xxhash64",
    "-d --data": "dup|single",
    "-f --force": "",
    "-K --nodiscard": "",
    "-m --metadata": "dup|single",
    "-M --mixed": "",
    "-n --nodesize": "SIZE",
    "-O --features": _BTRFS_FEATURES,
    "-q --quiet": "",
    "-R --runtime-features": _BTRFS_FEATURES,
    "-s --sectorsize": "SIZE",
    "-v --verbose": "",
}
_F2FS_MKFS = {
    "-a": "0|1",
    "-f": "",
    "-i": "",
    "-o": "PERCENT",
    "-O": "casefold compression encrypt extra_attr flexible_inline_xattr inode_checksum inode_crtime lost_found "
    "project_quota quota sb_checksum verity",
    "-q": "",
    "-s": "N",
    "-t": "0|1",
    "-w": "N",
    "-z": "N",
}

# what every file system can be mounted with
_ANY_MOUNT = (
    "async atime defaults diratime dirsync iversion lazytime noatime nodev nodiratime noexec noiversion nolazytime "
    "norelatime nostrictatime nosuid relatime rw silent strictatime sync"
)
_EXT_MOUNT = (
    "acl auto_da_alloc[=0|1] barrier[=0|1] block_validity bsddf bsdgroups commit=N data=journal|ordered|writeback "
    "data_err=abort|ignore dax[=always|inode|never] delalloc dioread_lock dioread_nolock discard "
    "errors=continue|remount-ro grpid grpquota i_version init_itable[=N] inlinecrypt inode_readahead_blks=N "
    "journal_async_commit journal_checksum journal_ioprio=N max_batch_time=N max_dir_size_kb=N mb_optimize_scan=0|1 "
    "mblk_io_submit min_batch_time=N minixdf no_mbcache no_prefetch_block_bitmaps noacl noauto_da_alloc nobarrier "
    "noblock_validity nodelalloc nodiscard nogrpid noinit_itable nojournal_checksum nombcache nomblk_io_submit noquota "
    "noreservation nouid32 nouser_xattr nowarn_on_error oldalloc orlov prefetch_block_bitmaps prjquota quota "
    "reservation resgid=N resuid=N stripe=N sysvgroups user_xattr usrquota warn_on_error"
)
_XFS_MOUNT = (
    "allocsize=SIZE attr2 barrier bsdgroups dax[=always|inode|never] discard filestreams gqnoenforce gquota grpid "
    "grpquota ikeep inode32 inode64 largeio lifetime logbsize=SIZE logbufs=N noalign noattr2 nobarrier nodiscard "
    "nogrpid noikeep nolargeio nolifetime noquota nouuid pqnoenforce pquota prjquota quota sunit=N swalloc swidth=N "
    "sysvgroups uqnoenforce uquota usrquota wsync"
)
_BTRFS_MOUNT = (
    "acl autodefrag barrier clear_cache commit=N compress-force[=lzo|zlib|zlib:N|zstd|zstd:N] "
    "compress[=lzo|no|none|zlib|zlib:N|zstd|zstd:N] datacow datasum discard[=async|sync] flushoncommit max_inline=SIZE "
    "metadata_ratio=N noacl noautodefrag nobarrier nodatacow nodatasum nodiscard noflushoncommit nospace_cache nossd "
    "nossd_spread notreelog skip_balance space_cache[=v1|v2] ssd ssd_spread thread_pool=N treelog "
    "user_subvol_rm_allowed"
)
_F2FS_MOUNT = (
    "acl active_logs=2|4|6 age_extent_cache alloc_mode=default|reuse atgc background_gc=off|on|sync barrier "
    "checkpoint=enable checkpoint_merge compress_algorithm=lz4|lz4:N|lzo|lzo-rle|zstd|zstd:N compress_cache "
    "compress_chksum compress_log_size=N compress_mode=fs|user data_flush disable_ext_identify discard "
    "discard_unit=block|section|segment errors=continue|remount-ro extent_cache fastboot flush_merge "
    "fsync_mode=nobarrier|posix|strict gc_merge heap inline_data inline_dentry inline_xattr inline_xattr_size=N "
    "inlinecrypt memory=low|normal mode=adaptive|lfs no_heap noacl nobarrier nocheckpoint_merge nodiscard "
    "noextent_cache noflush_merge nogc_merge noinline_data noinline_dentry noinline_xattr nouser_xattr "
    "reserve_root=N resgid=N resuid=N user_xattr"
)

# by type of file system: what each option takes, nothing or words
MKFS_OPTIONS: dict[str, dict[str, str]] = {
    "ext2": _EXT_MKFS,
    "ext3": _EXT_MKFS,
    "ext4": _EXT_MKFS,
    "xfs": _XFS_MKFS,
    "btrfs": _BTRFS_MKFS,
    "f2fs": _F2FS_MKFS,
}
MOUNT_OPTIONS: dict[str, str] = {
    "ext2": f"{_ANY_MOUNT} {_EXT_MOUNT}",
    "ext3": f"{_ANY_MOUNT} {_EXT_MOUNT}",
    "ext4": f"{_ANY_MOUNT} {_EXT_MOUNT}",
    "xfs": f"{_ANY_MOUNT} {_XFS_MOUNT}",
    "btrfs": f"{_ANY_MOUNT} {_BTRFS_MOUNT}",
    "f2fs": f"{_ANY_MOUNT} {_F2FS_MOUNT}",
}
