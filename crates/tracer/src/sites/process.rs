//! The memory of one process, and how its stacks are unwound.

use std::sync::Arc;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{Error, FrameAddress, Unwinder as _};

use super::budget::{Budget, Exceeded, Held};
use super::made::MadeCode;
use super::maps::{self, Mapping, NoMap};
use super::module::{Bytes, Modules, last_part};

/// Frames of one stack that are kept, the innermost.
const MOST_FRAMES: usize = 64;

/// No frame pointer: nothing is mapped there (`mmap_min_addr`).
const NO_FRAME: u64 = 8;

/// Where a function is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Frame {
    /// In a file: its index, and the address in its own terms.
    Module(usize, u64),
    /// In memory of this process that belongs to no file.
    Made(u32, u64),
    /// In a mapping whose file could not be read: its name, and what was used up.
    Unread(Arc<str>, Option<Exceeded>),
}

/// How a stack ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum End {
    /// At the function that the thread began with.
    Whole,
    /// By frame pointers, of which the last was 0.
    LastPointer,
    /// The caller of the last frame could not be found.
    Lost,
    /// The caller is in memory that came after the map was read, and the process has ended.
    Ended,
    /// It goes on behind what was copied.
    Deep,
    /// It has more than [`MOST_FRAMES`].
    Long,
    /// What was used up before its end.
    Exceeded(Exceeded),
}

/// The registers when a call was left, and the stack from `sp` on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Registers<'a> {
    pub(crate) ip: u64,
    pub(crate) sp: u64,
    pub(crate) bp: u64,
    pub(crate) stack: &'a [u8],
}

impl Registers<'_> {
    fn read(&self, address: u64) -> Result<u64, ()> {
        let at = usize::try_from(address.checked_sub(self.sp).ok_or(())?).map_err(drop)?;
        let bytes = self.stack.get(at..at.saturating_add(8)).ok_or(())?;
        bytes.try_into().map(u64::from_le_bytes).map_err(drop)
    }

    /// Whether the address lies above what was copied, on the same stack.
    fn is_deeper(&self, address: u64) -> bool {
        const LARGEST_STACK: u64 = 64 << 20;
        let end = self.sp.saturating_add(self.stack.len() as u64);
        address.saturating_add(8) > end && address < end.saturating_add(LARGEST_STACK)
    }
}

/// What is known of a process's memory.
pub(super) struct Process {
    id: u32,
    unwinder: UnwinderX86_64<Bytes>,
    regions: Vec<Region>,
    /// `None` until there is some.
    made: Option<MadeCode>,
    /// Stacks with an address outside the known memory.
    strays: u64,
    /// The memory of the regions, and of what the unwinder made of their files.
    held: Held,
}

struct Region {
    mapping: Mapping,
    code: Code,
}

enum Code {
    /// Not looked at yet: reading a file takes longer than some processes live, and most are
    /// in no stack.
    New,
    /// Of a file, with what is added to its addresses.
    File(usize, u64),
    /// Made by the process, or the kernel's.
    Memory,
    /// Of a file that cannot be read: its name, and what was used up.
    Unread(Arc<str>, Option<Exceeded>),
}

impl Process {
    /// Reads the map of a process that lives.
    pub(super) fn read(id: u32, budget: &Arc<Budget>) -> Result<Self, NoMap> {
        let (regions, held) = regions(id, budget)?;
        Ok(Self {
            id,
            unwinder: UnwinderX86_64::new(),
            regions,
            made: None,
            strays: 0,
            held,
        })
    }

