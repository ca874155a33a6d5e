//! Gaps in words: what is missing, and why.

use iostrata_core::bytes::{exact, grouped};
use iostrata_core::figures::duration;
use iostrata_core::gap::{
    Countable, Difference, Exit, Listed, Missing, NotFollowed, Others, Raised, Reason, TargetPart,
};
use iostrata_core::noun::counted;

use super::{Words, laws};

pub fn missing(what: &Missing) -> Words {
    Words::fixed(match what {
        Missing::Stratum(stratum) => stratum.as_str(),
        Missing::FileSystem { module } => {
            return format!("files and requests of {module}, separately").into();
        }
        Missing::Privileges { path } => return format!("the privileges of {path}").into(),
        Missing::Calls { count, name } => return format!("{count} {name}").into(),
        Missing::Count { count, of } => return items(*count, *of).into(),
        Missing::Listed { of, first, more } => {
            return format!("{}: {}", listed(*of), first_of(first, *more)).into();
        }
        Missing::Saving { rule } => return format!("measured saving of {rule}").into(),
        Missing::ChangedFile { path } => return format!("what changed {path}").into(),
        Missing::Experiment { id: name }
        | Missing::Language { name }
        | Missing::File { path: name } => return name.clone().into(),
        Missing::Latency { percentile } => return format!("latency {percentile}").into(),
        Missing::Loops { targets } => return format!("loops on {}", targets.join(", ")).into(),
        Missing::OnMachine { machine, what } => {
            return format!("{machine}: {}", missing(what)).into();
        }
        Missing::OnTarget { what, target } => {
            return format!("{} on {target}", target_part(what)).into();
        }
        Missing::Projections { target } => return format!("projections of {target}").into(),
        Missing::RowTime { experiment, row } => {
            return format!("{experiment}: time of {row}").into();
        }
        Missing::RequestsFor { filesystem } => {
            return format!("device requests for files on {filesystem}").into();
        }
        Missing::RowsOf { machine } => return format!("rows of {machine}").into(),
        Missing::Targets { names } => return names.join(", ").into(),
        Missing::CacheAndDevice => "events of the page cache and the device",
        Missing::CacheAtEnd => "the contents of the page cache at the end",
        Missing::CacheEvents => "page-cache events",
        Missing::CacheFigures => "pages looked up, missed, prefetched and dirtied",
        Missing::CallSites => "call sites in the program",
        Missing::CallsWithoutIo => "calls that do no I/O",
        Missing::Contradicted(stratum) => {
            return format!("{} that agree with each other", stratum.as_str()).into();
        }
        Missing::EarlierPrivileges => "the privileges of set-user-ID programs",
        Missing::ExactData => "exact counts of written data",
        Missing::ExactRequests => "exact counts of requests without a file",
        Missing::History => "history of some files",
        Missing::InodeReuse => "reuse of inode numbers",
        Missing::JournalFunctions => "journal and log writes by their completion function",
        Missing::KernelEvidence => "kernel evidence",
        Missing::MappedAccess => "reads and stores through mappings",
        Missing::MappedReads => "pages of mapped files that were read",
        Missing::OpenFileSharing => "open files shared between processes",
        Missing::QueueOperations => "operations of io_uring and libaio",
        Missing::ResidentBytes => "resident bytes",
        Missing::Sectors => "sectors",
        Missing::StrataOfTop => "files, requests, syncs and the page cache",
        Missing::TimeInCalls => "time blocked in calls",
        Missing::TimesAndEvidence => "times and kernel evidence",
        Missing::UndisturbedTimes => "times without the observer's overhead",
        Missing::AfterFailure => "the program after its failure",
        Missing::ColdCache => "a cold page cache for all files",
        Missing::Findings => "findings",
        Missing::LaterProcesses => "processes that match later",
        Missing::Memory => "most memory of the timed runs",
        Missing::StandardInput => "standard input",
        Missing::DeviceLog => "requests of the device",
        Missing::LogCheck => "the check of the log against the files",
        Missing::LogComparison => "a comparison of the log with the files",
        Missing::LogEnd => "the end of the log",
        Missing::Operation => "an operation",
        Missing::OperationLog => "a complete operation log",
        Missing::RecordingEnd => "the end of a recording",
        Missing::RestOfLog => "the rest of the operation log",
        Missing::States => "states",
        Missing::AllBytes => "bytes of all files",
        Missing::ChangedFindings => "findings that went or came",
        Missing::Counts => "counts",
        Missing::DayRule => "relatime's rule of a day",
        Missing::OwnCost => "own cost",
        Missing::RuntimeBuffers => "buffers of language runtimes",
        Missing::Settings => "settings",
        Missing::Steadiness => "steadiness of the rate",
        Missing::StorageSettings => "settings of the storage",
        Missing::Times => "times",
        Missing::MappingProcesses => "processes that map files",
        Missing::AfterObserver => "everything after the observation failed",
        Missing::AfterReader => "kernel events after the reader failed",
        Missing::AfterRecorder => "everything traced after the recording failed",
        Missing::Everything => "everything the program did",
        Missing::EverythingObserved => "everything observed",
        Missing::EndPosition => "the position of the program's end among the requests",
        Missing::HistoryItself => "the history",
        Missing::Joined => "who joined",
        Missing::ProgramEnd => "the program's end",
        Missing::Recording => "the whole recording",
        Missing::Signal => "a signal",
        Missing::SyncAfterChange => "a sync of another file after a change",
    })
}

