//! What is asked for, and the answer.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use httparse::{EMPTY_HEADER, Request, Status};
use iostrata_report::export::openmetrics::Format;

use super::Metrics;

/// Bytes of a request, from its method to the empty line.
pub(super) const LONGEST: usize = 8192;

const MOST_HEADERS: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    NotYet,
    Metrics {
        format: Format,
        /// Not for `HEAD`.
        with_body: bool,
    },
    Root,
    NotFound,
    /// By a name that this machine does not have for itself.
    Misdirected,
    /// Anything but `GET` and `HEAD`.
    Method,
    TooLong,
    Nonsense,
}

/// On a loopback address, where all who ask are on this machine, one who asks by a name is a page in a browser there,
/// whose name was made to lead here (DNS rebinding).
pub(super) fn parse(bytes: &[u8], on_loopback: bool) -> Asked {
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut request = Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(Status::Partial) if bytes.len() >= LONGEST => return Asked::TooLong,
        Ok(Status::Partial) => return Asked::NotYet,
        Ok(Status::Complete(length)) if length > LONGEST => return Asked::TooLong,
        Ok(Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Asked::TooLong,
        Err(_) => return Asked::Nonsense,
    }
    let with_body = match request.method {
        Some("GET") => true,
        Some("HEAD") => false,
        _ => return Asked::Method,
    };
    let (authority, path) = target(request.path.unwrap_or_default());
    let mut headers = request.headers.iter();
    let host = headers.find(|header| header.name.eq_ignore_ascii_case("host"));
    let host = host.map(|host| String::from_utf8_lossy(host.value).into_owned());
    // That of an absolute target counts (RFC 9112, 3.2.2).
    let host = authority.map(str::to_owned).or(host);
    if on_loopback && host.is_some_and(|host| !is_local(&host)) {
        return Asked::Misdirected;
    }
    match path.split('?').next() {
        Some("/metrics") => Asked::Metrics {
            format: accepted(request.headers),
            with_body,
        },
        Some("/") => Asked::Root,
        _ => Asked::NotFound,
    }
}

/// Authority and path of a target, which may be absolute (RFC 9112, 3.2).
fn target(target: &str) -> (Option<&str>, &str) {
    let scheme = target
        .get(..7)
        .filter(|scheme| scheme.eq_ignore_ascii_case("http://"));
    if scheme.is_none() {
        return (None, target);
    }
    let rest = &target[7..];
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(at);
    (Some(authority), if path.is_empty() { "/" } else { path })
}

/// A number, or the name that every machine has for itself, with or without a port.
fn is_local(host: &str) -> bool {
    let host = host.trim();
    let port = |text: &str| {
        text.is_empty()
            || text
                .strip_prefix(':')
                .is_some_and(|port| port.parse::<u16>().is_ok())
    };
    if let Some((address, rest)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address.parse::<Ipv6Addr>().is_ok() && port(rest);
    }
    let (name, rest) = host.split_at(host.find(':').unwrap_or(host.len()));
    port(rest) && (name.eq_ignore_ascii_case("localhost") || name.parse::<Ipv4Addr>().is_ok())
}

/// A reader that does not ask for `OpenMetrics` gets what every reader of metrics understands.
fn accepted(headers: &[httparse::Header<'_>]) -> Format {
    let accept = headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("accept"));
    let values = accept.map(|header| String::from_utf8_lossy(header.value));
    let wants = |value: &str| value.split(',').any(wants_open_metrics);
    if values.into_iter().any(|value| wants(&value)) {
        Format::OpenMetrics
    } else {
        Format::Text
    }
}

/// Whether a range of `Accept` names it, with a weight above 0 (RFC 9110, 12.4.2).
fn wants_open_metrics(range: &str) -> bool {
    let mut parts = range.split(';').map(str::trim);
    let is_named = parts
        .next()
        .is_some_and(|kind| kind.eq_ignore_ascii_case("application/openmetrics-text"));
    let weight = |part: &str| {
        let (name, value) = part.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("q")
            .then(|| value.trim().parse::<f32>().unwrap_or(0.0))
    };
    is_named && parts.find_map(weight).unwrap_or(1.0) > 0.0
}

/// An answer. Every connection ends with it.
#[derive(Debug)]
pub(super) struct Answer {
    head: String,
    /// The same for all who ask at one time.
    body: Arc<str>,
}

impl Answer {
    pub(super) fn to(asked: Asked, metrics: &mut Metrics) -> Self {
        let (status, text) = match asked {
            Asked::Metrics { format, with_body } => {
                return match metrics.text(format) {
                    Ok(text) => Self::new("200 OK", format.content_type(), text, with_body),
                    Err(_) => Self::plain("500 Internal Server Error", "no metrics\n"),
                };
            }
            Asked::Root => ("200 OK", "iostrata: the metrics are at /metrics\n"),
            Asked::NotFound => ("404 Not Found", "not found: the metrics are at /metrics\n"),
            Asked::Misdirected => (
                "421 Misdirected Request",
                "ask by address or as localhost: other names may lead here from elsewhere\n",
            ),
            Asked::Method => (
                "405 Method Not Allowed\r\nAllow: GET, HEAD",
                "only GET and HEAD\n",
            ),
            Asked::TooLong => (
                "431 Request Header Fields Too Large",
                "the request is too long\n",
            ),
            Asked::NotYet | Asked::Nonsense => ("400 Bad Request", "not an HTTP request\n"),
        };
        Self::plain(status, text)
    }

