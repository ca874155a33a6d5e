//! What a result lacks, and why: values that code matches on. They have no words here; those are
//! in `iostrata_report::words`, which installs them by [`write_with`].

use std::sync::OnceLock;

use crate::law::Law;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

/// A part that was not observed completely, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    pub what: Missing,
    pub why: Reason,
}

impl Gap {
    /// How many of these things are missing, where the gap counts them.
    pub fn count_of(&self, things: Countable) -> Option<u64> {
        match self.what {
            Missing::Count { count, of } if of == things => Some(count),
            _ => None,
        }
    }
}

/// A subject of observation. It is seen whole or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stratum {
    /// The process tree itself; without it nothing can be attributed.
    Tasks,
    Joins,
    Syscalls,
    /// Blocked time inside calls.
    Blocked,
    /// Page-cache lookups, misses, fills, dirtying.
    PageCache,
    Device,
    Ring,
    /// Directories whose names change.
    Names,
}

impl Stratum {
    pub const ALL: [Self; 8] = [
        Self::Tasks,
        Self::Joins,
        Self::Syscalls,
        Self::Blocked,
        Self::PageCache,
        Self::Device,
        Self::Ring,
        Self::Names,
    ];

    /// Its name, also that of an ability.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tasks => "process tree",
            Self::Joins => "processes that join later",
            Self::Syscalls => "system calls",
            Self::Blocked => "blocked time",
            Self::PageCache => "page cache",
            Self::Device => "device requests",
            Self::Ring => "io_uring operations",
            Self::Names => "directories of changed names",
        }
    }
}

/// Things of which some are missing, with their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Countable {
    AioOperations,
    AioReads,
    BlockRequests,
    Buffers,
    CacheEvents,
    CacheEventsWithoutFile,
    Calls,
    CallsOrCacheEvents,
    CallsWithoutArguments,
    CallsWithoutFile,
    DirectoriesOfNames,
    DirtyFiles,
    EarlyProcesses,
    Events,
    FileNames,
    FilePaths,
    FilesWithoutRow,
    ForbiddenProcesses,
    ForeignCalls,
    HiddenCalls,
    HistorySteps,
    JournalParticipants,
    MatchingProcesses,
    MisfitOperations,
    MoreChangedFiles,
    MovedThreads,
    NamesWithoutDirectory,
    Operations,
    OthersProcesses,
    PayloadBytes,
    PayloadEvents,
    PlacesInOrder,
    ReadOffsets,
    RaisedProcesses,
    RefusedThreads,
    RequestEnds,
    RingNameOperations,
    RingOperations,
    SharedMappings,
    StepsOrNames,
    Stops,
    StreamedEvents,
    SystemCallsWithoutFile,
    Tasks,
    ThreadCalls,
    ThreadDetails,
    ThreadEnds,
    ThreadFigures,
    ThreadRows,
    Threads,
    TimelineRequests,
    Transfers,
    Truncates,
    UnmatchedOperations,
    Watchdogs,
    Whiteouts,
    WriteOffsets,
}