fn items(count: u64, of: Countable) -> String {
    let number = if is_grouped(of) {
        grouped(count)
    } else {
        count.to_string()
    };
    let parts = noun(of)
        .split(['[', ']'])
        .map(|part| match part.split_once('|') {
            Some((one, _)) if count == 1 => one,
            Some((_, several)) => several,
            None => part,
        });
    parts.collect::<String>().replace('#', &number)
}

fn is_grouped(of: Countable) -> bool {
    matches!(
        of,
        Countable::AioReads
            | Countable::FilePaths
            | Countable::FilesWithoutRow
            | Countable::MisfitOperations
            | Countable::MoreChangedFiles
            | Countable::Operations
            | Countable::ThreadCalls
            | Countable::ThreadDetails
            | Countable::ThreadEnds
            | Countable::ThreadRows
            | Countable::Transfers
    )
}

/// A noun in text: `#` stands for the count, and `[one|several]` for the form that it asks for.
fn noun(of: Countable) -> &'static str {
    match of {
        Countable::AioOperations => "# libaio operation[|s] without result[|s] and time[|s]",
        Countable::AioReads => "# read[|s] by libaio",
        Countable::AttributeChanges => "# change[|s] of attributes",
        Countable::BlockRequests => "# block request[|s]",
        Countable::Buffers => "# buffer[|s]",
        Countable::CacheEvents => "# page-cache event[|s]",
        Countable::CacheEventsWithoutFile => "# page-cache event[|s] without [its|their] file",
        Countable::Calls => "# call[|s]",
        Countable::CallsOrCacheEvents => "# call[|s] or page-cache event[|s]",
        Countable::CallsWithoutArguments => "# call[|s] whose arguments could not be read",
        Countable::CallsWithoutFile => "# call[|s] without [its|their] file",
        Countable::DirectoriesOfNames => "[directory|directories] of # name[|s]",
        Countable::EarlyProcesses => "# process[|es] that ended as the observation began",
        Countable::Events => "# event[|s]",
        Countable::FileNames => "# name[|s] of [a file|files]",
        Countable::FilePaths => "paths of # file[|s]",
        Countable::FilesWithoutRow => "# file[|s] listed separately",
        Countable::ForbiddenProcesses => {
            "# process[|es] that ran before, with other privileges than this user"
        }
        Countable::ForeignCalls => "# system call[|s] of [a 32-bit program|32-bit programs]",
        Countable::HiddenCalls => "# call[|s] on [a file|files]",
        Countable::HistorySteps => "# step[|s] of the history",
        Countable::JournalParticipants => {
            "# participant[|s] of [a journal transaction|journal transactions]"
        }
        Countable::MatchingProcesses => "# process[|es] that [matches|match]",
        Countable::MisfitOperations => "# operation[|s] that did not fit the previous ones",
        Countable::MoreChangedFiles => "what changed # more file[|s]",
        Countable::MovedThreads => {
            "# [thread's|threads'] calls right after [its|their] process was moved into the cgroup"
        }
        Countable::NamesWithoutDirectory => "# name[|s]",
        Countable::Operations => "# operation[|s]",
        Countable::OthersProcesses => "# process[|es] of [another user|other users]",
        Countable::PayloadBytes => "# byte[|s] of payload",
        Countable::PayloadEvents => "# event[|s] with payload",
        Countable::PlacesInOrder => "# place[|s] in the order",
        Countable::ReadOffsets => "# offset[|s] of [a read|reads]",
        Countable::RaisedProcesses => "the rest of # process[|es]",
        Countable::RefusedThreads => "# thread[|s] of the process's descendants",
        Countable::RequestEnds => "# end[|s] of [a request|requests]",
        Countable::RingNameOperations => "# io_uring operation[|s] on names",
        Countable::RingOperations => "# io_uring operation[|s]",
        Countable::SharedMappings => "# writable shared mapping[|s]",
        Countable::StepsOrNames => "# step[|s] or name[|s]",
        Countable::Stops => "# stop[|s]",
        Countable::StreamedEvents => "# streamed event[|s]",
        Countable::SystemCallsWithoutFile => "# system call[|s] without [its|their] file",
        Countable::Tasks => "# task[|s]",
        Countable::ThreadCalls => "calls of # thread[|s]",
        Countable::ThreadDetails => "ends, names, CPU time and page faults of # thread[|s]",
        Countable::ThreadEnds => "ends of # thread[|s]",
        Countable::ThreadFigures => "CPU time and faults of # thread[|s]",
        Countable::ThreadRows => "rows of # thread[|s]",
        Countable::Threads => "# thread[|s]",
        Countable::TimelineRequests => "# request[|s] in the timeline",
        Countable::Transfers => "the order of # transfer[|s]",
        Countable::Truncates => "# truncate[|s]",
        Countable::UnmatchedOperations => "operations that match the earlier state: # do not",
        Countable::Watchdogs => "# watchdog[|s] for stopped processes",
        Countable::Whiteouts => "# whiteout[|s]",
        Countable::WriteOffsets => "# offset[|s] of [a write|writes]",
    }
}

