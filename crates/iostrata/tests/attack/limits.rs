//! Resource limits: a message, and nothing left.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use iostrata_lab::scratch::Scratch;

use crate::ending::{Ended, Run};
use crate::ground::{
    OLD, check_files, check_kernel, check_text, is_json, is_scratch, wait_for_the_guard,
};
use crate::place::{Place, run};
use crate::seeded::Seeded;
use crate::trials::{Failure, Fault, Outcome, Trials, holds, variable};

const FEW: u64 = 12;

/// A user without privileges, and with no processes but those of a trial.
const SOMEBODY: &str = "54321";

/// What `prlimit(1)` calls them.
const LIMITS: [&str; 9] = [
    "nofile", "nofile", "fsize", "as", "data", "nproc", "stack", "memlock", "cpu",
];

/// Each writes `out` of its directory; the third is for a user too.
const COMMANDS: [(&str, &str, bool); 8] = [
    ("trace --backend ptrace -o out -- /bin/true", "", true),
    ("trace --backend ebpf -o out -- /bin/true", "", false),
    (
        "trace --backend ebpf --record ../home/log -o out -- /bin/true",
        "",
        false,
    ),
    ("doctor --json out", "", true),
    ("report --html out", "result", true),
    ("compare --json out", "twice", true),
    ("cache show --json out", "result", true),
    (
        "lab --quick --fs host --mode flush --size 1 --count 20 --json out",
        "",
        true,
    ),
];

#[test]
fn limits() {
    let mut trials = Trials::begin();
    let source = Place::new();
    let result = source.path("result.json");
    let mut command = source.iostrata("trace --backend ptrace -o");
    command.arg(&result).args(["--", "/bin/ls", "/usr/bin"]);
    run(command).expect(0);
    let result = result.to_str().unwrap();
    trials.attack("limits", variable("LIMITS").unwrap_or(FEW), |seeded| {
        limited(seeded, result)
    });
    trials.end();
}

/// A limit that is near what is needed, more often than not.
fn value(limit: &str, seeded: &mut Seeded) -> u64 {
    match limit {
        "nofile" => 3 + seeded.below(24),
        "fsize" => {
            let most = 2 << seeded.below(18);
            seeded.below(most)
        }
        "as" | "data" => (1 << 20) << seeded.below(11),
        "nproc" => seeded.below(5),
        "stack" => (16 << 10) << seeded.below(8),
        "memlock" => seeded.below(1 << 17),
        "cpu" => seeded.below(2),
        other => panic!("{other}"),
    }
}

/// With the environment that programs of the place have.
fn with_words(place: &Place, words: &[String]) -> Command {
    let usual = place.iostrata("");
    let environment = usual
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    let mut command = Command::new("prlimit");
    command.args(words).env_clear().envs(environment);
    command.env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
    command.current_dir(place.dir()).stdin(Stdio::null());
    command
}

fn limited(seeded: &mut Seeded, result: &str) -> Outcome {
    let (limit, place) = (*seeded.one_of(&LIMITS), Place::new());
    let (arguments, input, _) = loop {
        let command = *seeded.one_of(&COMMANDS);
        // Root has no limit of processes.
        if limit != "nproc" || command.2 {
            break command;
        }
    };
    let value = value(limit, seeded);
    let out = place.dir().join("out");
    fs::write(&out, OLD).unwrap();
    let everybody = fs::Permissions::from_mode(0o777);
    for path in [place.dir(), place.path("home"), out.clone()] {
        fs::set_permissions(path, everybody.clone()).unwrap();
    }
    let mut words = vec![format!("--{limit}={value}:{value}")];
    if limit == "nproc" && rustix::process::geteuid().is_root() {
        let program = place.path("iostrata");
        let mut install = Command::new("install");
        install.args(["-m", "755", env!("CARGO_BIN_EXE_iostrata")]);
        assert!(install.arg(&program).status().unwrap().success());
        let user = [
            "setpriv",
            "--reuid",
            SOMEBODY,
            "--regid",
            SOMEBODY,
            "--clear-groups",
        ];
        words.extend(user.map(str::to_owned));
        words.push(program.display().to_string());
    } else {
        words.push(env!("CARGO_BIN_EXE_iostrata").to_owned());
    }
    words.extend(arguments.split(' ').map(str::to_owned));
    // A program to trace comes last.
    let inputs = match input {
        "" => 0,
        "twice" => 2,
        _ => 1,
    };
    words.extend(vec![result.to_owned(); inputs]);
    let command = with_words(&place, &words);
    let ended = Run::start(command).end()?;
    let named = |failure: Failure| Failure {
        what: format!("{}: {}", words.join(" "), failure.what),
        ..failure
    };
    let end = judge(&ended, limit).map_err(named)?;
    check_kernel(&place)?;
    check_text(&out, ended.is_success(), |text| {
        is_json(text)
            || String::from_utf8_lossy(text)
                .trim_end()
                .ends_with("</html>")
    })?;
    // A log is kept as far as it was written.
    let expected = [out, place.path("home/log")];
    // The process that watches over what `lab` made has the same limit.
    if ended.status.signal().is_some() {
        wait_for_the_guard(&place);
    }
    let may_stay = |path: &Path| ended.status.signal().is_some() && is_scratch(path);
    let left = check_files(&place, &expected, may_stay).map_err(named)?;
    if left.is_empty() {
        return Ok(end);
    }
    drop(Scratch::create(&place.dir(), 0).unwrap());
    check_files(&place, &expected, |_| false)?;
    Ok("ended by the kernel; the next run removed a directory")
}

fn judge(ended: &Ended, limit: &str) -> Result<&'static str, Failure> {
    ended.check_words()?;
    let what = || format!("{:?}: {}", ended.status, ended.said);
    match (ended.status.code(), ended.status.signal()) {
        (Some(0), _) => Ok("enough"),
        // It says what is not known on standard output.
        (Some(3), _) if ended.said.starts_with("cache show") => Ok("told"),
        // Memory that the standard library cannot have: it says so and aborts.
        (_, Some(6)) | (Some(134), _) if ended.said.contains("memory allocation of") => {
            Ok("no memory, told")
        }
        (_, Some(6)) if limit == "stack" && ended.said.contains("overflowed its stack") => {
            Ok("no memory, told")
        }
        // Without memory for its text or its stack a program is ended by the kernel, and so is one
        // that has used up its time.
        (_, Some(9 | 11)) if matches!(limit, "as" | "data" | "stack" | "cpu") => {
            Ok("ended by the kernel")
        }
        (Some(_), _) => {
            let says = [
                "error: ",
                "error while loading",
                "interrupted by",
                "prlimit: ",
                "setpriv: ",
            ];
            let is_told = says.iter().any(|word| ended.said.contains(word));
            holds(is_told, Fault::Code, what)?;
            Ok("told")
        }
        (None, _) => Err(Failure::new(Fault::Code, what())),
    }
}
