//! Addresses of this machine that look public: those of its interfaces, which services may trust
//! like loopback.

#[cfg(test)]
mod tests;

use agent_host_engine::policy::embedded_v4;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// Addresses for documentation (RFC 5737, RFC 3849), which no machine has.
const NEVER_OWN_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const NEVER_OWN_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// Returns whether packets to the address are delivered to this machine (in a container: to the
/// container), also if it embeds an IPv4 address.
///
/// The kernel allows a socket to be bound to such addresses alone. Trying that needs no list of
/// interfaces, which hardened services may not read. Where `net.ipv4.ip_nonlocal_bind` lets any
/// address be bound, the answer is no.
pub(super) fn is_own(address: IpAddr) -> bool {
    let is_bindable = |address: IpAddr| UdpSocket::bind((address, 0)).is_ok();
    let is_local = |address: IpAddr| {
        let never_own = match address {
            IpAddr::V4(_) => NEVER_OWN_V4.into(),
            IpAddr::V6(_) => NEVER_OWN_V6.into(),
        };
        is_bindable(address) && !is_bindable(never_own)
    };
    let inner = match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(v6) => embedded_v4(v6),
    };
    is_local(address) || inner.is_some_and(|v4| is_local(v4.into()))
}
