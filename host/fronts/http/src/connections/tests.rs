use super::{ActiveRequest, ConnectionEntry, Connections, MIN_WAIT, NewConnection};
use pretty_assertions::assert_eq;
use std::{net::IpAddr, sync::Arc, time::Duration};
use tokio::time::Instant;

const LOOPBACK: &str = "127.0.0.1";

/// A table with a clock, and the connections in the order in which they came; absent once they gave
/// way.
struct Bench {
    connections: Arc<Connections>,
    open: Vec<Option<Arc<ConnectionEntry>>>,
    now: Instant,
}

impl Bench {
    fn new(most: usize) -> Self {
        Self {
            connections: Connections::new(most),
            open: Vec::new(),
            // The table itself notes times that are later than all of a test.
            now: Instant::now().checked_sub(Duration::from_secs(2)).unwrap(),
        }
    }

    fn later(&mut self, by: Duration) {
        self.now += by;
    }

    fn ask(&self, address: &str) -> NewConnection {
        let address: IpAddr = address.parse().unwrap();
        self.connections.admit(address, self.now)
    }

    /// Opens a connection, and closes the one that is asked to give way for it.
    fn open(&mut self, address: &str) {
        let mut answer = self.ask(address);
        if let NewConnection::Full(None) = answer {
            let leaving = self.connections.lock().leaving;
            for place in &mut self.open {
                drop(place.take_if(|open| Some(open.id) == leaving));
            }
            answer = self.ask(address);
        }
        let connection = match answer {
            NewConnection::Admitted(connection) => connection,
            NewConnection::Refused => panic!("{address} is refused"),
            NewConnection::Full(_) => panic!("the table is full for {address}"),
        };
        let waits_since = Some(self.now);
        self.connections.set_waiting(connection.id, waits_since);
        self.open.push(Some(connection));
    }

    /// Runs a request on a connection.
    fn run(&self, index: usize) -> Arc<ActiveRequest> {
        let active = self.open[index].as_ref().unwrap().request();
        active.complete();
        active
    }

    /// The connections that gave way.
    fn closed(&self) -> Vec<usize> {
        let places = self.open.iter().enumerate();
        let closed = places.filter(|(_, open)| open.is_none());
        closed.map(|(index, _)| index).collect()
    }
}

#[test]
fn full_table_closes_the_connection_that_waits_longest() {
    let mut bench = Bench::new(3);
    for _ in 0..3 {
        bench.open(LOOPBACK);
        bench.later(MIN_WAIT);
    }
    // A request runs on the oldest one.
    let active = bench.run(0);
    bench.open(LOOPBACK);
    assert_eq!(bench.closed(), [1]);
    // From its end on it waits, behind the others.
    drop(active);
    bench.later(MIN_WAIT);
    bench.open(LOOPBACK);
    bench.later(MIN_WAIT);
    bench.open(LOOPBACK);
    assert_eq!(bench.closed(), [1, 2, 3]);
}

#[test]
fn new_connection_has_time_for_its_request() {
    let mut bench = Bench::new(1);
    bench.open(LOOPBACK);
    let until = bench.now + MIN_WAIT;
    assert!(matches!(bench.ask(LOOPBACK), NewConnection::Full(Some(at)) if at == until));
    bench.later(MIN_WAIT);
    bench.open(LOOPBACK);
    assert_eq!(bench.closed(), [0]);
}

#[test]
fn request_at_the_last_moment_keeps_its_connection() {
    let mut bench = Bench::new(2);
    bench.open(LOOPBACK);
    bench.open(LOOPBACK);
    bench.later(MIN_WAIT);
    assert!(matches!(bench.ask(LOOPBACK), NewConnection::Full(None)));
    // One at a time is asked to leave.
    assert!(matches!(bench.ask(LOOPBACK), NewConnection::Full(None)));
    let _active = bench.run(0);
    bench.open(LOOPBACK);
    assert_eq!(bench.closed(), [1]);
}

#[test]
fn running_requests_are_never_closed_for_others() {
    let mut bench = Bench::new(2);
    bench.open(LOOPBACK);
    bench.open(LOOPBACK);
    let _active = [bench.run(0), bench.run(1)];
    bench.later(Duration::from_secs(1));
    assert!(matches!(bench.ask(LOOPBACK), NewConnection::Full(None)));
    bench.connections.evict_oldest();
    assert_eq!(bench.connections.lock().leaving, None);
}

/// Half of all are for one address, and a machine has a /64 network of IPv6.
#[test]
fn address_with_its_share_gives_up_its_own_connections() {
    let table = [
        ("192.0.2.1", "192.0.2.1", "192.0.2.2"),
        ("2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"),
        ("::ffff:192.0.2.1", "192.0.2.1", "::ffff:192.0.2.2"),
    ];
    for (first, same, other) in table {
        let mut bench = Bench::new(4);
        bench.open(other);
        bench.open(first);
        bench.open(same);
        assert!(matches!(bench.ask(same), NewConnection::Refused), "{first}");
        bench.later(MIN_WAIT);
        bench.open(same);
        assert_eq!(bench.closed(), [1], "{first}");
        // Requests run on all that it may have.
        let _active = [bench.run(2), bench.run(3)];
        bench.later(MIN_WAIT);
        assert!(matches!(bench.ask(same), NewConnection::Refused), "{first}");
        bench.open(other);
        assert_eq!(bench.closed(), [1], "{first}");
    }
}

#[test]
fn loopback_address_may_have_all_connections() {
    let mut bench = Bench::new(4);
    for address in [LOOPBACK, "::1", "::ffff:127.0.0.1", LOOPBACK] {
        bench.open(address);
    }
    assert_eq!(bench.connections.lock().peers.len(), 0);
}
