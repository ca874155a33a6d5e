//! Kills at random moments.

use crate::files::Files;
use crate::lab;
use crate::trace::{self, Way};
use crate::trials::{Trials, variable};

/// Of the usual run of tests.
const FEW: u64 = 13;

#[test]
fn kills() {
    let all = variable("KILLS").unwrap_or(FEW);
    // So many of a hundred.
    let share = |hundredths: u64| (all * hundredths).div_ceil(100);
    let mut trials = Trials::begin();
    trials.attack("kill lab", share(10), lab::on_host);
    if rustix::process::geteuid().is_root() {
        trials.attack("kill lab on images", share(10), lab::on_images);
        for (name, way, hundredths) in [
            ("kill trace by eBPF", Way::Kernel, 10),
            ("kill trace by eBPF, recording", Way::KernelRecord, 12),
            ("kill trace -p by eBPF", Way::KernelAdopt, 6),
        ] {
            let trial = |seeded: &mut _| trace::killed(way, seeded);
            trials.attack(name, share(hundredths), trial);
        }
    }
    for (name, way, hundredths) in [
        ("kill trace by ptrace", Way::Stops, 8),
        ("kill trace by ptrace, every call", Way::EveryStop, 6),
        ("kill trace by ptrace, recording", Way::StopsRecord, 10),
        ("kill trace -p by ptrace", Way::StopsAdopt, 6),
    ] {
        let trial = |seeded: &mut _| trace::killed(way, seeded);
        trials.attack(name, share(hundredths), trial);
    }
    let files = Files::make();
    trials.attack("kill report", share(10), |seeded| files.report(seeded));
    trials.attack("kill compare", share(4), |seeded| files.compare(seeded));
    trials.attack("kill cache", share(6), |seeded| files.cache(seeded));
    trials.attack("kill rebuild", share(4), |seeded| files.rebuild(seeded));
    trials.end();
}
