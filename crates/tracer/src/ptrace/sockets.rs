//! Who began on a socket, and so whether what is sent on it answers its peer: by the rules of the
//! kernel side (`bpf/reports.h`).

use std::collections::HashMap;

use iostrata_core::trace::{Audience, FileKind};

use super::calls::call;
use super::place::{descriptor, link};
use super::request::Tid;
use super::tasks::Entered;

/// As many as the kernel side has room for.
const SOCKETS: usize = 8192;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Began {
    Peer,
    Program,
    Accepted,
}

/// By their names, `socket:[inode]`: sockfs gives each number once (`get_next_ino`, fs/inode.c).
#[derive(Debug, Default)]
pub(super) struct Sockets(HashMap<Vec<u8>, Began>);

impl Sockets {
    /// To whom the call that has ended reported something. `heard_ns` is the thread's latest receipt
    /// from a socket.
    pub(super) fn audience(
        &mut self,
        tid: Tid,
        entered: &Entered,
        outcome: Result<u64, i32>,
        now_ns: u64,
        heard_ns: &mut u64,
    ) -> Option<Audience> {
        let (meaning, arguments) = (entered.meaning, &entered.arguments);
        let kind = entered.file.map(|(_, open)| open.kind());
        let moved = outcome.ok()?;
        if meaning & call::ACCEPTS != 0 {
            self.begins(name(tid, moved)?, Began::Accepted);
            return None;
        }
        let is_output = arguments[0] == 1 && kind.is_some_and(|it| it != FileKind::Regular);
        let is_socket =
            kind == Some(FileKind::Socket) || meaning & (call::SENDS | call::HEARS) != 0;
        let writes = meaning & (call::WRITES | call::SENDS) != 0;
        if moved == 0 || !(is_socket || is_output && writes) {
            return None;
        }
        if !is_socket {
            return Some(Audience::Output);
        }
        if !writes {
            if meaning & (call::READS | call::HEARS) != 0 {
                // An answer to the program is no request.
                if self.begins(name(tid, arguments[0])?, Began::Peer) != Began::Program {
                    *heard_ns = now_ns;
                }
            }
            return None;
        }
        let is_addressed = meaning & call::ADDRESSED != 0 && arguments[4] != 0;
        let is_answer = match self.begins(name(tid, arguments[0])?, Began::Program) {
            Began::Accepted => true,
            Began::Peer => is_addressed,
            Began::Program => false,
        };
        let peer = Audience::Peer {
            heard_ns: *heard_ns,
        };
        let output = (arguments[0] == 1).then_some(Audience::Output);
        is_answer.then_some(peer).or(output)
    }

    /// Notes who begins now, and returns who had begun.
    fn begins(&mut self, socket: Vec<u8>, who: Began) -> Began {
        if self.0.len() >= SOCKETS {
            self.0.clear();
        }
        if who == Began::Accepted {
            self.0.insert(socket, who);
            return who;
        }
        *self.0.entry(socket).or_insert(who)
    }
}

/// The name of the socket at a descriptor.
fn name(tid: Tid, fd: u64) -> Option<Vec<u8>> {
    link(&format!("/proc/{tid}/fd/{}", descriptor(fd)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_began_is_noted_once_and_accepting_settles_it() {
        let mut sockets = Sockets::default();
        let socket = || b"socket:[7]".to_vec();
        assert_eq!(sockets.begins(socket(), Began::Peer), Began::Peer);
        assert_eq!(sockets.begins(socket(), Began::Program), Began::Peer);
        assert_eq!(sockets.begins(socket(), Began::Accepted), Began::Accepted);
        assert_eq!(sockets.begins(socket(), Began::Program), Began::Accepted);
    }
}
