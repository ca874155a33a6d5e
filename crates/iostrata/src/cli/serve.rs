//! Options of `iostrata serve`.

use std::net::{AddrParseError, SocketAddr};
use std::time::Duration;

use clap::Args;

use super::top::every;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
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

const EXAMPLES: &str = "Examples:
  iostrata serve                                 metrics at http://127.0.0.1:9977/metrics
  iostrata serve --top 50 --label-paths          more files, by their paths
  iostrata serve --listen [::1]:9977             on another address

Prometheus reads from it what iostrata top shows: calls, page cache and block requests of the whole
machine, by process, file, cgroup and disk. Runs until Ctrl-C or SIGTERM. Needs root, or the
capabilities listed by `iostrata doctor`; without them it serves what /proc/PID/io says of your own
processes. There is no authentication: put a proxy before any address but the loopback.";
