//! Starts checkers from a small process. A copy of iostrata itself would take longer to make than a checker to run: its
//! page tables are copied too (fork(2)).
//!
//! For each checker the small process makes a copy of itself, the first process of namespaces of its own where the
//! sandbox has them. That one starts a shell with the checker, and ends with it; the kernel then ends what the checker
//! has left in the PID namespace.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use iostrata_core::crash::Sandbox;
use iostrata_tracer::kernel::{Own, die_with_parent, forked};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{
    Pid, Signal, WaitOptions, getegid, geteuid, kill_process, kill_process_group,
    set_parent_process_death_signal, setsid, wait, waitpid,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::checker::{Checker, HOME, PRINTED, SAID, TEMPORARY, TREE, word};
use super::room::{Ids, Users, bound, enter};
use crate::interrupt::Interrupt;

/// Requests to the small process: start a checker, and end it.
const GO: u8 = b'g';
const STOP: u8 = b's';

/// What it answers, before a number: how the checker ended, as `wait(2)` has it, or the error that kept it from starting.
const ENDED: u8 = b'e';
const REFUSED: u8 = b'r';
const ANSWER_BYTES: usize = 5;

/// For a checker that may gain privileges.
const GAINS: &str = "gains";

/// For a checker that keeps running.
const STAYS: &str = "stays";

const NULL: &str = "/dev/null";

/// Stands for an error without a number.
const NO_NUMBER: i32 = Errno::IO.raw_os_error();

/// How often a waiter looks for an interruption.
pub(super) const INTERRUPT_CHECK: Duration = Duration::from_millis(20);

/// The process that starts the checkers of one stage; it ends with this value. When iostrata is killed, it sees the end
/// of their connection, and ends what it has started.
#[derive(Debug)]
pub(super) struct Starter {
    child: Child,
    link: UnixStream,
}

impl Starter {
    /// In the namespaces of the calling thread. The checker has no other variables than these. `ends` are the pipes that
    /// a checker that keeps running reads from and writes to.
    pub(super) fn start(
        checker: &Checker,
        stage: &Path,
        ids: Ids,
        ends: Option<[OwnedFd; 2]>,
    ) -> io::Result<Self> {
        let (link, its) = UnixStream::pair()?;
        let passed = |name: &OsString| {
            let known =
                name == "PATH" || name == "LANG" || name.as_bytes().starts_with(b"IOSTRATA_");
            known || checker.pass_env.contains(name)
        };
        let mut command = checker.launcher.command();
        command
            .arg(word(checker.sandbox))
            .arg(stage)
            .arg(&checker.command)
            .arg(ids.words())
            .arg(if checker.gains { GAINS } else { "" })
            .arg(if ends.is_some() { STAYS } else { "" })
            .args(&checker.sees)
            .env_clear()
            .envs(env::vars_os().filter(|(name, _)| passed(name)))
            .env("TMPDIR", stage.join(TEMPORARY))
            .env("HOME", stage.join(HOME))
            // Ctrl-C is for the process that waits for it.
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(its)));
        match ends {
            // The small process has no use for them itself, and passes them on.
            Some([questions, answers]) => command.stderr(questions).stdout(answers),
            None => command
                .env("IOSTRATA_DIR", stage.join(TREE))
                .env("IOSTRATA_STDOUT", stage.join(PRINTED))
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        };
        let child = command.spawn()?;
        Ok(Self { child, link })
    }

    /// Runs the checker in what the stage holds now, to its end; `None` where that takes too long. Whatever it has
    /// started is gone then, as far as the sandbox can tell.
    pub(super) fn run(
        &self,
        patience: Duration,
        interrupt: &Interrupt,
    ) -> io::Result<Option<ExitStatus>> {
        self.go()?;
        let mut link = &self.link;
        let begun = Instant::now();
        let is_over = loop {
            let left = patience.saturating_sub(begun.elapsed());
            if left.is_zero() || interrupt.check().is_err() {
                link.write_all(&[STOP])?;
                break left.is_zero();
            }
            if is_readable(link, left.min(INTERRUPT_CHECK))? {
                break false;
            }
        };
        let status = self.status()?;
        Ok((!is_over).then_some(status))
    }

    /// Starts the checker.
    pub(super) fn go(&self) -> io::Result<()> {
        (&self.link).write_all(&[GO])
    }

    /// How the checker has ended; waits for that.
    pub(super) fn status(&self) -> io::Result<ExitStatus> {
        let mut answer = [0; ANSWER_BYTES];
        (&self.link).read_exact(&mut answer)?;
        outcome(answer)
    }

    /// Becomes readable when the checker has ended.
    pub(super) fn link(&self) -> &UnixStream {
        &self.link
    }
}

