use proptest::prelude::*;

use super::*;

const DISK: u32 = 7;
const OTHER: u32 = 8;

#[test]
fn moments_by_hand() {
    assert_eq!(moment_of(0), 0);
    assert_eq!(moment_of((1 << 17) - 1), 0);
    assert_eq!(moment_of(1 << 17), 1);
    assert_eq!(moment_of((1 << 29) - 1), 4095);
    // From 537 ms on twice as long, 2,048 until the next doubling.
    assert_eq!(moment_of(1 << 29), 4096);
    assert_eq!(moment_of((1 << 29) + (1 << 18)), 4097);
    assert_eq!(moment_of(1 << 30), 4096 + 2048);
    assert_eq!(begins_ns(4096 + 2048), 1 << 30);
    assert_eq!(moment_of(u64::MAX), MOMENTS - 1);
    assert_eq!(MOMENTS, 36_864);
}

proptest! {
    #[test]
    fn a_moment_holds_its_times(ns in 0_u64..1 << 44) {
        let moment = moment_of(ns);
        prop_assert!(begins_ns(moment) <= ns && ns < begins_ns(moment + 1));
        prop_assert_eq!(moment_of(begins_ns(moment)), moment);
    }

    #[test]
    fn a_run_has_at_most_4096_buckets(wall_ns in 0_u64..1 << 44) {
        let buckets = Buckets::of(wall_ns);
        prop_assert!(buckets.count <= 4096);
        prop_assert!(wall_ns < (1 << 29) || buckets.count > 2048);
        prop_assert!(buckets.length_ns * buckets.count as u64 > wall_ns);
    }

    #[test]
    fn folding_keeps_every_call(ends in prop::collection::vec(0_u64..1 << 32, 1..50)) {
        let wall_ns = *ends.iter().max().unwrap();
        let calls = ends.iter().map(|end| call(*end, Purpose::Write)).collect();
        let seen = Moments { calls, ..Moments::default() };
        let folded = timeline(&seen, wall_ns, &[], |_, _| Claim::All).unwrap();
        prop_assert_eq!(folded.calls[0].counts.iter().sum::<u64>(), ends.len() as u64);
        let bucket_ns = Buckets::of(wall_ns).length_ns;
        for (bucket, count) in folded.calls[0].counts.iter().enumerate() {
            let in_it = ends.iter().filter(|end| **end / bucket_ns == bucket as u64);
            prop_assert_eq!(in_it.count() as u64, *count);
        }
    }
}

fn call(end_ns: u64, purpose: Purpose) -> CallMoment {
    CallMoment {
        moment: moment_of(end_ns),
        purpose,
        count: 1,
        bytes: 10,
        time_ns: 500,
    }
}

fn request(at_ns: u64, disk: u32, cause: Cause) -> RequestMoment {
    RequestMoment {
        moment: moment_of(at_ns),
        disk,
        cause,
        count: 2,
        bytes: 4096,
    }
}

#[test]
fn series_by_purpose_and_cause() {
    let bucket = 1 << 17;
    let seen = Moments {
        calls: vec![
            call(0, Purpose::Write),
            call(5, Purpose::Write),
            call(2 * bucket, Purpose::Sync),
            call(9 * bucket, Purpose::Sync),
        ],
        requests: Some(vec![
            request(bucket, DISK, Cause::Data),
            request(bucket, DISK, Cause::Flush),
            request(bucket, OTHER, Cause::Data),
        ]),
        missing: Vec::new(),
    };
    let folded = timeline(&seen, 2 * bucket + 1, &[DISK], |_, _| Claim::All).unwrap();
    assert!((folded.bucket_s - 131.072e-6).abs() < 1e-12);
    assert_eq!(
        folded.calls,
        [
            CallSeries {
                group: Purpose::Write,
                counts: vec![2, 0, 0],
                bytes: vec![20, 0, 0],
                time_s: vec![1e-6, 0.0, 0.0],
            },
            CallSeries {
                group: Purpose::Sync,
                // The second ended after the end of the run was measured.
                counts: vec![0, 0, 2],
                bytes: vec![0, 0, 20],
                time_s: vec![0.0, 0.0, 1e-6],
            },
        ]
    );
    let data = RequestSeries {
        cause: Cause::Data,
        counts: vec![0, 2, 0],
        bytes: vec![0, 4096, 0],
    };
    assert_eq!(folded.requests, Some(vec![data]));
    assert_eq!(folded.flushes, Some(vec![0, 2, 0]));
}

#[test]
fn strata_that_were_not_seen_are_not_empty() {
    let seen = Moments {
        calls: vec![call(0, Purpose::Read)],
        ..Moments::default()
    };
    let folded = timeline(&seen, 1000, &[DISK], |_, _| Claim::All).unwrap();
    assert_eq!((folded.requests, folded.flushes), (None, None));
    assert_eq!(
        timeline(&Moments::default(), 1000, &[DISK], |_, _| Claim::All),
        None
    );
}

#[test]
fn calls_have_purposes() {
    for (name, purpose) in [
        ("pread64", Some(Purpose::Read)),
        ("io_uring.read_fixed", Some(Purpose::Read)),
        ("writev", Some(Purpose::Write)),
        ("copy_file_range", Some(Purpose::Write)),
        ("fdatasync", Some(Purpose::Sync)),
        ("openat", Some(Purpose::Metadata)),
        ("io_uring.statx", Some(Purpose::Metadata)),
        ("renameat2", Some(Purpose::Metadata)),
        ("futex", None),
        ("io_uring_enter", None),
        ("mmap", None),
    ] {
        assert_eq!(Purpose::of(name), purpose, "{name}");
    }
}

#[test]
fn requests_that_are_others_are_left_out_and_shared_ones_are_said() {
    let request = |cause, count| RequestMoment {
        moment: 0,
        disk: DISK,
        cause,
        count,
        bytes: 4096 * count,
    };
    let seen = Moments {
        requests: Some(vec![request(Cause::Data, 2), request(Cause::Flush, 3)]),
        ..Moments::default()
    };
    let folded = |claim| {
        let of = |_, cause| match cause {
            Cause::Data => Claim::All,
            _ => claim,
        };
        timeline(&seen, 1000, &[DISK], of).unwrap()
    };
    for (claim, flushes, shared) in [
        (Claim::All, 3, false),
        (Claim::Some, 3, true),
        (Claim::None, 0, false),
    ] {
        let folded = folded(claim);
        assert_eq!(folded.flushes, Some(vec![flushes]));
        assert_eq!(folded.requests.unwrap()[0].counts, [2]);
        assert_eq!(folded.shared, shared);
    }
}
