//! The language runtimes whose user-space buffers are measured.

use std::ffi::OsString;
use std::path::Path;

#[derive(Debug)]
pub(in crate::buffering) struct Language {
    pub(super) name: &'static str,
    /// The program's file name and text.
    pub(super) source: (&'static str, &'static str),
    /// The ways of writing, each in the language's own terms, and the program's last argument.
    pub(super) apis: &'static [(&'static str, &'static str)],
    program: Program,
}

/// How a source becomes a running program.
#[derive(Debug)]
enum Program {
    /// An interpreter reads it.
    Script(&'static str),
    /// A compiler, whose command begins with these words, builds an executable.
    Compiled(&'static [&'static str]),
    /// A compiler builds classes for a virtual machine.
    Java,
}

/// All of them, in the order of the table.
pub(in crate::buffering) const LANGUAGES: [Language; 7] = [
    Language {
        name: "C stdio",
        source: ("buffers.c", include_str!("buffers.c")),
        apis: &[("fopen, fwrite", "")],
        program: Program::Compiled(&["cc", "-O2", "-o"]),
    },
    Language {
        name: "Python",
        source: ("buffers.py", include_str!("buffers.py")),
        apis: &[("open(path, \"wb\").write", "")],
        program: Program::Script("python3"),
    },
    Language {
        name: "Ruby",
        source: ("buffers.rb", include_str!("buffers.rb")),
        apis: &[("File.open(path, \"wb\").write", "")],
        program: Program::Script("ruby"),
    },
    Language {
        name: "Perl",
        source: ("buffers.pl", include_str!("buffers.pl")),
        apis: &[("open, print", "")],
        program: Program::Script("perl"),
    },
    Language {
        name: "Java",
        source: ("Buffers.java", include_str!("Buffers.java")),
        apis: &[
            ("FileOutputStream", "plain"),
            ("BufferedOutputStream", "buffered"),
        ],
        program: Program::Java,
    },
    Language {
        name: "Go",
        source: ("buffers.go", include_str!("buffers.go")),
        apis: &[("os.File.Write", "plain"), ("bufio.Writer", "buffered")],
        program: Program::Compiled(&["go", "build", "-o"]),
    },
    Language {
        name: "Node",
        source: ("buffers.js", include_str!("buffers.js")),
        apis: &[
            ("fs.writeSync", "plain"),
            ("fs.createWriteStream", "stream"),
        ],
        program: Program::Script("node"),
    },
];

impl Language {
    /// Whether its programs take seconds: Go compiles its standard library, because its cache is
    /// not kept in the user's directory; Java starts a compiler and a virtual machine for each
    /// program.
    pub(super) fn is_slow(&self) -> bool {
        matches!(self.name, "Go" | "Java")
    }

    /// The compiler's command line in `dir`, which contains the source.
    pub(super) fn compile(&self, dir: &Path) -> Option<Vec<OsString>> {
        let (words, output): (&[&str], _) = match self.program {
            Program::Script(_) => return None,
            Program::Compiled(words) => (words, dir.join("buffers")),
            Program::Java => (&["javac", "-d"], dir.to_owned()),
        };
        let mut command: Vec<OsString> = words.iter().map(OsString::from).collect();
        command.extend([output.into(), dir.join(self.source.0).into()]);
        Some(command)
    }

    /// Variables for the compiler: it must write nothing outside `dir` and download nothing.
    pub(super) fn compile_environment(&self, dir: &Path) -> Vec<(OsString, OsString)> {
        // Go's programs run elsewhere. The path of the working directory may lead elsewhere by now.
        let here = format!("/proc/{}/cwd", std::process::id());
        let absolute = Path::new(&here).join(dir);
        let inside = |name: &str| absolute.join(name).into_os_string();
        let mut variables: Vec<(OsString, OsString)> = vec![("TMPDIR".into(), dir.into())];
        if self.name != "Go" {
            return variables;
        }
        variables.extend([
            ("GOCACHE".into(), inside("go-cache")),
            ("GOPATH".into(), inside("go-path")),
            ("GOTMPDIR".into(), absolute.as_os_str().to_owned()),
        ]);
        let fixed = [
            ("GOENV", "off"),
            ("GOFLAGS", "-mod=mod"),
            ("GOPROXY", "off"),
            ("GOTELEMETRY", "off"),
            ("GOTOOLCHAIN", "local"),
        ];
        variables.extend(fixed.map(|(name, value)| (name.into(), value.into())));
        variables
    }

    /// The command of the program, up to its own arguments.
    pub(super) fn start(&self, dir: &Path) -> Vec<OsString> {
        match self.program {
            Program::Script(interpreter) => {
                vec![interpreter.into(), dir.join(self.source.0).into()]
            }
            Program::Compiled(_) => vec![dir.join("buffers").into()],
            Program::Java => {
                // Only the first compiler stage: the programs are too short for the second.
                let words = ["java", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-cp"];
                let rest = [dir.as_os_str().to_owned(), "Buffers".into()];
                words.map(OsString::from).into_iter().chain(rest).collect()
            }
        }
    }
}