/// Things of which the first few are listed by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Listed {
    /// Each with its path or descriptor, and its call.
    AttributeChanges,
    Devices,
    EarlierContents,
    EarlierContentsChanged,
    EarlierFiles,
    EarlierTargets,
    ExtendedAttributes,
    FileBytes,
    MappedStores,
    MovedOut,
    Owners,
    /// Files of the directory that the one under test is a copy of.
    PastTheCopy,
    SpecialBits,
    SymbolicLinks,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedNames {
    pub of: Listed,
    pub first: Vec<String>,
    pub more: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    // A subject of observation, or a figure of it.
    Stratum(Stratum),
    CacheAndDevice,
    CacheAtEnd,
    CacheEvents,
    CacheFigures,
    CallSites,
    CallsWithoutIo,
    // Figures that contradict each other.
    Contradicted(Stratum),
    EarlierPrivileges,
    ExactData,
    ExactDirty,
    ExactRequests,
    FileSystem { module: String },
    History,
    // Requests to a device for files on this type of file system.
    RequestsFor { filesystem: String },
    InodeReuse,
    JournalFunctions,
    KernelEvidence,
    MappedAccess,
    MappedReads,
    OpenFileSharing,
    Privileges { path: String },
    QueueOperations,
    ResidentBytes,
    Sectors,
    StrataOfTop,
    TimeInCalls,
    TimesAndEvidence,
    UndisturbedTimes,
    // Some of many things.
    Calls { count: u64, name: String },
    Count { count: u64, of: Countable },
    Listed(ListedNames),
    // What follows from a run.
    AfterFailure,
    ColdCache,
    Findings,
    LaterProcesses,
    Memory,
    Saving { rule: String },
    StandardInput,
    // An operation log, and states made from it.
    ChangedFile { path: String },
    DeviceLog,
    LogCheck,
    LogComparison,
    LogEnd,
    Operation,
    OperationLog,
    RecordingEnd,
    RestOfLog,
    States,
    // Of experiments and their comparison.
    AllBytes,
    ChangedFindings,
    Counts,
    DayRule,
    Experiment { id: String },
    Language { name: String },
    Latency { percentile: String },
    Loops { targets: Vec<String> },
    OnMachine { machine: String, what: Box<Self> },
    OnTarget { what: TargetPart, target: String },
    OwnCost,
    Projections { target: String },
    RowTime { experiment: String, row: String },
    RowsOf { machine: String },
    RuntimeBuffers,
    Settings,
    Steadiness,
    StorageSettings,
    Targets { names: Vec<String> },
    Times,
    // A file that was named.
    File { path: String },
    MappingProcesses,
    // What a defect took away.
    AfterObserver,
    AfterReader,
    AfterRecorder,
    Everything,
    EverythingObserved,
    EndPosition,
    HistoryItself,
    Joined,
    ProgramEnd,
    Recording,
    Signal,
    SyncAfterChange,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetPart {
    /// The cases with this value of a factor, by its name.
    Case(String),
    /// Cases whose source is not cached.
    ColdSource,
    /// How fast the device could be.
    DeviceLimit,
    /// The latency of writes that bypass the page cache.
    DirectLatency,
    /// Bytes of the timelines that a crash would leave.
    DurableBytes,
    /// These mount options.
    Mounts(Vec<String>),
}

/// Why calls are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotFollowed {
    AioPayload,
    ByHandle,
    ExchangedBytes,
    KernelWrites,
    PunchedMapping,
    RemappedPages,
    RemountedNames,
    RingBuffers,
    RingSplice,
    Subvolume,
    UnknownCall,
}

/// How a file differs from the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    Absent,
    Bytes { from: u64, to: u64 },
    Kind { file: String, log: String },
    Length { file: u64, log: u64 },
    Mode { file: u32, log: u32 },
    NotInLog,
    NotZeroAfter { byte: u64 },
    NotZeroAt { byte: u64 },
    Target,
}

