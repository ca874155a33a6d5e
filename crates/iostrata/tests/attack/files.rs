//! Commands that only read and write files, killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::ending::{Ended, Run, any_signal};
use crate::ground::{OLD, check_files, check_kernel, check_text, is_json};
use crate::place::{Place, enlarged, entries, run};
use crate::seeded::Seeded;
use crate::trials::{Failure, Fault, Outcome, holds};

/// What is read: made once.
pub(crate) struct Files {
    place: Place,
    /// A result of trace that takes a while to read and to write, and a recording.
    large: PathBuf,
    log: PathBuf,
    /// Results of lab.
    lab: PathBuf,
}

impl Files {
    pub(crate) fn make() -> Self {
        let place = Place::new();
        let (small, log) = (place.path("small.json"), place.path("log"));
        let program = "mkdir d; for i in 1 2 3 4 5 6 7 8 9; do echo $i > d/$i; mv d/$i d/x$i; done";
        let mut command = place.iostrata("trace --backend ptrace --no-measure -o");
        command.arg(&small).arg("--record").arg(&log);
        command.env("PATH", "/usr/bin:/bin");
        command.args(["--", "/bin/sh", "-c", program]);
        run(command).expect(0);
        let (large, lab) = (place.path("large.json"), place.path("lab.json"));
        fs::write(&large, enlarged(&fs::read(&small).unwrap())).unwrap();
        let mut command =
            place.iostrata("lab --quick --fs host --mode flush,fsync --size 1 --count 20 --json");
        command.arg(&lab);
        run(command).expect(0);
        Self {
            place,
            large,
            log,
            lab,
        }
    }

    /// Pages, metrics and tables over older ones.
    pub(crate) fn report(&self, seeded: &mut Seeded) -> Outcome {
        let (kind, option) = *seeded.one_of(&[
            (Kind::Page, "--html"),
            (Kind::Text, "--prometheus"),
            (Kind::Tables("csv"), "--csv"),
            (Kind::Tables("parquet"), "--parquet"),
        ]);
        let is_log = !matches!(kind, Kind::Page | Kind::Text) && seeded.is_rare(3);
        let input = if is_log { &self.log } else { &self.large };
        let command = |place: &Place| {
            let mut command = place.iostrata("report");
            command.arg(option).arg("out").arg(input);
            command
        };
        self.killed(seeded, kind, &command)
    }

    pub(crate) fn compare(&self, seeded: &mut Seeded) -> Outcome {
        let input = *seeded.one_of(&[&self.large, &self.lab]);
        let command = |place: &Place| {
            let mut command = place.iostrata("compare --json out");
            command.arg(input).arg(input);
            command
        };
        self.killed(seeded, Kind::Json, &command)
    }

    pub(crate) fn cache(&self, seeded: &mut Seeded) -> Outcome {
        let verb = *seeded.one_of(&["show", "warm", "evict"]);
        let command = |place: &Place| {
            let mut command = place.iostrata(&format!("cache {verb}"));
            command.arg(self.place.path(""));
            if verb == "show" {
                command.args(["--json", "out"]);
            }
            command
        };
        let kind = if verb == "show" {
            Kind::Json
        } else {
            Kind::Untouched
        };
        self.killed(seeded, kind, &command)
    }

    pub(crate) fn rebuild(&self, seeded: &mut Seeded) -> Outcome {
        let command = |place: &Place| {
            let mut command = place.iostrata("rebuild");
            command.arg(&self.log).arg("tree");
            command
        };
        self.killed(seeded, Kind::Untouched, &command)
    }