impl Drop for Starter {
    fn drop(&mut self) {
        // It ends what it has started before it ends itself.
        self.link.shutdown(Shutdown::Both).ok();
        self.child.wait().ok();
    }
}

fn is_readable(link: &UnixStream, longest: Duration) -> io::Result<bool> {
    let mut polled = [PollFd::new(link, PollFlags::IN)];
    let longest = Timespec::try_from(longest).ok();
    match poll(&mut polled, longest.as_ref()) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn answer(outcome: io::Result<ExitStatus>) -> [u8; ANSWER_BYTES] {
    let (kind, number) = match outcome {
        Ok(status) => (ENDED, status.into_raw()),
        Err(error) => (REFUSED, error.raw_os_error().unwrap_or(NO_NUMBER)),
    };
    let mut answer = [kind; ANSWER_BYTES];
    answer[1..].copy_from_slice(&number.to_le_bytes());
    answer
}

fn outcome(answer: [u8; ANSWER_BYTES]) -> io::Result<ExitStatus> {
    let [kind, number @ ..] = answer;
    let number = i32::from_le_bytes(number);
    match kind {
        ENDED => Ok(ExitStatus::from_raw(number)),
        _ => Err(io::Error::from_raw_os_error(number)),
    }
}

/// The work of the small process: starts checkers until nobody asks for them any more.
pub fn starter_main(arguments: &[OsString]) -> io::Result<()> {
    let [sandbox, stage, command, ids, gains, stays, sees @ ..] = arguments else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let all = [Sandbox::Room, Sandbox::UserNamespace, Sandbox::ProcessGroup];
    let sandbox = all.into_iter().find(|one| sandbox == word(*one));
    let sandbox = sandbox.ok_or(io::ErrorKind::InvalidInput)?;
    let ids = ids.to_str().and_then(Ids::parse);
    let ids = ids.ok_or(io::ErrorKind::InvalidInput)?;
    let users = || -> io::Result<Users> {
        let namespace = ids.namespace()?;
        Ok(Users {
            ids,
            namespace,
            gain: gains == GAINS,
        })
    };
    let one = One {
        sandbox,
        users: (sandbox == Sandbox::Room).then(users).transpose()?,
        // In a new user namespace nobody is mapped, and both are those of nobody (`overflowuid`).
        user: geteuid().as_raw(),
        group: getegid().as_raw(),
        stage: stage.into(),
        sees: sees.iter().map(PathBuf::from).collect(),
        command: command.clone(),
        stays: stays == STAYS,
    };
    bound()?;
    let link = io::stdin();
    let link = link.as_fd();
    let mut told = [0; 1];
    while retry_on_intr(|| rustix::io::read(link, &mut told))? > 0 {
        // A request to end may come when it has ended already.
        if told == [GO] {
            let answer = answer(one.run());
            retry_on_intr(|| rustix::io::write(link, &answer))?;
        }
    }
    Ok(())
}

/// A checker to start repeatedly.
struct One {
    sandbox: Sandbox,
    /// Of [`Sandbox::Room`].
    users: Option<Users>,
    /// Who runs it, as seen outside.
    user: u32,
    group: u32,
    stage: PathBuf,
    sees: Vec<PathBuf>,
    command: OsString,
    /// Whether it reads from what this process has as standard error, and writes to its standard output.
    stays: bool,
}

impl One {
    /// Runs it until it ends, or the caller ends it. Gives how it ended.
    fn run(&self) -> io::Result<ExitStatus> {
        let (mine, its) = UnixStream::pair()?;
        let mut mine = Some(mine);
        let own = match self.sandbox {
            Sandbox::Room => Own::Room,
            Sandbox::UserNamespace => Own::UserRoom,
            Sandbox::ProcessGroup => Own::Nothing,
        };
        let first = forked(own, || {
            // So that it notices when there is no other one.
            drop(mine.take());
            let answer = answer(self.first(&its));
            u8::from((&its).write_all(&answer).is_err())
        })?;
        drop(its);
        self.let_go()?;
        let told = mine.as_ref().map(until_told).transpose();
        // The others of a group without namespaces; else only the first, which the kernel ends all others with.
        _ = kill_process_group(first, Signal::KILL);
        _ = kill_process(first, Signal::KILL);
        let status = retry_on_intr(|| waitpid(Some(first), WaitOptions::empty()))?;
        if let Some(answer) = told?.flatten() {
            return outcome(answer);
        }
        let status = status.map(|(_, status)| ExitStatus::from_raw(status.as_raw()));
        status.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The work of the first process.
    fn first(&self, other: &UnixStream) -> io::Result<ExitStatus> {
        if self.stays {
            dup2_stdin(rustix::stdio::stderr())?;
        } else {
            dup2_stdin(File::open(NULL)?)?;
        }
        // Without a terminal; and a checker may end its process group.
        setsid()?;
        let output = match self.sandbox {
            Sandbox::Room => enter(&self.stage, &self.sees, self.users.as_ref())?,
            Sandbox::UserNamespace => {
                self.map_user()?;
                enter(&self.stage, &self.sees, None)?
            }
            Sandbox::ProcessGroup => File::options().append(true).open(self.stage.join(SAID))?,
        };
        // A new user takes the signal away (commit_creds, kernel/cred.c).
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The other one may have died before the line above; then no signal would come. The parent's number says
        // nothing in another namespace.
        if is_readable(other, Duration::ZERO)? {
            return Err(Errno::SRCH.into());
        }
        self.shell(output)
    }

    /// Closes the ends of pipes that the checker has now: only so do the other ends show that it closed them.
    fn let_go(&self) -> io::Result<()> {
        if self.stays {
            let null = File::options().write(true).open(NULL)?;
            dup2_stdout(&null)?;
            dup2_stderr(&null)?;
        }
        Ok(())
    }

    /// As `unshare --map-current-user`: the same user and group, and no other (`user_namespaces(7)`).
    fn map_user(&self) -> io::Result<()> {
        let Self { user, group, .. } = self;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
    }

    /// Runs the checker, and whatever it leaves until it ends.
    fn shell(&self, output: File) -> io::Result<ExitStatus> {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(&self.command);
        command.current_dir(self.stage.join(TREE));
        if !self.stays {
            command.stdout(output.try_clone()?);
        }
        command.stderr(output);
        if self.sandbox == Sandbox::ProcessGroup {
            die_with_parent(&mut command);
        }
        let shell = Pid::from_child(&command.spawn()?);
        self.let_go()?;
        loop {
            // In a PID namespace all that lose their parents are its children.
            let ended = retry_on_intr(|| wait(WaitOptions::empty()))?;
            if let Some((pid, status)) = ended
                && pid == shell
            {
                return Ok(ExitStatus::from_raw(status.as_raw()));
            }
        }
    }
}

/// Waits for what the first process says, or for the caller to end it. Nothing where it says nothing.
fn until_told(first: &UnixStream) -> io::Result<Option<[u8; ANSWER_BYTES]>> {
    let link = io::stdin();
    let link = link.as_fd();
    loop {
        let mut polled = [
            PollFd::new(first, PollFlags::IN),
            PollFd::from_borrowed_fd(link, PollFlags::IN),
        ];
        retry_on_intr(|| poll(&mut polled, None))?;
        if !polled[0].revents().is_empty() {
            let mut answer = [0; ANSWER_BYTES];
            let mut first = first;
            return Ok(first.read_exact(&mut answer).ok().map(|()| answer));
        }
        if !polled[1].revents().is_empty() {
            let mut told = [0; 1];
            let count = retry_on_intr(|| rustix::io::read(link, &mut told))?;
            if count == 0 || told == [STOP] {
                return Ok(None);
            }
        }
    }
}
