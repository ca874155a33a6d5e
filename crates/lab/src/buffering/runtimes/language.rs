//! The runtimes whose user-space buffers are looked for.

use std::ffi::OsString;
use std::path::Path;

/// A language runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::buffering) enum Language {
    C,
    Python,
    Ruby,
    Perl,
    Java,
    Go,
    Node,
}

/// One way of writing in a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Api {
    /// In the language's own words.
    pub(super) name: &'static str,
    /// The program's last argument.
    pub(super) argument: &'static str,
}

const fn api(name: &'static str, argument: &'static str) -> Api {
    Api { name, argument }
}

impl Language {
    /// All of them, in the order of the table.
    pub(in crate::buffering) const ALL: [Self; 7] = [
        Self::C,
        Self::Python,
        Self::Ruby,
        Self::Perl,
        Self::Java,
        Self::Go,
        Self::Node,
    ];

    /// Name in the table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::C => "C stdio",
            Self::Python => "Python",
            Self::Ruby => "Ruby",
            Self::Perl => "Perl",
            Self::Java => "Java",
            Self::Go => "Go",
            Self::Node => "Node",
        }
    }

    /// The program's file name and text.
    pub(super) fn source(self) -> (&'static str, &'static str) {
        match self {
            Self::C => ("buffers.c", include_str!("buffers.c")),
            Self::Python => ("buffers.py", include_str!("buffers.py")),
            Self::Ruby => ("buffers.rb", include_str!("buffers.rb")),
            Self::Perl => ("buffers.pl", include_str!("buffers.pl")),
            Self::Java => ("Buffers.java", include_str!("Buffers.java")),
            Self::Go => ("buffers.go", include_str!("buffers.go")),
            Self::Node => ("buffers.js", include_str!("buffers.js")),
        }
    }

    /// The ways of writing that are shown.
    pub(super) fn apis(self) -> &'static [Api] {
        match self {
            Self::C => const { &[api("fopen, fwrite", "")] },
            Self::Python => const { &[api("open(path, \"wb\").write", "")] },
            Self::Ruby => const { &[api("File.open(path, \"wb\").write", "")] },
            Self::Perl => const { &[api("open, print", "")] },
            Self::Java => {
                const {
                    &[
                        api("FileOutputStream", "plain"),
                        api("BufferedOutputStream", "buffered"),
                    ]
                }
            }
            Self::Go => {
                const {
                    &[
                        api("os.File.Write", "plain"),
                        api("bufio.Writer", "buffered"),
                    ]
                }
            }
            Self::Node => {
                const {
                    &[
                        api("fs.writeSync", "plain"),
                        api("fs.createWriteStream", "stream"),
                    ]
                }
            }
        }
    }

    /// Whether its programs take seconds: Go compiles its standard library, because
    /// nothing is left in the user's own cache; Java starts a compiler and a virtual
    /// machine for each program.
    pub(super) fn is_slow(self) -> bool {
        matches!(self, Self::Go | Self::Java)
    }

    /// The compiler's command line in `dir`, where the source is.
    pub(super) fn compile(self, dir: &Path) -> Option<Vec<OsString>> {
        let source = dir.join(self.source().0).into_os_string();
        let output = dir.join("buffers").into_os_string();
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        match self {
            Self::C => Some([words(&["cc", "-O2", "-o"]), vec![output, source]].concat()),
            Self::Java => {
                let classes = vec![dir.as_os_str().to_owned(), source];
                Some([words(&["javac", "-d"]), classes].concat())
            }
            Self::Go => Some([words(&["go", "build", "-o"]), vec![output, source]].concat()),
            Self::Python | Self::Ruby | Self::Perl | Self::Node => None,
        }
    }

    /// Variables for the compiler: nothing is written outside `dir`, nothing is downloaded.
    pub(super) fn compile_environment(self, dir: &Path) -> Vec<(OsString, OsString)> {
        // Go's programs work elsewhere. The name of the working directory may lead elsewhere by now.
        let here = format!("/proc/{}/cwd", std::process::id());
        let absolute = Path::new(&here).join(dir);
        let inside = |name: &str| absolute.join(name).into_os_string();
        let mut variables: Vec<(OsString, OsString)> = vec![("TMPDIR".into(), dir.into())];
        if self != Self::Go {
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

    /// How the program is started, up to its own arguments.
    pub(super) fn start(self, dir: &Path) -> Vec<OsString> {
        let script = |interpreter: &str| {
            vec![
                interpreter.into(),
                dir.join(self.source().0).into_os_string(),
            ]
        };
        match self {
            Self::C | Self::Go => vec![dir.join("buffers").into_os_string()],
            Self::Python => script("python3"),
            Self::Ruby => script("ruby"),
            Self::Perl => script("perl"),
            Self::Node => script("node"),
            Self::Java => {
                // The first compiler alone: the programs are too short for the second.
                let words = ["java", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-cp"]
                    .map(OsString::from);
                let rest = [dir.as_os_str().to_owned(), "Buffers".into()];
                words.into_iter().chain(rest).collect()
            }
        }
    }
}