    fn frame(&mut self, address: u64, modules: &mut Modules) -> Option<Frame> {
        let behind = self.regions.partition_point(|r| r.mapping.end <= address);
        let region = self.regions.get_mut(behind)?;
        if region.mapping.start > address {
            return None;
        }
        if let Code::New = region.code {
            region.code = match modules.find(self.id, &region.mapping) {
                Ok(mapped) => {
                    self.unwinder.add_module(mapped.unwindable);
                    self.held.join(mapped.held);
                    Code::File(mapped.index, mapped.bias)
                }
                // Shared memory has an inode and is written to like any other.
                Err(None)
                    if region.mapping.inode == 0 || region.mapping.name.starts_with(b"/memfd:") =>
                {
                    Code::Memory
                }
                Err(why) => Code::Unread(last_part(&region.mapping.name).into(), why),
            };
        }
        Some(match &region.code {
            Code::File(index, bias) => Frame::Module(*index, address.wrapping_sub(*bias)),
            Code::Memory | Code::New => Frame::Made(self.id, address),
            Code::Unread(name, why) => Frame::Unread(Arc::clone(name), *why),
        })
    }

    /// The stack, the innermost frame first. Where it leaves the known memory, the map is
    /// read again, each time after twice as many such stacks: a library may have been
    /// loaded, or the stack is none.
    pub(super) fn stack(
        &mut self,
        registers: &Registers<'_>,
        modules: &mut Modules,
        cache: &mut CacheX86_64,
    ) -> (Vec<Frame>, End) {
        let (frames, end, strayed) = self.unwind(registers, modules, cache);
        if !strayed {
            return (frames, end);
        }
        self.strays += 1;
        if !self.strays.is_power_of_two() && is_alive(self.id) {
            return (frames, end);
        }
        match regions(self.id, &modules.budget) {
            Ok((regions, held)) => (self.regions, self.held) = (regions, held),
            Err(NoMap::Ended) => return (frames, End::Ended),
            Err(NoMap::Exceeded(exceeded)) => return (frames, End::Exceeded(exceeded)),
        }
        self.unwinder = UnwinderX86_64::new();
        let (frames, end, _) = self.unwind(registers, modules, cache);
        (frames, end)
    }

    /// The caller of made code, where the code tells.
    fn left_by_code(
        &mut self,
        at: FrameAddress,
        registers: &mut UnwindRegsX86_64,
        from: &Registers<'_>,
    ) -> Option<u64> {
        if !at.is_return_address() {
            return None;
        }
        let made = self.made.get_or_insert_with(|| MadeCode::of(self.id));
        let bytes = made.put_away_bytes(at.address())?;
        let behind = registers.sp().checked_add(bytes)?;
        let caller = from.read(behind).ok()?;
        *registers = UnwindRegsX86_64::new(caller, behind.saturating_add(8), registers.bp());
        Some(caller)
    }

    /// Also says whether an address was in no executable memory.
    fn unwind(
        &mut self,
        from: &Registers<'_>,
        modules: &mut Modules,
        cache: &mut CacheX86_64,
    ) -> (Vec<Frame>, End, bool) {
        let mut frames = Vec::new();
        let mut at = FrameAddress::from_instruction_pointer(from.ip);
        let mut registers = UnwindRegsX86_64::new(from.ip, from.sp, from.bp);
        let mut read = |address| from.read(address);
        loop {
            let Some(frame) = self.frame(at.address_for_lookup(), modules) else {
                return (frames, End::Lost, true);
            };
            if frames.len() == MOST_FRAMES {
                return (frames, End::Long, false);
            }
            if let Err(exceeded) = modules.budget.check() {
                return (frames, End::Exceeded(exceeded), false);
            }
            let is_made = matches!(frame, Frame::Made(..));
            frames.push(frame);
            let before = registers;
            let next = match is_made.then(|| self.left_by_code(at, &mut registers, from)) {
                Some(Some(caller)) => Ok(Some(caller)),
                _ => self
                    .unwinder
                    .unwind_frame(at, &mut registers, cache, &mut read),
            };
            let end = match next.map(|next| next.and_then(FrameAddress::from_return_address)) {
                Ok(Some(caller)) => {
                    at = caller;
                    continue;
                }
                Ok(None) => {
                    // The unwind tables end a stack whatever the frame pointer is.
                    let mut without = UnwindRegsX86_64::new(before.ip(), before.sp(), NO_FRAME);
                    let again = self
                        .unwinder
                        .unwind_frame(at, &mut without, cache, &mut read);
                    if again == Ok(None) {
                        End::Whole
                    } else {
                        End::LastPointer
                    }
                }
                Err(Error::CouldNotReadStack(address)) if from.is_deeper(address) => End::Deep,
                Err(_) => End::Lost,
            };
            return (frames, end, false);
        }
    }
}

