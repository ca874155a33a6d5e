//! A headless Chromium, controlled by the `DevTools` protocol through a pair of pipes. The browser
//! ends when they close, so it does not outlive a test that fails or is killed.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// Maximum time for an answer, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Names of Chromium in distributions.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The browser, and its only page.
pub(crate) struct Chromium {
    child: Child,
    /// `None` once it is ending.
    to: Option<ChildStdin>,
    from: Receiver<Value>,
    last: u64,
    session: Option<String>,
    /// Events that arrived while waiting for an answer.
    events: VecDeque<Value>,
    /// Errors on the page: of scripts, of the policy, of the network.
    complaints: Vec<String>,
    // Removed after the browser has ended.
    _profile: tempfile::TempDir,
}

impl Chromium {
    /// Starts it; `None`, with the reason on standard error, if there is none.
    pub(crate) fn start() -> Option<Self> {
        let Some(program) = NAMES.into_iter().find(|name| is_installed(name)) else {
            eprintln!("not tested: no Chromium in PATH (scripts/deps test installs it)");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // The pipes of the protocol are descriptors 3 and 4.
        let mut child = Command::new("sh")
            .args([
                "-c",
                "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1",
                program,
            ])
            .args(flags(profile.path()))
            // Other files besides its profile go there too.
            .envs(
                ["HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"]
                    .map(|name| (name, profile.path())),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take();
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
        });
        let mut browser = Self {
            child,
            to,
            from,
            last: 0,
            session: None,
            events: VecDeque::new(),
            complaints: Vec::new(),
            _profile: profile,
        };
        browser.attach();
        Some(browser)
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = self.call("Target.attachToTarget", &attach);
        self.session = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Audits", "Network"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
    }

    /// Calls a method of the protocol and waits for its result.
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let to = self.to.as_mut().expect("the browser runs");
        to.write_all(format!("{message}\0").as_bytes()).unwrap();
        to.flush().unwrap();
        loop {
            let answer = self.receive();
            if answer["id"] == self.last {
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
        let message = self.from.recv_timeout(PATIENCE);
        let message = message.expect("the browser answers");
        if let Some(words) = complaint(&message) {
            self.complaints.push(words);
        }
        message
    }

    /// Errors since the last call.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        // Earlier events are reported before this is answered.
        self.call("Runtime.evaluate", &json!({"expression": "0"}));
        std::mem::take(&mut self.complaints)
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        drop(self.to.take());
        // It may hang; its helpers end with it.
        let _ended = self.child.kill();
        let _status = self.child.wait();
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
