//! A headless Chromium, controlled by the `DevTools` protocol through a pair of pipes. The browser
//! ends when they close, so it does not outlive a test that fails or is killed. Starting it takes
//! longer than most tests: a browser that is not in use is used again, with a new page.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// Maximum time for an answer, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Names of Chromium in distributions.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Browsers that no test uses.
static IDLE: Mutex<Vec<Process>> = Mutex::new(Vec::new());

/// The program, and the pipes to it.
struct Process {
    to: ChildStdin,
    from: Receiver<Value>,
    last: u64,
}

/// A page of its own in a browser.
pub(crate) struct Chromium {
    /// `None` when it was given back.
    process: Option<Process>,
    target: Value,
    session: Option<String>,
    /// Events that arrived while waiting for an answer.
    events: VecDeque<Value>,
    /// Errors on the page: of scripts, of the policy, of the network.
    complaints: Vec<String>,
}

impl Process {
    /// Starts it; `None`, with the reason on standard error, if there is none.
    fn start() -> Option<Self> {
        let Some(program) = NAMES.into_iter().find(|name| is_installed(name)) else {
            eprintln!("not tested: no Chromium in PATH (scripts/deps test installs it)");
            return None;
        };
        // The shell removes it when the browser has ended, which may be after this program.
        let profile = tempfile::tempdir().unwrap().keep();
        // The pipes of the protocol are descriptors 3 and 4.
        let mut child = Command::new("sh")
            .args([
                "-c",
                "\"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1; rm -rf \"$HOME\"",
                program,
            ])
            .args(flags(&profile))
            // Other files besides its profile go there too.
            .envs(
                ["HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"]
                    .map(|name| (name, &profile)),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while answers
                .read_until(0, &mut message)
                .is_ok_and(|read| read > 0)
            {
                message.pop();
                let parsed = serde_json::from_slice(&message);
                message.clear();
                if parsed.is_ok_and(|value| sender.send(value).is_err()) {
                    break;
                }
            }
            drop(child.wait());
        });
        Some(Self { to, from, last: 0 })
    }
}

impl Chromium {
    /// A new page; `None`, with the reason on standard error, if there is no browser.
    pub(crate) fn start() -> Option<Self> {
        let idle = IDLE.lock().unwrap().pop();
        let mut browser = Self {
            process: Some(idle.or_else(Process::start)?),
            target: Value::Null,
            session: None,
            events: VecDeque::new(),
            complaints: Vec::new(),
        };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        browser.target = target["targetId"].clone();
        let attach = json!({"targetId": browser.target, "flatten": true});
        let session = browser.call("Target.attachToTarget", &attach);
        browser.session = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Audits", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    fn process(&mut self) -> &mut Process {
        self.process.as_mut().expect("it is given back last")
    }

    /// Calls a method of the protocol and waits for its result.
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        let session = self.session.clone();
        let process = self.process();
        process.last += 1;
        let last = process.last;
        let mut message = json!({"id": last, "method": method, "params": parameters});
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let message = format!("{message}\0");
        process.to.write_all(message.as_bytes()).unwrap();
        process.to.flush().unwrap();
        loop {
            let answer = self.receive();
            if answer["id"] == last {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push_back(answer);
        }
    }

    /// Waits for an event.
    pub(crate) fn wait_for(&mut self, event: &str) {
        let arrived = |message: &Value| message["method"] == event;
        if let Some(position) = self.events.iter().position(arrived) {
            self.events.drain(..=position);
            return;
        }
        while !arrived(&self.receive()) {}
    }

    /// Forgets earlier events.
    pub(crate) fn forget_events(&mut self) {
        self.events.clear();
    }

    fn receive(&mut self) -> Value {
        loop {
            let message = self.process().from.recv_timeout(PATIENCE);
            let message = message.expect("the browser answers");
            // The page before may have had more to say.
            if message["sessionId"].as_str() != self.session.as_deref() {
                continue;
            }
            if let Some(words) = complaint(&message) {
                self.complaints.push(words);
            }
            return message;
        }
    }

    /// Errors since the last call.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        // Earlier events are reported before this is answered.
        self.call("Runtime.evaluate", &json!({"expression": "0"}));
        std::mem::take(&mut self.complaints)
    }
}

impl Drop for Chromium {
    /// A test that failed does not say in which state it leaves the browser, which ends then.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.session = None;
        let page = json!({"targetId": self.target});
        self.call("Target.closeTarget", &page);
        IDLE.lock().unwrap().extend(self.process.take());
    }
}

fn is_installed(name: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|directory| directory.join(name).is_file())
}

/// No network access, and no sandbox: root has none, and the pages are ours.
fn flags(profile: &Path) -> Vec<String> {
    let mut flags: Vec<String> = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
        "--remote-debugging-pipe",
    ]
    .map(str::to_owned)
    .to_vec();
    flags.push(format!("--user-data-dir={}", profile.display()));
    flags
}

/// The text of an error event.
fn complaint(message: &Value) -> Option<String> {
    let parameters = &message["params"];
    match message["method"].as_str()? {
        "Runtime.exceptionThrown" => Some(parameters["exceptionDetails"].to_string()),
        "Runtime.consoleAPICalled" => {
            let kind = parameters["type"].as_str()?;
            matches!(kind, "error" | "warning" | "assert").then(|| parameters["args"].to_string())
        }
        "Log.entryAdded" => {
            let entry = &parameters["entry"];
            let level = entry["level"].as_str()?;
            matches!(level, "error" | "warning").then(|| entry["text"].to_string())
        }
        "Audits.issueAdded" => {
            let code = parameters["issue"]["code"].as_str()?;
            (code == "ContentSecurityPolicyIssue").then(|| parameters["issue"].to_string())
        }
        // The page itself is a file; any other request is external.
        "Network.requestWillBeSent" => {
            let url = parameters["request"]["url"].as_str()?;
            let own = url.starts_with("file:") || url.starts_with("about:");
            (!own && !url.starts_with("data:")).then(|| format!("a request to {url}"))
        }
        _ => None,
    }
}
