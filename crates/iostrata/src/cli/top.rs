//! Options of `iostrata top` and `iostrata serve`.

use std::net::{AddrParseError, SocketAddr};
use std::time::Duration;

use clap::Args;
use iostrata_core::top::{By, Sort};

use super::named;
use super::trace::duration;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Top {
    /// Show one interval, and end
    #[arg(long, conflicts_with = "time")]
    pub(crate) once: bool,

    /// End after this time, such as 10s or 2min [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub(crate) time: Option<Duration>,

    /// Length of an interval, such as 1s or 500ms; at least 100ms
    #[arg(long, value_name = "TIME", value_parser = every, default_value = "1s")]
    pub(crate) every: Duration,

    /// Print one line of JSON for each interval (iostrata.top/1) instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// What a row of the text is
    #[arg(long, value_parser = named(BY), default_value = "process")]
    pub(crate) by: By,

    /// What rows are sorted by, most first
    #[arg(long, value_parser = named(SORT), default_value = "device")]
    pub(crate) sort: Sort,

    /// Only rows whose name, path or cgroup contains TEXT; totals and disks stay those of all
    #[arg(long, value_name = "TEXT")]
    pub(crate) name: Option<String>,

    /// Show the first N rows [default: 10; with --json all]
    #[arg(long = "top", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rows: Option<u32>,
}

const BY: [(&str, By, &str); 6] = [
    (
        "process",
        By::Process,
        "A process; of requests those that it submitted itself",
    ),
    (
        "file",
        By::File,
        "A file; of requests also those that kernel threads submitted",
    ),
    ("directory", By::Directory, "A directory: the files in it"),
    (
        "cgroup",
        By::Cgroup,
        "A cgroup (version 2), which containers and units have: its processes",
    ),
    (
        "container",
        By::Container,
        "A container, by its ID: its processes",
    ),
    (
        "device",
        By::Device,
        "A disk: only its requests by cause, and their latency",
    ),
];

const SORT: [(&str, Sort, &str); 8] = [
    ("device", Sort::Device, "Bytes of device requests"),
    ("time", Sort::Time, "Time in calls"),
    ("calls", Sort::Calls, "Calls"),
    ("read", Sort::Read, "Bytes read by calls"),
    ("written", Sort::Written, "Bytes written by calls"),
    ("syncs", Sort::Syncs, "Syncs"),
    (
        "missed",
        Sort::Missed,
        "Pages that a read or fault had to wait for",
    ),
    ("dirtied", Sort::Dirtied, "Bytes turned dirty"),
];

/// A shorter interval costs more than it tells.
const SHORTEST: Duration = Duration::from_millis(100);

pub(super) fn every(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time < SHORTEST {
        return Err(format!(
            "`{text}` is too short; the shortest interval is 100ms"
        ));
    }
    Ok(time)
}

const EXAMPLES: &str = "Examples:
  iostrata top                             who uses the disks now, until Ctrl-C
  iostrata top --once --by file            one second, by file
  iostrata top --for 10s --sort syncs      who waits for syncs
  iostrata top --json --for 1min           one line of JSON each second

Counts calls on files, directories and block devices, the page cache and the requests of all
processes. Requests for the journal, for metadata and flushes name no file: they are shown as the
disk's, never as a process's. Needs root, or the capabilities listed by `iostrata doctor`; without
them it shows what /proc/PID/io says of your own processes.";

#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct Serve {
    /// Address and port; all who reach them can read the metrics
    #[arg(long, value_name = "ADDR:PORT", value_parser = address, default_value = "127.0.0.1:9977")]
    pub(crate) listen: SocketAddr,

    /// How often counts are taken from the kernel, such as 1s or 500ms; at least 100ms
    #[arg(long, value_name = "TIME", value_parser = every, default_value = "1s")]
    pub(crate) every: Duration,

    /// Processes, files and cgroups with metrics of their own; all others are summed
    #[arg(long = "top", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST), default_value_t = 20)]
    pub(crate) rows: u32,

    /// Show paths of files, instead of device and inode number, to all who can read the metrics
    #[arg(long)]
    pub(crate) label_paths: bool,
}

/// No name: the distributed program can look none up (`scripts/dist`).
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|error: AddrParseError| {
        format!("{error}; give an IP address with a port, such as 127.0.0.1:9977 or [::1]:9977")
    })
}

/// More would burden every scrape and the database of metrics.
const MOST: i64 = 1000;

const SERVE_EXAMPLES: &str = "Examples:
  iostrata serve                                 metrics at http://127.0.0.1:9977/metrics
  iostrata serve --top 50 --label-paths          more files, by their paths
  iostrata serve --listen [::1]:9977             on another address

Prometheus reads from it what iostrata top shows: calls, page cache and block requests of the whole
machine, by process, file, cgroup and disk. Runs until Ctrl-C or SIGTERM. Needs root, or the
capabilities listed by `iostrata doctor`; without them it serves what /proc/PID/io says of your own
processes. There is no authentication: put a proxy before any address but the loopback.";