    fn killed(
        &self,
        seeded: &mut Seeded,
        kind: Kind,
        command: &dyn Fn(&Place) -> Command,
    ) -> Outcome {
        // What it takes undisturbed, now.
        let undisturbed = Place::new();
        kind.prepare(&undisturbed.dir().join("out"));
        let begun = Instant::now();
        let whole = Run::start(command(&undisturbed)).end()?;
        let took = begun.elapsed();
        holds(took < Duration::from_secs(10), Fault::Other, || {
            format!("it took {took:?}")
        })?;
        holds(whole.is_success(), Fault::Code, || whole.said.clone())?;

        let place = Place::new();
        let out = place.dir().join("out");
        kind.prepare(&out);
        let mut run = Run::start(command(&place));
        if run.goes_on_for(seeded.shorter_than(took.mul_f64(1.2))) {
            run.send(any_signal(seeded));
        }
        let ended = run.end()?;
        let end = ended.judge()?;
        check_kernel(&place)?;
        kind.check(&out, &undisturbed.dir().join("out"), &ended)?;
        self.check_left(&place, &ended, end)
    }

    /// Between the two steps that exchange a directory of tables SIGKILL leaves one of them under a
    /// hidden name, and at any step of `rebuild` its half.
    fn check_left(&self, place: &Place, ended: &Ended, end: &'static str) -> Outcome {
        let (out, tree) = (place.dir().join("out"), place.dir().join("tree"));
        let mut expected = vec![out];
        if ended.is_success() {
            expected.push(tree.clone());
        }
        let is_hidden = |path: &Path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            ended.was_killed() && (name.starts_with(".out.iostrata-") || path == tree)
        };
        let left = check_files(place, &expected, is_hidden)?;
        if left.is_empty() {
            return Ok(end);
        }
        if left.contains(&tree) {
            return Ok("killed; what was rebuilt is there");
        }
        let mut again = place.iostrata("report --csv out");
        again.arg(&self.large);
        if entries(&place.dir().join("out"))
            .iter()
            .any(|path| path.extension().is_some_and(|it| it == "parquet"))
        {
            again = place.iostrata("report --parquet out");
            again.arg(&self.large);
        }
        Run::start(again).end()?.judge()?;
        check_files(place, &expected, |_| false)?;
        Ok("killed; the next run removed a directory")
    }
}

/// What is written to `out`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Page,
    Text,
    Json,
    Tables(&'static str),
    /// Not at all.
    Untouched,
}

impl Kind {
    fn prepare(self, out: &Path) {
        if let Self::Tables(extension) = self {
            fs::create_dir(out).unwrap();
            fs::write(out.join(format!("results.{extension}")), OLD).unwrap();
        } else {
            fs::write(out, OLD).unwrap();
        }
    }

    fn check(self, out: &Path, whole: &Path, ended: &Ended) -> Result<(), Failure> {
        let is = ended.is_success();
        match self {
            Self::Page => check_text(out, is, |text| {
                String::from_utf8_lossy(text)
                    .trim_end()
                    .ends_with("</html>")
            }),
            Self::Json => check_text(out, is, is_json),
            Self::Text => check_text(out, is, |text| {
                fs::read(whole).unwrap().len() == text.len() && text.ends_with(b"\n")
            }),
            Self::Untouched => check_text(out, false, |_| false),
            Self::Tables(_) => check_tables(out, whole, is),
        }
    }
}

/// All of the old tables, or all of the new.
fn check_tables(out: &Path, whole: &Path, has_succeeded: bool) -> Result<(), Failure> {
    let tables = |directory: &Path| {
        let mut tables: Vec<(PathBuf, Vec<u8>)> = entries(directory)
            .into_iter()
            .map(|path| (path.file_name().unwrap().into(), fs::read(path).unwrap()))
            .collect();
        tables.sort();
        tables
    };
    let found = tables(out);
    let is_old = found.len() == 1 && found[0].1 == OLD.as_bytes();
    holds(!(is_old && has_succeeded), Fault::Code, || {
        "the old tables are still there".to_owned()
    })?;
    holds(is_old || found == tables(whole), Fault::Half, || {
        let names: Vec<_> = found
            .iter()
            .map(|(name, bytes)| (name, bytes.len()))
            .collect();
        format!("half of the tables: {names:?}")
    })
}
