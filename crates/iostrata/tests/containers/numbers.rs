//! Processes have the numbers that the user of iostrata would see.

use std::collections::BTreeSet;

use crate::contained::{BACKENDS, Contained, PIDS, file};

/// In a namespace of its own, with the `/proc` of the one above: the shell reads its number there
/// and has another for itself. So do two of its children.
const INNER: &str = "
read outer rest < /proc/self/stat; echo $outer >> outer; echo $$ > inner
for name in a b; do
  (read outer rest < /proc/self/stat; echo $outer >> outer; echo 12345 > $name)
done";

#[test]
fn a_program_may_make_namespaces() {
    for backend in BACKENDS {
        for outside in [&[][..], &[PIDS], &[PIDS, PIDS]] {
            let contained = Contained::new();
            let options = ["--backend", backend];
            let program = ["unshare", "-p", "-f", "sh", "-c", INNER];
            let outside: Vec<&[&str]> = outside.iter().copied().chain([&["env"][..]]).collect();
            let output = contained.run(&outside, &options, &program);
            assert!(output.status.success(), "{output:?}");
            let result = contained.result();
            assert_eq!(result.lost_events, 0);
            for name in ["a", "b"] {
                let row = file(&result, name);
                assert_eq!((row.writes.count, row.writes.bytes), (1, 6), "{backend}");
            }
            assert_eq!(contained.text("inner"), "1");
            let outer = contained.text("outer");
            let outer: BTreeSet<u32> = outer.lines().map(|line| line.parse().unwrap()).collect();
            let seen: BTreeSet<u32> = result.tasks.iter().map(|task| task.process).collect();
            assert_eq!(outer.len(), 3);
            assert!(outer.is_subset(&seen), "{backend}: {outer:?} {seen:?}");
            // unshare(1) itself is the fourth.
            assert_eq!(result.processes, 4, "{backend}: {seen:?}");
            let of_shell = |parent: u32| result.tasks.iter().filter(move |t| t.parent == parent);
            // Numbers may begin anew: the shell need not have the least of them.
            let mut tasks = result.tasks.iter();
            let shell =
                tasks.find(|task| outer.contains(&task.process) && !outer.contains(&task.parent));
            let shell = shell.unwrap().process;
            assert_eq!(of_shell(shell).count(), 2, "{backend}: {:?}", result.tasks);
        }
    }
}

#[test]
fn one_that_runs_is_adopted_by_its_number_in_the_namespace() {
    for backend in BACKENDS {
        // A busy machine may leave the program too little of the first.
        let mut times = ["500ms", "4s", "30s"].into_iter();
        assert!(times.any(|time| is_adopted(backend, time)), "{backend}");
    }
}

/// Whether two writes of the program were seen in this time.
fn is_adopted(backend: &str, time: &str) -> bool {
    let contained = Contained::new();
    let script = "
            sh -c 'while [ ! -e enough ]; do echo x >> log; sleep 0.01; done' &
            \"$0\" \"$@\" -p $!; code=$?
            echo $! > number; touch enough; wait; exit $code";
    let outside: &[&[&str]] = &[PIDS, &["sh", "-c", script]];
    let options = ["--backend", backend, "--for", time];
    let output = contained.adopt(outside, &options);
    assert!(output.status.success(), "{backend}: {output:?}");
    let result = contained.result();
    assert_eq!(
        result.adopted.unwrap().to_string(),
        contained.text("number")
    );
    let shell = result
        .tasks
        .iter()
        .any(|task| Some(task.process) == result.adopted);
    assert!(shell, "{backend}: {:?}", result.tasks);
    let log = result.files.iter().find(|file| file.path.ends_with("/log"));
    log.is_some_and(|log| log.writes.count >= 2)
}