fn regions(process: u32, budget: &Arc<Budget>) -> Result<(Vec<Region>, Held), NoMap> {
    let region = |mapping| Region {
        mapping,
        code: Code::New,
    };
    let (mappings, held) = maps::read(process, budget)?;
    Ok((mappings.into_iter().map(region).collect(), held))
}

pub(super) fn is_alive(process: u32) -> bool {
    std::fs::exists(format!("/proc/{process}")).unwrap_or(false)
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;

    use super::*;

    /// `xorshift64` (Marsaglia, 2003): the same numbers in every run.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, limit: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            usize::try_from(self.0 % limit as u64).unwrap()
        }
    }

    const START: u64 = 0x5555_0000_0000;

    /// A process that maps all of a file as code.
    pub(in crate::sites) fn process_of(path: &std::path::Path, length: u64) -> Process {
        use std::os::unix::fs::MetadataExt as _;

        let mapping = Mapping {
            start: START,
            end: START + length,
            offset: 0,
            device: "fe:00".to_owned(),
            inode: fs::metadata(path).unwrap().ino(),
            name: path.as_os_str().as_encoded_bytes().to_vec(),
        };
        Process {
            id: u32::MAX,
            unwinder: UnwinderX86_64::new(),
            regions: vec![Region {
                mapping,
                code: Code::New,
            }],
            made: None,
            strays: 0,
            held: Arc::<Budget>::default().hold(0).unwrap(),
        }
    }

    #[test]
    fn a_damaged_program_ends_a_stack_and_nothing_else() {
        let whole = fs::read("/bin/true").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("damaged");
        let mut numbers = Numbers(7);
        let mut unwound = 0;
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..numbers.below(40) {
                // Half of them where the headers are, which lead everywhere.
                let reach = [1024, bytes.len()][numbers.below(2)];
                let at = numbers.below(reach);
                bytes[at] = u8::try_from(numbers.below(256)).unwrap();
            }
            fs::write(&path, &bytes).unwrap();
            let mut process = process_of(&path, bytes.len() as u64);
            let stack: Vec<u8> = (0..256)
                .flat_map(|_| (START + numbers.below(bytes.len()) as u64).to_le_bytes())
                .collect();
            let registers = Registers {
                ip: START + numbers.below(bytes.len()) as u64,
                sp: 0x7fff_0000_0000,
                bp: 0x7fff_0000_0000 + 8 * numbers.below(256) as u64,
                stack: &stack,
            };
            let mut modules = Modules::within(Arc::default());
            let mut cache = CacheX86_64::new();
            let (frames, _) = process.stack(&registers, &mut modules, &mut cache);
            assert!((1..=MOST_FRAMES).contains(&frames.len()));
            unwound += usize::from(frames.len() > 1);
            for module in &modules.all {
                module.names(&[1, 0x1234, u64::MAX], &modules.budget);
            }
        }
        assert!(unwound > 100, "{unwound} had a caller");
    }

    #[test]
    fn registers_from_nowhere_have_no_stack() {
        let mut process = process_of(std::path::Path::new("/bin/true"), 0x1000);
        for value in [0, 1, START, u64::MAX - 7, u64::MAX] {
            let registers = Registers {
                ip: START + 0x10,
                sp: value,
                bp: value,
                stack: &[0; 64],
            };
            let mut modules = Modules::within(Arc::default());
            let (frames, end) = process.stack(&registers, &mut modules, &mut CacheX86_64::new());
            assert!(!frames.is_empty() && frames.len() <= 2, "{frames:?}");
            assert_ne!(end, End::Long);
        }
    }
}
