//! A recording proxy between the program and a server. The server's own journal has requests only
//! in another provider's format and without images.

use agent_host_test_support::http::Received;
use std::{
    io::{self, BufReader, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// The tap. It ends with the test's process.
pub(super) struct Tap {
    /// The URL for the program.
    pub(super) address: SocketAddr,
    heard: Arc<Mutex<Vec<Received>>>,
}

impl Tap {
    /// Proxies to this server.
    pub(super) fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tap = Self {
            address: listener.local_addr().unwrap(),
            heard: Arc::default(),
        };
        let heard = tap.heard.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, heard) = (client.unwrap(), heard.clone());
                let server = TcpStream::connect(server).unwrap();
                let (answers, asker) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || pass_back(answers, asker));
                thread::spawn(move || pass_on(&client, server, &heard));
            }
        });
        tap
    }

    /// The requests so far, in order of arrival.
    pub(super) fn heard(&self) -> Vec<Received> {
        self.heard.lock().unwrap().clone()
    }
}

/// Passes requests on, and records them, until the program or the server hangs up.
fn pass_on(client: &TcpStream, mut server: TcpStream, heard: &Mutex<Vec<Received>>) {
    let mut reader = BufReader::new(client);
    while let Some(request) = Received::read(&mut reader) {
        heard.lock().unwrap().push(request.clone());
        let sent = server
            .write_all(request.head.as_bytes())
            .and_then(|()| server.write_all(&request.body));
        if sent.is_err() {
            break;
        }
    }
    // The other side may have closed it.
    let _ = server.shutdown(Shutdown::Both);
}

/// Passes answers back. If the server hangs up, so does the proxy.
fn pass_back(mut server: TcpStream, mut client: TcpStream) {
    let _ = io::copy(&mut server, &mut client);
    let _ = client.shutdown(Shutdown::Both);
}