fn listed(of: Listed) -> &'static str {
    match of {
        Listed::Devices => "devices",
        Listed::EarlierContents => "earlier contents of files",
        Listed::EarlierContentsChanged => "earlier contents of files that were changed",
        Listed::EarlierFiles => "what was before",
        Listed::EarlierTargets => "earlier files at the targets of renames",
        Listed::ExtendedAttributes => "extended attributes",
        Listed::FileBytes => "bytes of files",
        Listed::MappedStores => "stores through shared mappings of files",
        Listed::Owners => "owners",
        Listed::SpecialBits => "set-user-ID and set-group-ID bits",
        Listed::SymbolicLinks => "symbolic links",
    }
}

/// `/a, /b and 2 more`
fn first_of(first: &[String], more: u64) -> String {
    let first = first.join(", ");
    match more {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn target_part(part: &TargetPart) -> String {
    match part {
        TargetPart::Case(name) => name.clone(),
        TargetPart::ColdSource => "cold source".to_owned(),
        TargetPart::DeviceLimit => "device limit".to_owned(),
        TargetPart::DirectLatency => "latency of direct writes".to_owned(),
        TargetPart::DurableBytes => "durable bytes of the timelines".to_owned(),
        TargetPart::Mounts(options) => options.join(", "),
    }
}

pub fn reason(why: &Reason) -> Words {
    Words::fixed(match why {
        Reason::Error(said) | Reason::Misfit(said) => return said.clone().into(),
        Reason::Defect(said) => return format!("a defect of iostrata: {said}").into(),
        Reason::NotInstalled(name) => return format!("not installed: no {name} in PATH").into(),
        Reason::HistoryFull {
            files,
            names,
            name_changes,
        } => {
            return format!(
                "more files than are followed one by one: there was no room for a file {} times, \
             for a name {} times and for a change of names {} times",
                grouped(*files),
                grouped(*names),
                grouped(*name_changes)
            )
            .into();
        }
        Reason::NoRoomInTables { calls } => {
            return format!("{calls} calls were on files that found no room in the tables").into();
        }
        Reason::AddressesUnread { defect } => {
            return format!("a defect of iostrata: {defect}; request flags are used instead")
                .into();
        }
        Reason::ExitUnreported(exit) => {
            return format!(
                "the kernel did not report their exit; {}",
                exit_words(*exit)
            )
            .into();
        }
        Reason::CallsSummed { calls } => {
            return format!(
                "their {} are summed: of so many files, iostrata keeps those that were changed and \
             those that took most time",
                counted(*calls, "call")
            )
            .into();
        }
        Reason::Disturbed { requests, syncs } => {
            return format!(
                "other programs made {} requests on the same disk during {} syncs, and metadata, \
             journal and flush requests cannot be told apart from theirs",
                grouped(*requests),
                grouped(*syncs)
            )
            .into();
        }
        Reason::CountsTooLow { events } => {
            return format!("{events} events were lost: counts may be too low by as many").into();
        }
        Reason::EventsLost { events } => {
            return format!("{} lost", counted(*events, "event")).into();
        }
        Reason::ThreadsSummed(others) => return threads_summed(others).into(),
        Reason::Differs(difference) => return difference_words(difference).into(),
        Reason::NotFollowed(call) => not_followed(*call),
        Reason::OverLimit { limit_bytes, bytes } => return format!(
            "the total limit of {limit_bytes} bytes was reached, and these have {bytes}; give a \
             larger --record-before-limit"
        )
        .into(),
        Reason::ReadBack(error) => return format!("the log cannot be read back: {error}").into(),
        Reason::EndedWith { exit_code } => return format!(
            "it ended with exit code {exit_code}, so what it would have done otherwise is in no \
             state"
        )
        .into(),
        Reason::IncompleteSide { side, why } => {
            return format!("those of {side} are incomplete: {}", reason(why)).into();
        }
        Reason::NotInFile { file, experiment } => {
            return format!("{file} has no {experiment}").into();
        }
        Reason::OneRunEach { remedy: false } => "the noise is unknown with one run each",
        Reason::OneRunEach { remedy: true } => {
            "the noise is unknown with one run each; measure with --runs"
        }
        Reason::CachedNoDevice { target, filesystem } => return format!(
            "{target} is {filesystem}: its files exist only in the page cache, so they cannot be \
             evicted, and no device is read"
        )
        .into(),
        Reason::NotVerified(why) => {
            return format!("residency cannot be verified: {}", reason(why)).into();
        }
        Reason::CachestatFailed(error) => {
            return format!("cachestat(2), which needs Linux 6.5, failed: {error}").into();
        }
        Reason::DirectRefused(error) => {
            return format!("the file system refuses O_DIRECT: {error}").into();
        }
        Reason::DontcacheRefused {
            error,
            needs_kernel,
        } => {
            let since = if *needs_kernel {
                "; it needs Linux 6.14 and a file system that supports it"
            } else {
                ""
            };
            return format!("RWF_DONTCACHE is not supported: {error}{since}").into();
        }
        Reason::FallocateFailed(error) => return format!("fallocate failed: {error}").into(),
        Reason::FewSeconds { fewest } => {
            return format!("observed for fewer than {fewest} seconds").into();
        }
        Reason::FewSyncs { needed } => {
            return format!("fewer than {} syncs were timed", grouped(*needed)).into();
        }
        Reason::KeptInMemory { filesystem } => {
            return format!("{filesystem} keeps its files only in memory").into();
        }
        Reason::NoDevice { filesystem } => return format!("{filesystem} has no device").into(),
        Reason::QuickOnly { target } => {
            return format!("--quick times them on {target} only").into();
        }
        Reason::StayedResident {
            resident_pages,
            pages,
        } => {
            return format!(
                "asked to evict a file, but {resident_pages} of {pages} pages stayed resident"
            )
            .into();
        }
        Reason::Unsupported { error } => {
            return format!("the kernel or the file system does not support it: {error}").into();
        }
        Reason::NotSaved {
            why,
            thorough_s: None,
        } => return why.clone().into(),
        Reason::NotSaved {
            why,
            thorough_s: Some(seconds),
        } => return format!("{why}; trace --measure gives them {seconds} s").into(),
        Reason::NotUsedBefore { first, more } => {
            return format!(
                "the run that told which files to evict had not used {}",
                first_of(first, *more)
            )
            .into();
        }
        Reason::ObservingFailed(error) => {
            return format!("observing it, or a row before it, failed: {error}").into();
        }
        Reason::NotListed(error) => return format!("it cannot be listed: {error}").into(),
        Reason::NotOpened(error) => return format!("it cannot be opened: {error}").into(),
        Reason::ProcNotListed(error) => return format!("/proc cannot be listed: {error}").into(),
        Reason::ActiveTableFull => "more processes and files were active than there is room for",
        Reason::CommitTableFull => {
            "the table of those who wait for commits and take part in them was full"
        }
        Reason::FileTableFull => "the table of files was full",
        Reason::FileTableFullByName => "the table of files was full; they are counted by name only",
        Reason::FileTableFullByProcess => {
            "more files were used than there is room for; they are counted by process only"
        }
        Reason::MemoryFull => "out of memory for their state; their calls are not counted",
        Reason::MomentsFull => "the table of moments was full",
        Reason::NoNameKept => {
            "the kernel had no name for them when they were used, or no room to hand it over"
        }
        Reason::ReaderRingFull => "the ring between kernel and reader was full",
        Reason::RecorderRingFull => "the ring between kernel and recorder was full",
        Reason::RequestTableFull => "the table of requests was full",
        Reason::RingFull => "the ring buffer was full",
        Reason::ThreadMemoryFull => "the kernel ran out of memory for following them",
        Reason::AddressesHidden => {
            "kernel addresses are hidden (kptr_restrict, CAP_SYSLOG); request flags are used \
             instead"
        }
        Reason::AioResults => {
            "the program fetched the results from memory shared with the kernel, or not at all: \
             the operations count with the bytes requested, and as complete when submitted"
        }
        Reason::AioResultsUnread => {
            "the program fetched their results from memory shared with the kernel, or not at all"
        }
        Reason::AioUnseen => "the log has them only with eBPF, not with ptrace",
        Reason::ArgumentsPaged => {
            "they were in program memory, or in its own tables, that could not be read at that \
             time: their files and offsets are unknown"
        }
        Reason::ArgumentsUnread => {
            "they were in program memory that could not be read at that time"
        }
        Reason::ChildrenAdopted => {
            "their children have a new parent, and are not known to belong to the tree"
        }
        Reason::DescriptorsUnresolved => {
            "the kernel did not resolve their descriptors (pidfd_getfd, /proc/PID/fd)"
        }
        Reason::EndedBeforeRead => "they ended before their figures could be read",
        Reason::EndsUnreported => {
            "the kernel did not report them; a request that was given back by the driver and then \
             joined with another is counted as two"
        }
        Reason::FaultsUnseen => "ptrace sees mappings but not the page faults in them; eBPF does",
        Reason::FirstMoveOnly => {
            "the kernel reports the move of the first thread only; a scan finds the others within \
             some milliseconds"
        }
        Reason::ForeignNumbers => "their numbers mean other calls; they are not decoded",
        Reason::MappingsMakeNoCalls => "they make no system calls",
        Reason::ModuleLoadedLate => {
            "its module was loaded while the program ran: mount it beforehand"
        }
        Reason::NoCompletion => {
            "no completion was seen: in flight at the end, or not requested \
             (IOSQE_CQE_SKIP_SUCCESS)"
        }
        Reason::NoGenerations => {
            "some file systems do not report the generation of a file (FS_IOC_GETVERSION); two \
             successive files with the same inode number are treated as one"
        }
        Reason::NoStacks => "this back end records no stacks; eBPF does",
        Reason::NotStopped => "the observer does not stop at them and does not count them",
        Reason::OffCpuUnseen => "ptrace does not see when a thread leaves the CPU",
        Reason::OrderForgotten => {
            "the one before, by the same thread with the same call on the same file, is not \
             known: a thread's last 8 pairs of call and file are remembered; findings about small \
             or scattered transfers may be missing"
        }
        Reason::PathsAsGiven => {
            "the file system does not show which one a call changed; paths are as given by the \
             program, with unresolved links"
        }
        Reason::PathsUnseen => "this kernel does not expose their paths at submission",
        Reason::RingUnseen => {
            "the program submits them through shared memory, where ptrace cannot see them; eBPF \
             can"
        }
        Reason::StopsCost => {
            "each observed call stops twice, some 10 µs in total, which its time includes; if \
             many threads make calls at once, their times also include waiting for the observer"
        }
        Reason::TopCountsCalls => {
            "top counts system calls; the pages and requests of these operations are counted"
        }
        Reason::TruncatedUnknown => "the file system does not show which files they were",
        Reason::UnseenCache => {
            "ptrace sees system calls only; the residency of files before and after comes from \
             cachestat"
        }
        Reason::UnseenDevice => {
            "ptrace sees system calls only; /proc/PID/io has the bytes of each process"
        }
        Reason::CompareDenied => {
            "a seccomp filter denies kcmp(2), which shows whether two descriptors share an open \
             file; give the container CAP_SYS_PTRACE"
        }
        Reason::FileCapabilities => {
            "iostrata has file capabilities (setcap), and this user may only observe its own \
             programs: programs it starts gain no privileges through set-user-ID or file \
             capabilities, and may behave differently than without iostrata"
        }
        Reason::FollowingNeedsEbpf => {
            "only those that matched at the start, and what they start, are observed: following \
             others needs eBPF and a user who may trace all processes (root, CAP_SYS_PTRACE)"
        }
        Reason::MayNotTrace => "this user may not trace them",
        Reason::OtherPrivileges(raised) => {
            const FIRST: usize = 8;
            let mut programs: Vec<String> = Vec::new();
            for Raised { program, .. } in raised {
                if !programs.contains(program) {
                    programs.push(program.clone());
                }
            }
            let (first, more) = programs.split_at(programs.len().min(FIRST));
            return format!(
                "not permitted: this user may not trace {} (set-user-ID, set-group-ID, capabilities, or an unreadable \
                 file); run iostrata as root to see all",
                first_of(first, more.len() as u64)
            )
            .into();
        }
        Reason::ProcessIoDenied => "the kernel does not show their /proc/PID/io to this user",
        Reason::TracedWithoutPrivileges => {
            "a program traced without privileges gains none through set-user-ID or file \
             capabilities; it may behave differently than without iostrata"
        }
        Reason::TracingDenied => {
            "the kernel does not permit tracing them: they belong to another user, or have a \
             tracer"
        }
        Reason::Overtaken => "one arrived while another of the same kind was being counted",
        Reason::ProgramNotRun => "the kernel did not run the eBPF program that counts them",
        Reason::NotFullyObserved => "the run was not fully observed",
        Reason::BrokenLaw(law) => laws::reason(*law),
        Reason::OthersUseDisk => {
            "other programs used the same disk; `shared` has the least and the most that is the \
             run's"
        }
        Reason::OthersDirtyFiles => {
            "other programs wrote to the same files, or had written to them before; `shared` has the least and the most \
             that is the run's"
        }
        Reason::ServedUnseen => {
            "what serves them is not observed: a process, a server, a disk without requests, or a loop device that was \
             detached"
        }
        Reason::ReaderFailed => "their reader had failed",
        Reason::UsersUnknown => {
            "nothing tells who else used the disk; `shared` has the least and the most that is \
             the run's"
        }
        Reason::BeforeNotKnown => {
            "before: not stored, and it is unknown whether a file existed; also name the \
             directory with --record-before"
        }
        Reason::BeforeNotStored => {
            "before: not stored, as they are in none of the requested directories; also name \
             their directory with --record-before"
        }
        Reason::ChangedMeanwhile => {
            "it was changed by another process while it was read; record while no other process \
             changes it"
        }
        Reason::ChangedWhileWritten => {
            "they changed while they were being written, and the file does not show what was \
             written"
        }
        Reason::ConcurrentReads => {
            "other threads moved the position of the open file at the same time, so the start of \
             each read is unknown"
        }
        Reason::ConcurrentStores => {
            "several threads of a process wrote at the same time, or wrote more through io_uring \
             than can be captured at once, and the process may have changed the data before it \
             was read"
        }
        Reason::ConcurrentWrites => {
            "several writes went to one file at the same time, and neither their order nor the \
             contents of the file show which is where"
        }
        Reason::DeviceLogFull => "the log of the device had no room for more",
        Reason::DeviceServerEnded => "the process that served the device ended before the program",
        Reason::KilledInCall => {
            "their threads were killed during the call, and the kernel did not report the result"
        }
        Reason::Late => "they came more than 100 ms late",
        Reason::LongCall => {
            "a call took long, and others that change the same file or names were not delayed"
        }
        Reason::MoreDiffer => "they also differ from the log",
        Reason::NoEndMark => "it has no end mark: the recorder was killed, or the disk was full",
        Reason::NodeUnknown => "the node was unknown, or the value was too long",
        Reason::NotInLog => "the log does not have them, so no state shows them",
        Reason::NotInMemory => {
            "they were not in memory, and the process ended or refused access before they could \
             be read"
        }
        Reason::NotInOrder => {
            "stores are seen only in their state at msync and at the end, not in order"
        }
        Reason::NotUnderstood => {
            "all operations together do not make the files at the end, so some are not understood"
        }
        Reason::RecordingEnded => "the recording ended before their payload was read",
        Reason::StillRunning => "the program is still running",
        Reason::Unreadable => "it cannot be read; record as a user who may read it",
        Reason::Unstoppable => {
            "the process could not be stopped, and may have changed its buffers before they were \
             read"
        }
        Reason::WatchdogKilled => {
            "it was killed and could not be restarted, so no process was stopped any more"
        }
        Reason::WhiteoutsUnseen => "the node left behind by a rename is not seen",
        Reason::BeforeAsZeros => {
            "the log lacks their earlier contents; ranges that the program did not write read as \
             zeros"
        }
        Reason::DirectoryUnknown => "the log does not record the location of their directory",
        Reason::ForeignDevices => "a log of unknown origin could create any device",
        Reason::ForeignPrivileges => "a log of unknown origin could grant privileges through them",
        Reason::OwnersAreCallers => "rebuilt files belong to the user who runs rebuild",
        Reason::TargetsUnknown => "they existed before, and the log lacks their targets",
        Reason::UnknownAsZeros => "they could not be captured and read as zeros",
        Reason::UserAttributesOnly => {
            "only user.* attributes are set, if the file system supports them"
        }
        Reason::ExplorationEnded => "the exploration was ended",
        Reason::MachinesDiffer => "the machines differ; the result of each has its own",
        Reason::NoTime => "a run took no time",
        Reason::NotInEveryPair => "it is not in every pair of runs",
        Reason::NotPairedOrNoTime => "it is not in every pair, or a run took no time",
        Reason::OneTimed => "only one of the two has timed runs (trace --runs)",
        Reason::TwoRunsEach => {
            "two runs of each are the least to judge by; trace --runs 10 times more"
        }
        Reason::DataJournaled => {
            "with data=journal the contents go to the journal, not to their final place"
        }
        Reason::DisksUnknown => "the disks under this directory are unknown",
        Reason::InodeWritesUnnamed => {
            "inode writes do not name their file, and other programs write to the same disk"
        }
        Reason::ManySmallFiles => {
            "the files are many and small; since none was read from the device, they were resident"
        }
        Reason::NoCachestat => "this kernel does not report residency (cachestat, Linux 6.5)",
        Reason::NoVolatileCache => "the devices have no volatile cache and receive no flushes",
        Reason::OverlayPasses => "overlayfs passes the data to files on another file system",
        Reason::QuickSkips => "takes seconds to build and start; skipped in a quick run",
        Reason::RemountsOwnOnly => {
            "iostrata remounts only file systems that it creates (as root); this one keeps its \
             options"
        }
        Reason::RequestsUnseen => "block requests could not be observed",
        Reason::RingWorkers => {
            "reads that wait are passed to io_uring's kernel workers, which are not observed"
        }
        Reason::RunInterrupted => "the run was interrupted before this row was observed",
        Reason::SingleOperations => {
            "single operations are neither timed nor observed: stat(2) shows whether they update \
             the access time"
        }
        Reason::SyscallsUnseen => "system calls could not be observed",
        Reason::LessThanIostrata => {
            "the program needs less than iostrata's process had before it executed the program, \
             which the kernel counts too"
        }
        Reason::PipeEmptied => {
            "it is a pipe, which one run would empty: every run read nothing; give a file with < \
             FILE"
        }
        Reason::NotFileOrDirectory => {
            "it is neither a regular file nor a directory; FIFOs, sockets and devices are not \
             opened"
        }
    })
}

fn exit_words(exit: Exit) -> &'static str {
    match exit {
        Exit::Scanned => "they were found only by a scan of all threads",
        Exit::Gone => "they had ended before they were looked up",
        Exit::Uncounted => "their counts were lost with the threads",
    }
}

fn threads_summed(others: &Others) -> String {
    let time = |ns: u64| duration(ns as f64 / 1e9);
    format!(
        "the {} that spent the most time in calls on files have one; the others made {}, were {} \
         on the CPU and {} in calls on files, read {} and wrote {}",
        grouped(others.rows),
        counted(others.calls, "call"),
        time(others.on_cpu_ns),
        time(others.time_ns),
        exact(others.read_bytes),
        exact(others.written_bytes),
    )
}

fn difference_words(difference: &Difference) -> String {
    match difference {
        Difference::Absent => "the log has it, and it does not exist".to_owned(),
        Difference::Bytes { from, to } => format!("bytes {from} to {to} differ from the log"),
        Difference::Kind { file, log } => format!("it is a {file}, but the log has a {log}"),
        Difference::Length { file, log } => {
            format!("it has {}, but {log} in the log", counted(*file, "byte"))
        }
        Difference::Mode { file, log } => {
            format!("its mode is {file:o}, but {log:o} in the log")
        }
        Difference::NotInLog => "it exists, but is not in the log".to_owned(),
        Difference::NotZeroAfter { byte } => format!("it is not zero after byte {byte}"),
        Difference::NotZeroAt { byte } => format!("it is not zero at byte {byte}"),
        Difference::Target => "its target differs from the log".to_owned(),
    }
}

fn not_followed(call: NotFollowed) -> &'static str {
    match call {
        NotFollowed::AioPayload => "what operations of libaio write is not recorded",
        NotFollowed::ByHandle => "the path that was opened is not recorded",
        NotFollowed::ExchangedBytes => {
            "which bytes of the file it exchanges, takes away or gives is not followed"
        }
        NotFollowed::KernelWrites => "the kernel itself writes to a file since then",
        NotFollowed::MappedLater => "what is stored through the mapping since then is not recorded",
        NotFollowed::PunchedMapping => "it cuts a hole into the file that is mapped there",
        NotFollowed::RemappedPages => {
            "which pages of the file the memory stands for since then is not recorded"
        }
        NotFollowed::RemountedNames => "names below it stand for other files since then",
        NotFollowed::RingBuffers => {
            "what io_uring operations write from several buffers is not recorded"
        }
        NotFollowed::RingSplice => {
            "what an io_uring operation moves without a buffer is not recorded"
        }
        NotFollowed::Subvolume => "what a subvolume or snapshot contains is not followed",
        NotFollowed::UnknownCall => "this iostrata does not know the call",
    }
}
