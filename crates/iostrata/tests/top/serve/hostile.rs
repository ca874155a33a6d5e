//! A client that can connect can do nothing else.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::{Server, skips, value};
use crate::wait::until;

#[test]
fn what_is_no_scrape_is_refused() {
    if skips() {
        return;
    }
    let server = Server::start(&[]);
    let status = |request: &[u8]| {
        let answer = server.ask(request);
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "BREW"] {
        let request = format!("{method} /metrics HTTP/1.1\r\n\r\n");
        assert_eq!(status(request.as_bytes()), "405", "{method}");
    }
    let with_body = b"POST /metrics HTTP/1.1\r\nContent-Length: 9\r\n\r\nlet me in";
    assert_eq!(status(with_body), "405");
    // More than the socket holds: who sends all of it before reading gets the answer too.
    let large = b"POST /metrics HTTP/1.1\r\nContent-Length: 8388608\r\n\r\n".to_vec();
    assert_eq!(status(&[large, vec![b'x'; 8 << 20]].concat()), "405");
    assert_eq!(status(b"GET /etc/passwd HTTP/1.1\r\n\r\n"), "404");
    let of_another = b"GET /metrics HTTP/1.1\r\nHost: rebound.example\r\n\r\n";
    assert_eq!(status(of_another), "421");
    assert_eq!(status(b"GET /../../etc/passwd HTTP/1.1\r\n\r\n"), "404");
    assert_eq!(status(b"\x00\xff\x16\x03\x01\r\n\r\n"), "400");
    let long = ["GET /", &"x".repeat(8192), " HTTP/1.1\r\n\r\n"].concat();
    assert_eq!(status(long.as_bytes()), "431");
    let head = server.ask(b"HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(
        head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    server.scrape();
}

/// A request of a gigabyte is not read to its end.
#[test]
fn an_endless_request_is_cut_off() {
    if skips() {
        return;
    }
    let server = Server::start(&[]);
    let mut stream = TcpStream::connect(server.address).unwrap();
    let piece = vec![b'x'; 1 << 16];
    stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ").unwrap();
    let sent = (0..1 << 14)
        .take_while(|_| stream.write_all(&piece).is_ok())
        .count();
    assert!(sent < 1 << 14, "all of it was read");
    server.scrape();
}

/// More than there is room for, that say nothing, say half of a request, or do not read the answer.
#[test]
fn hundreds_of_connections_that_do_nothing_do_not_keep_others_out() {
    if skips() {
        return;
    }
    let server = Server::start(&[]);
    let connections = (0..400).map(|number| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let said: &[u8] = match number % 3 {
            0 => b"",
            1 => b"GET /metr",
            _ => b"GET /metrics HTTP/1.1\r\n\r\n",
        };
        stream.write_all(said).unwrap();
        stream
    });
    let mut connections: Vec<_> = connections.collect();
    for _ in 0..10 {
        server.scrape();
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak <= 96 << 10, "{peak} kB");
    // The oldest were closed, without an answer.
    let mut rest = Vec::new();
    drop(connections[0].read_to_end(&mut rest));
    assert_eq!(rest, b"");
}

/// Capabilities that its threads have, and whether the programs that they execute may gain some.
fn privileges(server: &Server) -> BTreeSet<String> {
    let threads = std::fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap();
    // One that has ended in between has none.
    let each = threads.flatten().flat_map(|thread| {
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let lines = status.lines().filter(|line| {
            let (name, _) = line.split_once(':').unwrap();
            ["CapInh", "CapPrm", "CapEff", "CapAmb", "NoNewPrivs"].contains(&name)
        });
        lines.map(str::to_owned).collect::<Vec<_>>()
    });
    each.collect()
}

/// Who gets into it by what a client sends is root without capabilities, and it goes on counting.
#[test]
fn privileges_that_it_no_longer_needs_are_given_up() {
    const NOBODY: u32 = 65_534;
    const NONE: &str = "0000000000000000";
    if skips() {
        return;
    }
    let expected = |kept: &str| {
        let of = |name: &str, value: &str| format!("{name}:\t{value}");
        let none = ["CapInh", "CapPrm", "CapEff", "CapAmb"].map(|name| of(name, NONE));
        let kept = ["CapPrm", "CapEff"].map(|name| of(name, kept));
        let all = none.into_iter().chain(kept).chain([of("NoNewPrivs", "1")]);
        all.collect::<BTreeSet<_>>()
    };
    let only = |server: &Server, kept: &str| {
        // A thread that helped to start may still be on its way out.
        until(|| match privileges(server) {
            found if found == expected(kept) => Ok(()),
            found => Err(found),
        });
    };
    let server = Server::start(&[]);
    only(&server, NONE);
    let calls = |metrics: &str| value(metrics, "iostrata_calls_total");
    let before = calls(&server.settled());
    server.until(|metrics| calls(metrics) > before);

    // Where the kernel side is not permitted, what others do is in files that are not for all.
    let mut program = Command::new("setpriv");
    program.args(["--bounding-set", "-bpf,-perfmon,-sys_admin"]);
    program.arg(env!("CARGO_BIN_EXE_iostrata"));
    let server = Server::of(program, &[]);
    // CAP_DAC_READ_SEARCH, 2, and CAP_SYS_PTRACE, 19.
    only(&server, "0000000000080004");
    let mut writer = Command::new("sh");
    writer.args(["-c", "while :; do echo; done"]);
    writer.stdout(Stdio::null()).uid(NOBODY).gid(NOBODY);
    let mut writer = writer.spawn().unwrap();
    let calls = "iostrata_process_io_syscw_total{process=\"sh\"}";
    server.until(|metrics| value(metrics, calls) > 0.0);
    writer.kill().unwrap();
    writer.wait().unwrap();
}

#[test]
fn ctrl_c_and_sigterm_are_how_it_ends() {
    if skips() {
        return;
    }
    for signal in [Signal::INT, Signal::TERM] {
        let server = Server::start(&[]);
        server.scrape();
        assert_eq!(server.end(signal), (Some(0), String::new()));
    }
}

#[track_caller]
fn refused(options: &[&str], code: i32, words: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iostrata"));
    let output = command.arg("serve").args(options).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(words), "{said}");
}

#[test]
fn what_cannot_be_served_is_said_before_anything_is_observed() {
    refused(
        &["--listen", "localhost"],
        2,
        "give an IP address with a port",
    );
    refused(&["--top", "0"], 2, "--top");
    refused(&["--top", "1001"], 2, "--top");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    refused(
        &["--listen", &address],
        3,
        "choose another address with --listen",
    );
}