    fn plain(status: &str, text: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", text.into(), true)
    }

    fn new(status: &str, kind: &str, body: Arc<str>, with_body: bool) -> Self {
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
             X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let body = if with_body { body } else { "".into() };
        Self { head, body }
    }

    /// What is left of it after so many bytes, or a part of that.
    pub(super) fn from(&self, written: usize) -> &[u8] {
        let (head, body) = (self.head.as_bytes(), self.body.as_bytes());
        match head.get(written..) {
            Some(left) if !left.is_empty() => left,
            _ => body
                .get(written.saturating_sub(head.len())..)
                .unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8]) -> Asked {
        super::parse(bytes, true)
    }

    const METRICS: Asked = Asked::Metrics {
        format: Format::Text,
        with_body: true,
    };

    #[test]
    fn a_request_is_known_when_it_is_complete() {
        let request = b"GET /metrics?x=1 HTTP/1.1\r\nHost: 127.0.0.1:9464\r\n\r\n";
        for length in 0..request.len() {
            assert_eq!(parse(&request[..length]), Asked::NotYet, "{length}");
        }
        assert_eq!(parse(request), METRICS);
        assert_eq!(parse(b"GET /metrics HTTP/1.0\r\n\r\n"), METRICS);
    }

    #[test]
    fn the_format_is_that_which_is_accepted() {
        let request = b"GET /metrics HTTP/1.1\r\naccept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n\r\n";
        let Asked::Metrics { format, .. } = parse(request) else {
            panic!()
        };
        assert_eq!(format, Format::OpenMetrics);
    }

    #[test]
    fn a_format_with_no_weight_is_not_wanted() {
        let format = |accept: &str| {
            let request = format!("GET /metrics HTTP/1.1\r\nAccept: {accept}\r\n\r\n");
            match parse(request.as_bytes()) {
                Asked::Metrics { format, .. } => format,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(format("application/openmetrics-text;q=0"), Format::Text);
        assert_eq!(
            format("text/plain, application/openmetrics-text; Q=0.000"),
            Format::Text
        );
        assert_eq!(
            format("application/openmetrics-text;version=1.0.0;q=0.1"),
            Format::OpenMetrics
        );
        assert_eq!(format("text/application/openmetrics-text"), Format::Text);
    }

    #[test]
    fn on_this_machine_it_has_no_other_name() {
        let asked =
            |target: &str, host: &str| format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        for host in [
            "localhost",
            "LOCALHOST:9464",
            "127.0.0.1",
            "10.1.2.3:80",
            "[::1]:9464",
            "[::1]",
        ] {
            assert_eq!(parse(asked("/metrics", host).as_bytes()), METRICS, "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:9464",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "",
            "[evil]",
            "localhost:x",
        ] {
            assert_eq!(
                parse(asked("/metrics", host).as_bytes()),
                Asked::Misdirected,
                "{host}"
            );
            assert_eq!(
                super::parse(asked("/metrics", host).as_bytes(), false),
                METRICS,
                "{host}"
            );
        }
        assert_eq!(
            parse(asked("http://127.0.0.1:9464/metrics?x", "evil.example").as_bytes()),
            METRICS
        );
        assert_eq!(
            parse(asked("http://evil.example/metrics", "localhost").as_bytes()),
            Asked::Misdirected
        );
        assert_eq!(
            parse(asked("HTTP://localhost", "localhost").as_bytes()),
            Asked::Root
        );
    }

    #[test]
    fn an_answer_is_its_head_and_its_body() {
        let answer = Answer::plain("200 OK", "hello");
        let whole = (0..).map_while(|at| answer.from(at).first().copied());
        let whole = String::from_utf8(whole.collect()).unwrap();
        assert!(whole.starts_with("HTTP/1.1 200 OK\r\n"), "{whole}");
        assert!(whole.ends_with("\r\nContent-Length: 5\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\nhello"), "{whole}");
        let head = Answer::new("200 OK", "text/plain", "hello".into(), false);
        assert!(head.head.contains("Content-Length: 5") && head.from(head.head.len()).is_empty());
    }

    #[test]
    fn what_is_no_request_for_metrics_is_told_apart() {
        assert_eq!(parse(b"GET / HTTP/1.1\r\n\r\n"), Asked::Root);
        assert_eq!(parse(b"GET /../x HTTP/1.1\r\n\r\n"), Asked::NotFound);
        assert_eq!(parse(b"POST /metrics HTTP/1.1\r\n\r\n"), Asked::Method);
        assert_eq!(parse(b"\x16\x03\x01\x02\x00\x01"), Asked::Nonsense);
        let long = [b"GET /metrics HTTP/1.1\r\nX: ".as_slice(), &[b'x'; LONGEST]].concat();
        assert_eq!(parse(&long), Asked::TooLong);
        let many =
            "GET /metrics HTTP/1.1\r\n".to_owned() + &"X: y\r\n".repeat(MOST_HEADERS + 1) + "\r\n";
        assert_eq!(parse(many.as_bytes()), Asked::TooLong);
        let head = Asked::Metrics {
            format: Format::Text,
            with_body: false,
        };
        assert_eq!(parse(b"HEAD /metrics HTTP/1.1\r\n\r\n"), head);
    }
}
