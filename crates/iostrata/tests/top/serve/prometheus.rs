//! A real Prometheus server scrapes it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{Server, ask, skips};
use crate::image::{Image, text};
use crate::wait::until;
use crate::watched::workload;

const APPENDS: u32 = 40;

/// Killed with the test.
struct Prometheus {
    child: Child,
    address: SocketAddr,
}

impl Prometheus {
    /// `None` where it is not installed.
    fn start(dir: &Path, target: SocketAddr) -> Option<Self> {
        let configuration = dir.join("prometheus.yml");
        let mut file = std::fs::File::create(&configuration).unwrap();
        write!(
            file,
            "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: iostrata\n    \
             static_configs:\n      - targets: ['{target}']\n"
        )
        .unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let mut prometheus = Command::new("prometheus");
        prometheus
            .arg(format!("--config.file={}", configuration.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                dir.join("data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = prometheus.spawn().ok()?;
        let prometheus = Self { child, address };
        until(|| std::net::TcpStream::connect(address));
        Some(prometheus)
    }

    fn query(&self, expression: &str) -> Value {
        let mut encoded = String::new();
        for byte in expression.bytes() {
            write!(encoded, "%{byte:02X}").unwrap();
        }
        let request = format!(
            "GET /api/v1/query?query={encoded} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        );
        let answer = ask(self.address, request.as_bytes());
        let from = answer.find("\r\n\r\n").unwrap();
        // It may come in chunks: the only line that begins a document.
        let body = answer[from..]
            .lines()
            .find(|line| line.starts_with('{'))
            .unwrap_or("{}");
        serde_json::from_str(body).unwrap_or(Value::Null)
    }

    /// Waits until the query has a result, its first value.
    fn until(&self, expression: &str, is_it: impl Fn(f64) -> bool) -> f64 {
        until(|| {
            let answer = self.query(expression);
            let first = answer["data"]["result"][0]["value"][1].as_str();
            let first = first.and_then(|text| text.parse().ok());
            first
                .filter(|value| is_it(*value))
                .ok_or((expression, answer))
        })
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
#[expect(clippy::float_cmp, reason = "counts are whole numbers")]
fn it_reads_what_was_counted() {
    if skips() {
        return;
    }
    let (dir, image) = (tempfile::tempdir().unwrap(), Image::new());
    let server = Server::start(&["--label-paths", "--top", "1000"]);
    let Some(prometheus) = Prometheus::start(dir.path(), server.address) else {
        crate::skip::skip("Prometheus is not installed; scripts/deps test installs it");
        return;
    };
    assert_eq!(
        prometheus.until("up{job=\"iostrata\"}", |up| up == 1.0),
        1.0
    );
    let mut append = Command::new(workload("append"));
    let file = text(&image.path("log"));
    append.args([&file, &APPENDS.to_string(), "100", "fsync"]);
    assert!(append.status().unwrap().success());
    let appended = f64::from(APPENDS);
    let syncs = format!("iostrata_file_calls_total{{file=\"{file}\",purpose=\"sync\"}}");
    assert_eq!(
        prometheus.until(&syncs, |count| count >= appended),
        appended
    );
    let bytes = format!("iostrata_file_call_bytes_total{{file=\"{file}\",purpose=\"write\"}}");
    assert_eq!(prometheus.until(&bytes, |_| true), appended * 100.0);
    let kind = prometheus.query("count({__name__=~\"iostrata_.*\"})");
    assert_eq!(kind["status"], "success");
    // The dashboard's queries are understood, with its variables put in.
    for expression in super::dashboard::expressions() {
        let expression = expression
            .replace("$__rate_interval", "5s")
            .replace("$instance", ".*")
            .replace("$disk", ".*");
        let answer = prometheus.query(&expression);
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
    }
}
