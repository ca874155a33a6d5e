//! Originals that are removed: archivers, compressors, moves, logs that are rotated.

use crate::table::{Case, Verdict::Unsafe};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "gzip",
        prepare: "seq 20000 > data.txt",
        run: "gzip data.txt",
        verdict: Unsafe {
            rule: "unlink-before-durable",
            file: "data.txt.gz",
        },
        because: "gzip(1) without --synchronous writes data.txt.gz, syncs nothing and removes data.txt: a \
                  crash after the next commit leaves an empty data.txt.gz alone (ext4, xfs).",
    },
    Case {
        name: "gunzip",
        prepare: "seq 20000 > data.txt; gzip data.txt",
        run: "gunzip data.txt.gz",
        verdict: Unsafe {
            rule: "unlink-before-durable",
            file: "data.txt",
        },
        because: "As gzip, the other way round: the only file left is empty.",
    },
    Case {
        name: "xz",
        prepare: "seq 20000 > data.txt",
        run: "xz data.txt",
        verdict: Unsafe {
            rule: "unlink-before-durable",
            file: "data.txt.xz",
        },
        because: "xz before 5.8 has no fsync: as gzip, an empty file is left alone.",
    },
    Case {
        name: "bzip2",
        prepare: "seq 20000 > data.txt",
        run: "bzip2 data.txt",
        verdict: Unsafe {
            rule: "unlink-before-durable",
            file: "data.txt.bz2",
        },
        because: "bzip2 has no fsync: as gzip, an empty file is left alone.",
    },
    Case {
        name: "zstd --rm",
        prepare: "seq 20000 > data.txt",
        run: "zstd -q --rm data.txt",
        verdict: Unsafe {
            rule: "unlink-before-durable",
            file: "data.txt.zst",
        },
        because: "zstd has no fsync: as gzip, an empty file is left alone.",
    },
    Case {
        name: "zip -m",
        prepare: "seq 20000 > a.txt; seq 30000 > b.txt",
        run: "zip -q -m docs.zip a.txt b.txt",
        verdict: Unsafe {
            rule: "unlink-before-durable",
            file: "docs.zip",
        },
        because: "zip -m removes the files that it has moved into an archive that is in memory.",
    },
    Case {
        name: "tar --remove-files",
        prepare: "mkdir d; seq 20000 > d/a",
        run: "tar cf d.tar --remove-files d",
        verdict: Unsafe {
            rule: "unlink-before-durable",
            file: "d.tar",
        },
        because: "tar removes each file when it has written, not synced, its copy in the archive.",
    },
    Case {
        name: "tar x, then rm of the archive",
        prepare: "mkdir d; seq 20000 > d/a; tar cf d.tar d; rm -r d",
        run: "tar xf d.tar && rm d.tar",
        verdict: Unsafe {
            rule: "unlink-before-durable",
            file: "d/a",
        },
        because: "tar(1) syncs nothing; with the archive gone, the files that a crash leaves empty exist \
                  nowhere.",
    },
    Case {
        name: "mv to another mount",
        prepare: "mkdir from to; seq 20000 > from/data",
        run: "unshare -m sh -ec 'mount --bind from from; mv from/data to/'",
        verdict: Unsafe {
            rule: "unlink-before-durable",
            file: "to/data",
        },
        because: "rename(2) ends with EXDEV between mounts, so mv copies and removes, and does not sync the \
                  copy: it can be empty after a crash, and the original is gone.",
    },
    Case {
        name: "cp, then rm of the original",
        prepare: "mkdir backup; seq 20000 > data",
        run: "cp data backup/ && rm data",
        verdict: Unsafe {
            rule: "unlink-before-durable",
            file: "backup/data",
        },
        because: "The copy is in memory when the original goes: as mv to another mount.",
    },
    Case {
        name: "rsync --remove-source-files",
        prepare: "mkdir from to; seq 20000 > from/data",
        run: "rsync -a --remove-source-files from/ to/",
        verdict: Unsafe {
            rule: "unlink-before-durable",
            file: "to/data",
        },
        because: "Without --fsync the receiver has the copy in memory when the sender removes the original.",
    },
    Case {
        name: "rsync over an older copy",
        prepare: "mkdir from to; seq 20000 > from/data; seq 10000 > to/data; touch -d yesterday to/data",
        run: "rsync -a from/ to/",
        verdict: Unsafe {
            rule: "rename-without-fsync",
            file: "to/data",
        },
        because: "rsync renames .data.XXXXXX over the older copy without a sync: after a crash the backup \
                  can have neither version (ext4: zeros, xfs: empty).",
    },
    Case {
        name: "dpkg --force-unsafe-io",
        prepare: "mkdir -p p/DEBIAN p/opt; seq 9000 > p/opt/tool
printf 'Package: tool\\nVersion: 1\\nArchitecture: all\\nMaintainer: a <a@example.org>\\nDescription: x\\n' > p/DEBIAN/control
dpkg-deb -b p tool.deb >/dev/null
mkdir -p root/opt root/var/lib/dpkg/updates root/var/lib/dpkg/info; touch root/var/lib/dpkg/status
echo old > root/opt/tool",
        run: "dpkg --root=$PWD/root --log=$PWD/log --force-unsafe-io --force-depends -i tool.deb >/dev/null",
        verdict: Unsafe {
            rule: "rename-without-fsync",
            file: "opt/tool",
        },
        because: "dpkg(1): --force-unsafe-io leaves out the fsync before opt/tool.dpkg-new is renamed over \
                  the installed file; after a crash it can have no contents though dpkg says `installed`.",
    },
    Case {
        name: "a log that is copied and cut",
        prepare: "seq 20000 > app.log",
        run: "cp app.log app.log.1 && : > app.log",
        verdict: Unsafe {
            rule: "unlink-before-durable",
            file: "app.log.1",
        },
        because: "What `copytruncate` of logrotate(8) does by hand: the original is cut off while its copy is \
                  in memory. A crash then leaves two empty files (xfs; ext4 after the next commit).",
    },
];