/// Why it is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    // What another said: the kernel, a tool, or an error on the way.
    Error(String),
    // A defect of iostrata, with the message of the panic.
    Defect(String),
    // Not installed: no such program in `PATH`.
    NotInstalled(String),
    // Figures that were counted in two ways differ.
    BrokenLaw(Law),
    // Tables and rings that were full.
    ActiveTableFull,
    CommitTableFull,
    FileTableFull,
    FileTableFullByName,
    FileTableFullByProcess,
    HistoryFull(HistoryLosses),
    MemoryFull,
    MomentsFull,
    NoNameKept,
    NoRoomInTables { calls: u64 },
    ReaderRingFull,
    RecorderRingFull,
    RequestTableFull,
    RingFull,
    ThreadMemoryFull,
    // What the kernel, or a back end, does not show.
    AddressesHidden,
    AddressesUnread { defect: String },
    AioResults,
    AioResultsUnread,
    AioUnseen,
    ArgumentsPaged,
    ArgumentsUnread,
    ChildrenAdopted,
    DescriptorsUnresolved,
    EndedBeforeRead,
    EndsUnreported,
    ExitUnreported(Exit),
    FaultsUnseen,
    FoliosUnseen,
    FirstMoveOnly,
    ForeignNumbers,
    MappingsMakeNoCalls,
    ModuleLoadedLate,
    NoCompletion,
    NoGenerations,
    NoStacks,
    NotStopped,
    OffCpuUnseen,
    OrderForgotten,
    PathsAsGiven,
    PathsUnseen,
    RingUnseen,
    StopsCost,
    TopCountsCalls,
    TruncatedUnknown,
    UnseenCache,
    UnseenDevice,
    // What a user may not.
    CompareDenied,
    FileCapabilities,
    FollowingNeedsEbpf,
    MayNotTrace,
    OtherPrivileges(Vec<Raised>),
    ProcessIoDenied,
    TracedWithoutPrivileges,
    TracingDenied,
    // Figures that are sums, or shared.
    CallsSummed { calls: u64 },
    Disturbed { requests: u64, syncs: u64 },
    CountsTooLow { events: u64 },
    EventsLost { events: u64 },
    Overtaken,
    ProgramNotRun,
    NotFullyObserved,
    OthersUseDisk,
    // Other programs dirtied pages of the same files.
    OthersDirtyFiles,
    PagesNotAsked,
    // Its processes were observed for a while only.
    RunsOn,
    ReaderFailed,
    ServedUnseen,
    ThreadsSummed(Box<Others>),
    UsersUnknown,
    // An operation log.
    BeforeNotKnown,
    BeforeNotStored,
    BetweenCalls,
    ChangedMeanwhile,
    ChangedWhileWritten,
    ConcurrentReads,
    ConcurrentStores,
    ConcurrentWrites,
    Differs(Difference),
    DeviceLogFull,
    DeviceServerEnded,
    KilledInCall,
    Late,
    LongCall,
    Misfit(String),
    MoreDiffer,
    NoEndMark,
    NodeUnknown,
    NotFollowed(NotFollowed),
    NotInLog,
    NotInMemory,
    NotInOrder,
    NotUnderstood,
    OverLimit { limit_bytes: u64, bytes: u64 },
    ReadBack(String),
    RecordingEnded,
    StillRunning,
    Unreadable,
    Unstoppable,
    WatchdogKilled,
    WhiteoutsUnseen,
    // Rebuilding.
    BeforeAsZeros,
    DirectoryUnknown,
    ForeignDevices,
    ForeignPrivileges,
    OwnersAreCallers,
    TargetsUnknown,
    UnknownAsZeros,
    UserAttributesOnly,
    // Crash exploration.
    EndedWith { exit_code: i32 },
    OutsideDirectory,
    // Comparing and merging.
    IncompleteSide { side: String, why: Box<Self> },
    MachinesDiffer,
    NoTime,
    NotInEveryPair,
    NotInFile { file: String, experiment: String },
    NotPairedOrNoTime,
    OneRunEach { remedy: bool },
    OneTimed,
    TwoRunsEach,
    // Experiments.
    CachedNoDevice { target: String, filesystem: String },
    DataJournaled,
    NoVolatileCache,
    CachestatFailed(String),
    NotVerified(Box<Reason>),
    DirectRefused(String),
    DisksUnknown,
    DontcacheRefused { error: String, needs_kernel: bool },
    FallocateFailed(String),
    FewSeconds { fewest: u64 },
    FewSyncs { needed: u64 },
    InodeWritesUnnamed,
    KeptInMemory { filesystem: String },
    ManySmallFiles,
    NoCachestat,
    NoDevice { filesystem: String },
    ObservingFailed(String),
    OverlayPasses,
    QuickOnly { target: String },
    QuickSkips,
    RemountsOwnOnly,
    RingWorkers,
    RunInterrupted,
    SingleOperations,
    StayedResident { resident_pages: u64, pages: u64 },
    Unsupported { error: String },
    SyscallsUnseen,
    RequestsUnseen,
    // Runs and their savings.
    LessThanIostrata,
    NotSaved(NotSaved),
    NotUsedBefore { first: Vec<String>, more: u64 },
    PipeEmptied,
    // Files that were named.
    NotFileOrDirectory,
    NotListed(String),
    NotOpened(String),
    ProcNotListed(String),
}

/// How many times there was no room for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryLosses {
    pub files: u64,
    pub names: u64,
    pub name_changes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotSaved {
    pub why: String,
    pub thorough_s: Option<u64>,
}

/// Why an exit was not reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// Found only by a scan of all threads.
    Scanned,
    /// Ended before they were looked up.
    Gone,
    /// Their counts went with them.
    Uncounted,
}

/// Threads without a row of their own, together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Others {
    /// Rows that exist.
    pub rows: u64,
    pub calls: u64,
    /// Their time on a CPU.
    pub on_cpu_ns: u64,
    pub time_ns: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
}

impl Gap {
    pub fn new(what: Missing, why: Reason) -> Self {
        Self { what, why }
    }

    /// A count of missing items; `None` for 0.
    pub fn counted(count: u64, of: Countable, why: Reason) -> Option<Self> {
        (count > 0).then(|| Self::new(Missing::Count { count, of }, why))
    }
}

/// A process that executed a program with which the user may not trace it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    pub process: u32,
    /// The name of its thread then.
    pub program: String,
}

impl Raised {
    /// The entry of a process, if there is one.
    pub fn of(process: u32, missing: &[Gap]) -> Option<&Self> {
        let lists = missing.iter().filter_map(|gap| match &gap.why {
            Reason::OtherPrivileges(raised) => Some(raised),
            _ => None,
        });
        lists.flatten().find(|one| one.process == process)
    }
}

