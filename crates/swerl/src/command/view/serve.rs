//! Serving the page: HTTP/1.1, one page, for looking at a run while it goes on.
//!
//! The page is made anew when a file of the run folder has changed. Limits: 16 KiB and ten seconds a
//! request, [`MOST`] requests at once. Bound to a loopback address, only requests that name one are answered, so
//! that no web site can read the page through a name that it points here.

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result};
use swerl::report::{ReportOptions, write_report};

/// Longest request, in bytes.
const MAX_REQUEST: u64 = 16 << 10;
/// Longest wait for a client.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most requests at once.
const MOST: usize = 32;

/// Names, sizes and times of the files of a folder: changed when the run wrote something.
type Fingerprint = Vec<(PathBuf, u64, Option<SystemTime>)>;

struct Pages {
    folder: PathBuf,
    options: ReportOptions,
    quiet: bool,
    made: Mutex<Option<(Fingerprint, Arc<Vec<u8>>)>>,
}

/// Serves until the process ends.
pub(super) fn run(
    address: SocketAddr,
    folder: &Path,
    options: &ReportOptions,
    quiet: bool,
) -> Result<()> {
    let pages = Arc::new(Pages {
        folder: folder.to_path_buf(),
        options: options.clone(),
        quiet,
        made: Mutex::new(None),
    });
    pages.page()?;
    let listener = TcpListener::bind(address).with_context(|| {
        format!("cannot listen on {address}: give another, as --serve 127.0.0.1:0")
    })?;
    let address = listener.local_addr().context("cannot listen")?;
    println!("http://{address}/ shows {}; reload for news, Ctrl-C ends", folder.display());
    io::stdout().flush().context("cannot write standard output")?;
    let busy = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        // A client that left before it was taken is none.
        let Ok(stream) = stream else { continue };
        if busy.fetch_add(1, Ordering::SeqCst) >= MOST {
            busy.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        let (pages, busy) = (Arc::clone(&pages), Arc::clone(&busy));
        thread::spawn(move || {
            // A client that goes away mid-answer is its own affair.
            let _ = answer(&stream, &pages, address);
            busy.fetch_sub(1, Ordering::SeqCst);
        });
    }
    Ok(())
}

impl Pages {
    /// The page as the folder is now.
    fn page(&self) -> Result<Arc<Vec<u8>>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let now = fingerprint(&self.folder)?;
        if let Some((then, page)) = &*made
            && *then == now
        {
            return Ok(Arc::clone(page));
        }
        let mut page = Vec::new();
        let summary = write_report(&self.folder, &self.options, &mut page)?;
        super::say(&summary.notes, self.quiet);
        let page = Arc::new(page);
        *made = Some((now, Arc::clone(&page)));
        Ok(page)
    }
}

fn fingerprint(folder: &Path) -> Result<Fingerprint> {
    let failed = || format!("cannot read {}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let metadata = entry.metadata().with_context(failed)?;
        files.push((entry.path(), metadata.len(), metadata.modified().ok()));
    }
    files.sort();
    Ok(files)
}

fn answer(stream: &TcpStream, pages: &Pages, address: SocketAddr) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.take(MAX_REQUEST));
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut host = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("host")
        {
            host = Some(value.trim().to_owned());
        }
    }
    let mut parts = request.split_whitespace();
    let (method, path) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let text = "text/plain; charset=utf-8";
    let (status, kind, body) = if address.ip().is_loopback() && !host.is_some_and(|h| local(&h)) {
        ("403 Forbidden", text, Arc::new(b"only local names are answered\n".to_vec()))
    } else if !matches!(method, "GET" | "HEAD") {
        ("405 Method Not Allowed", text, Arc::new(b"GET only\n".to_vec()))
    } else if !matches!(path, "/" | "/report.html") {
        ("404 Not Found", text, Arc::new(b"the report is at /\n".to_vec()))
    } else {
        match pages.page() {
            Ok(page) => ("200 OK", "text/html; charset=utf-8", page),
            Err(error) => {
                let body = Arc::new(format!("error: {error:#}\n").into_bytes());
                ("500 Internal Server Error", text, body)
            }
        }
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    if method != "HEAD" {
        stream.write_all(&body)?;
    }
    stream.flush()
}

/// Whether a `Host` header names this machine.
fn local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name, "localhost" | "[::1]")
        || name.starts_with("127.") && name.parse::<std::net::Ipv4Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_names() {
        for (host, expected) in [
            ("localhost:8473", true),
            ("127.0.0.1:1", true),
            ("127.0.0.1", true),
            ("[::1]:80", true),
            ("evil.example:8473", false),
            ("127.0.0.1.evil.example", false),
            ("", false),
        ] {
            assert_eq!(local(host), expected, "{host}");
        }
    }
}
