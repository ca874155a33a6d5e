//! Which running processes to attach to.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(next_help_heading = "Attaching to running processes")]
pub(crate) struct Attach {
    /// Observe this process and its descendants, until Ctrl-C or its end; repeatable
    #[arg(short, long, value_name = "PID", value_parser = process, value_delimiter = ',',
        conflicts_with = "command")]
    pub(crate) pid: Vec<u32>,

    /// Observe every process of this name, also those started later: the name of its first thread
    /// (comm), or the base name of its executable or of the command that started it; repeatable
    #[arg(long, value_name = "NAME", value_parser = name, value_delimiter = ',',
        conflicts_with = "command")]
    pub(crate) name: Vec<String>,

    /// Observe all processes of this systemd unit, also those started later; repeatable
    #[arg(
        long,
        value_name = "UNIT",
        value_delimiter = ',',
        conflicts_with = "command"
    )]
    pub(crate) unit: Vec<String>,

    /// Observe all processes in this cgroup and below, also those that are started there or moved
    /// there later: a directory, or a path as in /proc/PID/cgroup; repeatable
    #[arg(long, value_name = "PATH", conflicts_with = "command")]
    pub(crate) cgroup: Vec<PathBuf>,

    /// Observe all processes of this container of Docker, Podman, CRI-O or containerd, also those
    /// started later: its name, its ID or the beginning of the ID; repeatable
    #[arg(
        long,
        value_name = "ID|NAME",
        value_delimiter = ',',
        conflicts_with = "command"
    )]
    pub(crate) container: Vec<String>,
}

impl Attach {
    /// Whether any is named.
    pub(crate) fn is_asked(&self) -> bool {
        let none = self.pid.is_empty() && self.name.is_empty() && self.has_no_groups();
        !none
    }

    pub(crate) fn has_no_groups(&self) -> bool {
        self.unit.is_empty() && self.cgroup.is_empty() && self.container.is_empty()
    }
}

/// The number of a process.
fn process(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| {
        let name = if text.starts_with('-') || text.is_empty() {
            "NAME"
        } else {
            text
        };
        format!("a process is named by its number (PID); --name {name} finds those of a program")
    })
}

/// The last name of a path.
fn name(text: &str) -> Result<String, String> {
    const LONGEST: usize = iostrata_tracer::ebpf::Wanted::LONGEST_NAME_BYTES;
    if text.is_empty() || text.contains('/') {
        Err("it is compared with base names, which have no slash; give the name alone".to_owned())
    } else if text.len() > LONGEST {
        Err(format!(
            "names have at most {LONGEST} bytes here; pass the processes with -p"
        ))
    } else {
        Ok(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_base_names() {
        assert_eq!(name("postgres"), Ok("postgres".to_owned()));
        assert_eq!(name(&"x".repeat(62)), Ok("x".repeat(62)));
        for wrong in ["", "/bin/dd", &"x".repeat(63)] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn processes_have_numbers() {
        assert_eq!(process("4211"), Ok(4211));
        for wrong in ["0", "-1", "dd", "4294967296"] {
            assert!(process(wrong).is_err(), "{wrong}");
        }
    }
}
