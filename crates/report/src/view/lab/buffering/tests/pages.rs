//! Whole pages, as a reader sees them.

use iostrata_core::buffering::PerWrite;
use iostrata_core::environment::Backend;
use iostrata_core::evidence::Evidence;

use super::super::fixture::{buffering, result};
use super::plain;

#[test]
fn a_hundred_columns() {
    insta::assert_snapshot!(plain(&result(), 100), @r#"
    buffering · when do written bytes leave the program, and when are they durable?
    interrupted: 5 of 6 rows
    kernel 6.18.0 · 2 CPUs · 24.0 GiB memory · virtual machine (KVM) · observed by eBPF
      host  ext4 (no journal) at /srv/data on vda
      ext4  ext4 (journal, data=ordered) made by iostrata on loop3 → vda

      holds         an fsync after each record costs more than the write alone
                    1 B: fsync 71.4 µs, buffered 0.11 µs per record, 649 times (95 %: 540–720)
                    [rows 1, 2]
      refuted       the device writes as many bytes as the program
                    the device wrote per record: 1 B and fsync 8,192 B (×8,192); on ext4 refuted: 1 B
                    and fsync 16,384 B (×16,384); buffered 1.23 B after the program's end [rows 2, 5]
      inconclusive  fdatasync is cheaper than fsync for an append
                    the device requests of row 3 were not observed (device requests: not permitted)

    on host
      10,000 × 1 B  real s  range          user s  system s   writes/s  B/call  system calls
    1 buffered      0.0011  0.0010–0.0013  0.0000    0.0004  9,090,909   5,000  2 write
    2 fsync         0.7140  0.7010–0.7290  0.0071    0.2380     14,006       1  10,000 write, fsync
    3 fdatasync     0.6990  0.6900–0.7120  0.0070    0.2330     14,306     n/a  n/a

      per write  pages  data  journal  commit  metadata  flushes  device B  bytes ×  later B
    1 buffered   <0.01     0        0       0         0        0         0        —     1.23
    2 fsync          1     1        0       0         1        1     8,192    8,192        0
    3 fdatasync    n/a   n/a      n/a     n/a       n/a      n/a       n/a      n/a      n/a

    each file system, per write
      of 1 B     on    data  journal  commit  metadata  flushes  device B  bytes ×  real µs
    2 fsync      host     1        0       0         1        1     8,192    8,192     71.4
    5            ext4     1        2       1         0        2    16,384   16,384      141
    3 fdatasync  host   n/a      n/a     n/a       n/a      n/a       n/a      n/a     69.9

    per write: pages dirtied in the page cache; then write requests to the device, by cause, and flushes
    of its cache; device B: bytes of those requests; bytes ×: those bytes relative to the record; later
    B: bytes written to the device only after the program had ended
    range: least to most of five runs or fewer, which contains the true median less often than a 95 %
    interval

    bytes visible and durable after each write of 3 kB
      after                write 1  write 2  close
      buffered
        written              3,000    6,000  6,000
        visible to others        0        0  6,000
        durable                  0        0      0
      fsync, fdatasync, on host
        written              3,000    6,000  6,000
        visible to others    3,000    6,000  6,000
        durable              3,000    6,000  6,000
      fsync, on ext4
        written              3,000    6,000  6,000
        visible to others    3,000    6,000  6,000
        durable                n/a      n/a    n/a

    what the installed runtimes pass to the kernel, and when
    runtime      writes by                    buffer B  3 writes, flush       10 × 1 KiB, close
    Ruby 3.1.2   File.open(path, "wb").write     8,192  write 11              writev [7168, 1024],
                                                                              write 2048
    Go go1.26.8  os.File.Write                    none  2 × write 3, write 5  10 × write 1024

    memory before → after the observed run, MiB
      10,000 × 1 B  on        Dirty  Writeback             Cached      Buffers
    1 buffered      host  0.1 → 0.1      0 → 0  3,105.4 → 3,105.4  10.5 → 10.5
    4               ext4  0.1 → 0.1      0 → 0  3,105.4 → 3,105.4  10.5 → 10.5
    2 fsync         host  0.1 → 0.1      0 → 0  3,105.4 → 3,105.4  10.5 → 10.5
    5               ext4  0.1 → 0.1      0 → 0  3,105.4 → 3,105.4  10.5 → 10.5

    Cached is the page cache: contents of files, with reclaimable slab as in free -w. Buffers is what is
    left of the buffer cache: pages of block devices, where ext4 keeps its metadata (xfs and btrfs have
    caches of their own); device pages are those of the device measured in the row. Dirty bytes wait for
    write-back, Writeback bytes are being written

    notes
      - noisy: after 4–5 runs the interval spans 12–33 % of the median [rows 1, 2]
      - CPU time of other processes, including kernel threads: <0.01–0.14 s while the row was timed
        [rows 1–3, 5]

    timing 3–5 runs each, interleaved, no probes, after 6 warm-up runs · measurement overhead 4.13 ns
    per record · evidence from a separate observed run, 0 events lost
    not shown: 1 more row; --all-rows shows them

    not measured
      Java             java is not in the search path
      kernel evidence  not permitted: run as root (row 3)
      columns          without any value in the memory: device pages

    caveats
      - host has no journal: a sync writes the inode in its place and commits no transaction
    "#);
}

#[test]
fn eighty_columns() {
    insta::assert_snapshot!(plain(&result(), 80), @r#"
    buffering · when do written bytes leave the program, and when are they durable?
    interrupted: 5 of 6 rows
    kernel 6.18.0 · 2 CPUs · 24.0 GiB memory · virtual machine (KVM) · observed by
    eBPF
      host  ext4 (no journal) at /srv/data on vda
      ext4  ext4 (journal, data=ordered) made by iostrata on loop3 → vda

      holds         an fsync after each record costs more than the write alone
                    1 B: fsync 71.4 µs, buffered 0.11 µs per record, 649 times
                    (95 %: 540–720) [rows 1, 2]
      refuted       the device writes as many bytes as the program
                    the device wrote per record: 1 B and fsync 8,192 B (×8,192); on
                    ext4 refuted: 1 B and fsync 16,384 B (×16,384); buffered 1.23 B
                    after the program's end [rows 2, 5]
      inconclusive  fdatasync is cheaper than fsync for an append
                    the device requests of row 3 were not observed (device requests:
                    not permitted)

    on host
      10,000 × 1 B  real s  range          user s  system s  system calls
    1 buffered      0.0011  0.0010–0.0013  0.0000    0.0004  2 write
    2 fsync         0.7140  0.7010–0.7290  0.0071    0.2380  10,000 write, fsync
    3 fdatasync     0.6990  0.6900–0.7120  0.0070    0.2330  n/a

      per write  pages  data  journal  commit  metadata  flushes  bytes ×  later B
    1 buffered   <0.01     0        0       0         0        0        —     1.23
    2 fsync          1     1        0       0         1        1    8,192        0
    3 fdatasync    n/a   n/a      n/a     n/a       n/a      n/a      n/a      n/a

    each file system, per write
      of 1 B     on    data  journal  commit  metadata  flushes  bytes ×  real µs
    2 fsync      host     1        0       0         1        1    8,192     71.4
    5            ext4     1        2       1         0        2   16,384      141
    3 fdatasync  host   n/a      n/a     n/a       n/a      n/a      n/a     69.9

    per write: pages dirtied in the page cache; then write requests to the device,
    by cause, and flushes of its cache; device B: bytes of those requests; bytes ×:
    those bytes relative to the record; later B: bytes written to the device only
    after the program had ended
    range: least to most of five runs or fewer, which contains the true median less
    often than a 95 % interval

    bytes visible and durable after each write of 3 kB
      after                write 1  write 2  close
      buffered
        written              3,000    6,000  6,000
        visible to others        0        0  6,000
        durable                  0        0      0
      fsync, fdatasync, on host
        written              3,000    6,000  6,000
        visible to others    3,000    6,000  6,000
        durable              3,000    6,000  6,000
      fsync, on ext4
        written              3,000    6,000  6,000
        visible to others    3,000    6,000  6,000
        durable                n/a      n/a    n/a

    what the installed runtimes pass to the kernel, and when
    runtime      writes by          buffer B  3 writes, flush   10 × 1 KiB, close
    Ruby 3.1.2   File.open(path,       8,192  write 11          writev [7168, 1024],
                 "wb").write                                    write 2048
    Go go1.26.8  os.File.Write          none  2 × write 3,      10 × write 1024
                                              write 5

    memory before → after the observed run, MiB
      10,000 × 1 B  on        Dirty  Writeback             Cached      Buffers
    1 buffered      host  0.1 → 0.1      0 → 0  3,105.4 → 3,105.4  10.5 → 10.5
    4               ext4  0.1 → 0.1      0 → 0  3,105.4 → 3,105.4  10.5 → 10.5
    2 fsync         host  0.1 → 0.1      0 → 0  3,105.4 → 3,105.4  10.5 → 10.5
    5               ext4  0.1 → 0.1      0 → 0  3,105.4 → 3,105.4  10.5 → 10.5

    Cached is the page cache: contents of files, with reclaimable slab as in
    free -w. Buffers is what is left of the buffer cache: pages of block devices,
    where ext4 keeps its metadata (xfs and btrfs have caches of their own); device
    pages are those of the device measured in the row. Dirty bytes wait for
    write-back, Writeback bytes are being written

    notes
      - noisy: after 4–5 runs the interval spans 12–33 % of the median [rows 1, 2]
      - CPU time of other processes, including kernel threads: <0.01–0.14 s while
        the row was timed [rows 1–3, 5]

    timing 3–5 runs each, interleaved, no probes, after 6 warm-up runs · measurement
    overhead 4.13 ns per record · evidence from a separate observed run, 0 events
    lost
    not shown: 1 more row; --all-rows shows them
    hidden at 80 columns: B/call, writes/s, device B; a wider terminal or --json
    shows them

    not measured
      Java             java is not in the search path
      kernel evidence  not permitted: run as root (row 3)
      columns          without any value in the memory: device pages

    caveats
      - host has no journal: a sync writes the inode in its place and commits no
        transaction
    "#);
}

#[test]
fn columns_without_a_value_are_named_and_never_zero() {
    let mut result = result();
    result.environment.backend = Backend::None;
    let experiment = buffering(&mut result);
    experiment.targets.truncate(1);
    experiment.rows.truncate(2);
    experiment.own.timelines.clear();
    for row in &mut experiment.rows {
        row.row.evidence = Evidence::default();
        row.per_write = PerWrite::default();
        row.memory = None;
    }
    let text = plain(&result, 100);
    insta::assert_snapshot!(text, @r#"
    buffering · when do written bytes leave the program, and when are they durable?
    interrupted: 2 of 6 rows
    on ext4 (no journal) at /srv/data on vda · kernel 6.18.0 · 2 CPUs · 24.0 GiB memory · virtual
    machine (KVM) · not observed

      holds         an fsync after each record costs more than the write alone
                    1 B: fsync 71.4 µs, buffered 0.11 µs per record, 649 times (95 %: 540–720)
                    [rows 1, 2]
      refuted       the device writes as many bytes as the program
                    the device wrote per record: 1 B and fsync 8,192 B (×8,192); on ext4 refuted: 1 B
                    and fsync 16,384 B (×16,384); buffered 1.23 B after the program's end [rows 2, 5]
      inconclusive  fdatasync is cheaper than fsync for an append
                    the device requests of row 3 were not observed (device requests: not permitted)

      10,000 × 1 B  real s  range          user s  system s
    1 buffered      0.0011  0.0010–0.0013  0.0000    0.0004
    2 fsync         0.7140  0.7010–0.7290  0.0071    0.2380

    range: least to most of five runs or fewer, which contains the true median less often than a 95 %
    interval

    what the installed runtimes pass to the kernel, and when
    runtime      writes by                    buffer B  3 writes, flush       10 × 1 KiB, close
    Ruby 3.1.2   File.open(path, "wb").write     8,192  write 11              writev [7168, 1024],
                                                                              write 2048
    Go go1.26.8  os.File.Write                    none  2 × write 3, write 5  10 × write 1024

    notes
      - noisy: after 4–5 runs the interval spans 12–33 % of the median [rows 1, 2]
      - CPU time of other processes, including kernel threads: <0.01–0.07 s while the row was timed
        [rows 1, 2]

    timing 5 runs each, interleaved, no probes, after 6 warm-up runs · measurement overhead 4.13 ns per
    record · no kernel evidence: the runs could not be observed

    not measured
      Java     java is not in the search path
      columns  without any value in the rows of host: writes/s, B/call, system calls, pages, data,
               journal, commit, metadata, flushes, device B, bytes ×, later B

    caveats
      - host has no journal: a sync writes the inode in its place and commits no transaction
    "#);
}

#[test]
fn nothing_measured_is_said() {
    let mut result = result();
    let experiment = buffering(&mut result);
    experiment.rows.clear();
    experiment.own.timelines.clear();
    experiment.own.runtimes.clear();
    experiment.answers.clear();
    experiment.missing.clear();
    insta::assert_snapshot!(plain(&result, 80), @r"
    buffering · when do written bytes leave the program, and when are they durable?
    interrupted: 0 of 6 rows
    kernel 6.18.0 · 2 CPUs · 24.0 GiB memory · virtual machine (KVM) · observed by
    eBPF
      host  ext4 (no journal) at /srv/data on vda
      ext4  ext4 (journal, data=ordered) made by iostrata on loop3 → vda

    timing: no run finished
    not measured: nothing

    caveats
      - host has no journal: a sync writes the inode in its place and commits no
        transaction
    ");
}
