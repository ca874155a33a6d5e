//! Files that the kernel generates and never changes, such as its BTF.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::path::Path;

use super::region::Region;

#[derive(Debug)]
pub struct Shown(Contents);

#[derive(Debug)]
enum Contents {
    Mapped(Region),
    Read(Vec<u8>),
}

impl Shown {
    /// A read returns one page at a time, so the file is mapped where the kernel supports that,
    /// since Linux 6.16.
    pub fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let len = usize::try_from(file.metadata()?.len()).unwrap_or(0);
        let mapped = Region::private(file.as_fd(), len).ok();
        if let Some(region) = mapped.filter(|_| len > 0) {
            return Ok(Self(Contents::Mapped(region)));
        }
        let mut bytes = Vec::with_capacity(len);
        file.read_to_end(&mut bytes)?;
        Ok(Self(Contents::Read(bytes)))
    }

    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Contents::Mapped(region) => region.as_slice(),
            Contents::Read(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_give_the_same() {
        let path = Path::new("/sys/kernel/btf/vmlinux");
        let shown = Shown::of(path).unwrap();
        assert_eq!(shown.as_slice(), std::fs::read(path).unwrap());
        // A file that cannot be mapped.
        let version = Shown::of(Path::new("/proc/version")).unwrap();
        assert_eq!(version.as_slice(), std::fs::read("/proc/version").unwrap());
        assert!(Shown::of(Path::new("/proc/none")).is_err());
    }
}
