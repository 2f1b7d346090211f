//! A server over HTTP on a port of this machine, with the answers of [`super::toy`] or a script's.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use super::toy::answer;

/// What the script says to a request.
pub(super) enum Reply {
    /// As the toy does.
    Toy,
    /// As the toy does, but for this change of the answer.
    Changed(fn(&mut Value)),
    /// A status and a text.
    Status(u16, &'static str),
    /// Success with this text.
    Text(&'static str),
    /// The connection is closed within the answer.
    Cut,
    /// The connection is closed without an answer.
    Drop,
    /// Nothing, until the client goes away.
    Hang,
    /// The toy's answer, a few bytes at a time with this pause between them.
    Slow(Duration),
}

type Script = dyn Fn(&str, &Value, usize) -> Reply + Send + Sync;

/// The server's state that tests look at.
#[derive(Default)]
pub(super) struct State {
    /// Route and body of every request, in the order of arrival.
    pub(super) seen: Vec<(String, Value)>,
    /// Which weights are loaded.
    pub(super) shift: u64,
    /// Their name.
    pub(super) version: String,
    /// Whether generation is paused.
    pub(super) paused: bool,
    /// Connections accepted.
    pub(super) connections: usize,
}

/// Which flags the server runs with.
#[derive(Clone, Copy)]
pub(super) struct Flags {
    pub(super) generate: bool,
    pub(super) admin: bool,
    pub(super) processed: bool,
    pub(super) max_model_len: u64,
    /// The vocabulary is another one.
    pub(super) other_tokenizer: bool,
    /// Loading weights is answered with success and does nothing.
    pub(super) forgets_weights: bool,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            generate: true,
            admin: true,
            processed: false,
            max_model_len: 512,
            other_tokenizer: false,
            forgets_weights: false,
        }
    }
}

pub(super) struct Server {
    pub(super) url: String,
    pub(super) state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
    address: std::net::SocketAddr,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    pub(super) fn start(flags: Flags) -> Self {
        Self::scripted(flags, |_, _, _| Reply::Toy)
    }

    /// `script` gets the route, the body, and how many requests to that route came before.
    pub(super) fn scripted(
        flags: Flags,
        script: impl Fn(&str, &Value, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::at("127.0.0.1:0", flags, script)
    }

    /// The same on an address, say that of a server which was stopped.
    pub(super) fn at(
        address: &str,
        flags: Flags,
        script: impl Fn(&str, &Value, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).expect("a port");
        let address = listener.local_addr().expect("an address");
        let state =
            Arc::new(Mutex::new(State { version: "default".to_owned(), ..State::default() }));
        let stop = Arc::new(AtomicBool::new(false));
        let script: Arc<Script> = Arc::new(script);
        let (shared, stopped) = (Arc::clone(&state), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut clients = Vec::new();
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                shared.lock().expect("no panic").connections += 1;
                let (state, script) = (Arc::clone(&shared), Arc::clone(&script));
                let stop = Arc::clone(&stopped);
                clients.push(std::thread::spawn(move || {
                    serve(&stream, flags, &state, &*script, &stop);
                }));
            }
            for client in clients {
                client.join().expect("no client thread panics");
            }
        });
        let url = format!("http://{address}");
        Self { url, state, stop, address, thread: Some(thread) }
    }

    pub(super) fn port(&self) -> String {
        self.address.to_string()
    }

    /// Bodies of the requests to a route.
    pub(super) fn bodies(&self, route: &str) -> Vec<Value> {
        let state = self.state.lock().expect("no panic");
        let to_route = state.seen.iter().filter(|(seen, _)| seen == route);
        to_route.map(|(_, body)| body.clone()).collect()
    }

    pub(super) fn routes(&self) -> Vec<String> {
        self.state.lock().expect("no panic").seen.iter().map(|(route, _)| route.clone()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address); // Wakes the listener.
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server does not panic");
        }
    }
}

/// Serves one connection, request after request.
fn serve(
    stream: &TcpStream,
    flags: Flags,
    state: &Mutex<State>,
    script: &Script,
    stop: &AtomicBool,
) {
    stream.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    let mut reader = BufReader::new(stream);
    while let Some((route, body)) = read_request(&mut reader, stop) {
        let reply = {
            let mut state = state.lock().expect("no panic");
            let before = state.seen.iter().filter(|(seen, _)| *seen == route).count();
            state.seen.push((route.clone(), body.clone()));
            drop(state);
            script(&route, &body, before)
        };
        let toy = || answer(&route, &body, flags, &mut state.lock().expect("no panic"));
        let mut writer = stream;
        let sent = match reply {
            Reply::Toy => respond(writer, &toy()),
            Reply::Changed(change) => {
                let (code, mut value) = toy();
                change(&mut value);
                respond(writer, &(code, value))
            }
            Reply::Status(code, text) => send(writer, code, text.as_bytes()),
            Reply::Text(text) => send(writer, 200, text.as_bytes()),
            Reply::Cut => {
                let head = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"choices\": [{\"tok";
                let _ = writer.write_all(head.as_bytes());
                return;
            }
            Reply::Drop => return,
            Reply::Hang => {
                // The client's end of the connection is the end of this wait.
                while !stop.load(Ordering::SeqCst) {
                    match reader.fill_buf() {
                        Ok([]) => return,
                        Ok(_) => reader.consume(1),
                        Err(error) if is_timeout(&error) => {}
                        Err(_) => return,
                    }
                }
                return;
            }
            Reply::Slow(pause) => {
                let text = toy().1.to_string();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", text.len());
                let mut sent = writer.write_all(head.as_bytes());
                for part in text.as_bytes().chunks(4) {
                    if sent.is_err() || stop.load(Ordering::SeqCst) {
                        return;
                    }
                    std::thread::sleep(pause);
                    sent = writer.write_all(part);
                }
                sent
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

/// Reads until the buffer has what is asked for, or the client or the server ends.
fn read_request(reader: &mut BufReader<&TcpStream>, stop: &AtomicBool) -> Option<(String, Value)> {
    let line = |reader: &mut BufReader<&TcpStream>| {
        let mut bytes = Vec::new();
        loop {
            let mut byte = [0];
            match reader.read(&mut byte) {
                Ok(0) => return None,
                Ok(_) if byte[0] == b'\n' => {
                    return Some(String::from_utf8_lossy(&bytes).trim_end().to_owned());
                }
                Ok(_) => bytes.push(byte[0]),
                Err(error) if is_timeout(&error) && !stop.load(Ordering::SeqCst) => {}
                Err(_) => return None,
            }
        }
    };
    let first = line(reader)?;
    let route = first.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let header = line(reader)?;
        let Some((name, value)) = header.split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |n| n.parse().expect("a length"));
    let mut body = Vec::new();
    while body.len() < length {
        let mut byte = [0];
        match reader.read(&mut byte) {
            Ok(0) => return None,
            Ok(_) => body.push(byte[0]),
            Err(error) if is_timeout(&error) && !stop.load(Ordering::SeqCst) => {}
            Err(_) => return None,
        }
    }
    let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).ok()? };
    Some((route, body))
}

fn respond(stream: &TcpStream, (code, body): &(u16, Value)) -> std::io::Result<()> {
    send(stream, *code, body.to_string().as_bytes())
}

fn send(mut stream: &TcpStream, code: u16, body: &[u8]) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 {code} X\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}
