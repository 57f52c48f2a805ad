//! Names that no one answers for.

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

/// What a guest is told of a name that leads to this machine, which is the only one that a test may reach.
const ANSWERED: &str = "DestinationIpProhibited";

/// What it is told when there is no answer in time.
const NO_ANSWER: &str = "ConnectionTimeout";

/// A resolver that keeps lookups of `hangs.example` until a test lets them go.
struct Resolver {
    begun: UnboundedSender<String>,
    /// Ends when the test drops the other side.
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

/// One call's request to a name, which gives up after this time.
async fn ask(client: &Arc<HttpClient>, name: &str, patience: Duration) -> String {
    let mut call = Call::to(vec![grant(None, "*", None)]).start_with(Arc::clone(client));
    let options = RequestOptions {
        connect_timeout: Some(patience),
        ..RequestOptions::default()
    };
    call.send_with(request("GET", &format!("http://{name}/")), Some(options))
        .await
}

/// The names of the next lookups that begin.
async fn begun(lookups: &mut UnboundedReceiver<String>, count: usize) -> Vec<String> {
    let mut names = Vec::new();
    for _ in 0..count {
        names.push(lookups.recv().await.unwrap());
    }
    names
}

#[tokio::test]
async fn lookups_that_hang_keep_their_own_tool_waiting_and_no_other() {
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
    // Nobody waits for them any more, and they still have the tool's places.
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
fn the_system_knows_this_machine() {
    let found = SystemLookup.addresses("localhost").unwrap();
    assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback));
    assert!(SystemLookup.addresses("").is_err());
}
