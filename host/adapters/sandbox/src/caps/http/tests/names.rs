//! Names that are never resolved.

use super::{
    super::{
        HttpClient,
        names::{LOOKUPS_PER_TOOL, NameLookup, SystemLookup},
    },
    call::{Call, grant, request},
};
use pretty_assertions::assert_eq;
use std::{
    io,
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, channel},
    },
    time::Duration,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use wasmtime_wasi_http::RequestOptions;

/// The result for a name that resolves to this machine, the only one that a test may reach.
const ANSWERED: &str = "DestinationIpProhibited";

/// The result without an answer in time.
const NO_ANSWER: &str = "ConnectionTimeout";

/// A resolver that blocks lookups of `hangs.example` until a test releases them.
struct Resolver {
    begun: UnboundedSender<String>,
    /// Ends when the test drops the sender.
    held: Mutex<Receiver<()>>,
}

impl NameLookup for Resolver {
    fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.begun.send(name.to_owned()).map_err(io::Error::other)?;
        if name == "hangs.example" {
            let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = held.recv();
        }
        Ok(vec![Ipv4Addr::LOCALHOST.into()])
    }
}

/// Requests a name in one call, with this timeout.
async fn ask(client: &Arc<HttpClient>, name: &str, patience: Duration) -> String {
    let mut call = Call::to(vec![grant(None, "*", None)]).start_with(Arc::clone(client));
    let options = RequestOptions {
        connect_timeout: Some(patience),
        ..RequestOptions::default()
    };
    call.send_with(request("GET", &format!("http://{name}/")), Some(options))
        .await
}

/// Returns the names of the next lookups.
async fn begun(lookups: &mut UnboundedReceiver<String>, count: usize) -> Vec<String> {
    let mut names = Vec::new();
    for _ in 0..count {
        names.push(lookups.recv().await.unwrap());
    }
    names
}

#[tokio::test]
async fn hung_lookup_delays_only_its_own_tool() {
    const SOON: Duration = Duration::from_millis(20);
    /// Nothing takes this long.
    const LONG: Duration = Duration::from_secs(10);
    let (sender, mut lookups) = unbounded_channel();
    let (release, held) = channel();
    let tool = HttpClient::with_names(Arc::new(Resolver {
        begun: sender,
        held: Mutex::new(held),
    }));
    let tool = Arc::new(tool.unwrap());
    let other = tool.for_tool(None);

    for _ in 0..LOOKUPS_PER_TOOL {
        assert_eq!(ask(&tool, "hangs.example", SOON).await, NO_ANSWER);
    }
    assert_eq!(
        begun(&mut lookups, LOOKUPS_PER_TOOL).await,
        ["hangs.example"; LOOKUPS_PER_TOOL]
    );
    // Their requests have ended, and they still hold the tool's permits.
    for name in ["hangs.example", "answers.example"] {
        assert_eq!(ask(&tool, name, SOON).await, NO_ANSWER);
    }
    assert_eq!(ask(&other, "other.example", LONG).await, ANSWERED);
    assert_eq!(begun(&mut lookups, 1).await, ["other.example"]);

    drop(release);
    assert_eq!(ask(&tool, "answers.example", LONG).await, ANSWERED);
    assert_eq!(begun(&mut lookups, 1).await, ["answers.example"]);
}

#[test]
fn system_lookup_resolves_localhost() {
    let found = SystemLookup.addresses("localhost").unwrap();
    assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback));
    assert!(SystemLookup.addresses("").is_err());
}