/// Turns the two parts of a gap into words.
#[derive(Debug, Clone, Copy)]
pub struct Wording {
    pub what: fn(&Missing) -> String,
    pub why: fn(&Reason) -> String,
}

static WORDING: OnceLock<Wording> = OnceLock::new();

/// Installs the words that stand beside the codes in JSON. The first ones stay.
pub fn write_with(wording: Wording) {
    WORDING.get_or_init(|| wording);
}

impl Missing {
    /// The installed words. Without any, names as they are, and codes.
    pub fn text(&self) -> String {
        match (WORDING.get(), self) {
            (Some(wording), _) => (wording.what)(self),
            (None, Self::Stratum(stratum)) => stratum.as_str().to_owned(),
            (None, _) => code(self),
        }
    }
}

impl Reason {
    /// The installed words. Without any, what others said, and codes.
    pub fn text(&self) -> String {
        match (WORDING.get(), self) {
            (Some(wording), _) => (wording.why)(self),
            (None, Self::Error(said)) => said.clone(),
            (None, _) => code(self),
        }
    }
}

fn code<T: Serialize>(value: &T) -> String {
    // Enums of strings and numbers: cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}

#[derive(Serialize)]
struct Saved<'a> {
    what: String,
    why: String,
    code: Code<&'a Missing, &'a Reason>,
}

/// Both as codes, with their figures.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Code<W, Y> {
    what: W,
    why: Y,
}

/// In JSON words and codes, in an operation log two texts with the codes.
impl Serialize for Gap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { what, why } = self;
        if serializer.is_human_readable() {
            let (text, reason) = (what.text(), why.text());
            let code = Code { what, why };
            return Saved {
                what: text,
                why: reason,
                code,
            }
            .serialize(serializer);
        }
        Code {
            what: AsText(what),
            why: AsText(why),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Gap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Read {
            code: Code<Missing, Reason>,
        }
        let (what, why) = if deserializer.is_human_readable() {
            let Code { what, why } = Read::deserialize(deserializer)?.code;
            (what, why)
        } else {
            let Code { what, why } =
                Code::<AsText<Missing>, AsText<Reason>>::deserialize(deserializer)?;
            (what.0, why.0)
        };
        Ok(Self { what, why })
    }
}

/// A code as the text that an operation log has, so that its layout does not depend on them.
#[derive(Debug)]
struct AsText<T>(T);

impl<T: Serialize> Serialize for AsText<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = serde_json::to_string(&self.0).map_err(ser::Error::custom)?;
        serializer.serialize_str(&text)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for AsText<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        serde_json::from_str(&text)
            .map(Self)
            .map_err(de::Error::custom)
    }
}

/// A reason outside a gap, in an operation log.
pub(crate) mod as_text {
    use super::{AsText, Deserialize as _, Deserializer, Reason, Serialize as _, Serializer};

    pub(crate) fn serialize<S: Serializer>(why: &Reason, to: S) -> Result<S::Ok, S::Error> {
        AsText(why).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Reason, D::Error> {
        AsText::deserialize(from).map(|AsText(why)| why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl schemars::JsonSchema for Gap {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Gap".into()
        }

        fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
            /// A part that was not observed completely, and why.
            #[derive(Serialize, JsonSchema)]
            struct Gap {
                what: String,
                why: String,
                /// Both as codes, with their figures: a name, or an object with one name.
                code: Code<serde_json::Value, serde_json::Value>,
            }
            Gap::json_schema(generator)
        }
    }

    fn gap() -> Gap {
        let what = Missing::Count {
            count: 3,
            of: Countable::Buffers,
        };
        Gap::new(
            what,
            Reason::Differs(Difference::Length { file: 1, log: 2 }),
        )
    }

    #[test]
    fn a_saved_gap_is_read_back_from_its_codes() {
        let json = serde_json::to_string(&gap()).unwrap();
        assert_eq!(serde_json::from_str::<Gap>(&json).unwrap(), gap());
        let other = json.replace("\"what\":\"", "\"what\":\"other words");
        assert_eq!(serde_json::from_str::<Gap>(&other).unwrap(), gap());
    }

    #[test]
    fn an_operation_log_has_two_texts() {
        let bytes = postcard::to_allocvec(&gap()).unwrap();
        assert_eq!(postcard::from_bytes::<Gap>(&bytes).unwrap(), gap());
        let [what, why]: [String; 2] = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(what, r#"{"count":{"count":3,"of":"buffers"}}"#);
        assert_eq!(why, r#"{"differs":{"length":{"file":1,"log":2}}}"#);
    }
}
