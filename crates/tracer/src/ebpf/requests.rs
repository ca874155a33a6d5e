//! Arguments of `io_uring` operations: reported at submission, turned into a step at completion
//! (`bpf/ring_names.h`).

use std::collections::HashMap;

use zerocopy::FromBytes as _;

use super::wire::StepEvent;

/// Operations under way, by the address of their request.
#[derive(Debug, Default)]
pub(super) struct Requests {
    asked: HashMap<u64, Vec<u8>>,
}

impl Requests {
    pub(super) fn add(&mut self, record: &[u8]) {
        if let Ok((event, _)) = StepEvent::read_from_prefix(record) {
            self.asked.insert(event.request, record.to_vec());
        }
    }

    /// A step with its arguments and their text; `None` where the kernel side could not report the
    /// arguments of an operation.
    pub(super) fn whole(&mut self, ended: StepEvent, text: &[u8]) -> Option<(StepEvent, Vec<u8>)> {
        if ended.request == 0 {
            return Some((ended, text.to_vec()));
        }
        let asked = self.asked.remove(&ended.request)?;
        let (asked, text) = StepEvent::read_from_prefix(&asked).ok()?;
        let whole = StepEvent {
            argument: asked.argument,
            base: asked.base,
            bytes: asked.bytes,
            extra: asked.extra,
            ..ended
        };
        Some((whole, text.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use zerocopy::{FromZeros as _, IntoBytes as _};

    use super::*;

    fn event(request: u64, flags: u64) -> StepEvent {
        StepEvent {
            request,
            argument: [0, 0, 0, 0, flags],
            ..StepEvent::new_zeroed()
        }
    }

    #[test]
    fn an_operation_is_told_in_two_parts() {
        let mut requests = Requests::default();
        let asked = StepEvent {
            bytes: [2, 2],
            ..event(7, 1)
        };
        requests.add(&[asked.as_bytes(), b"a\0b\0"].concat());
        let ended = StepEvent {
            result: -2,
            ..event(7, 0)
        };
        let (whole, text) = requests.whole(ended, b"").unwrap();
        assert_eq!((whole.result, whole.argument[4]), (-2, 1));
        assert_eq!(text, b"a\0b\0");
        assert_eq!(requests.whole(ended, b""), None, "the memory is used again");
    }

    #[test]
    fn a_call_is_told_at_once() {
        let told = Requests::default().whole(event(0, 3), b"a\0");
        assert_eq!(told, Some((event(0, 3), b"a\0".to_vec())));
    }
}
