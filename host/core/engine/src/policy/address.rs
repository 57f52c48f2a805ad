//! The classes of IP addresses. Every class but public (this machine, its networks, cloud metadata,
//! also as IPv4 addresses embedded in IPv6) needs a grant of the address itself.

use agent_host_types::words;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

words! {
    /// The purpose of an address, by the IANA special-purpose registries
    /// ([IPv4](https://www.iana.org/assignments/iana-ipv4-special-registry),
    /// [IPv6](https://www.iana.org/assignments/iana-ipv6-special-registry)).
    pub enum AddressClass {
        /// A host on the public internet.
        Public,
        /// This machine (127.0.0.0/8, `::1`), or no machine (0.0.0.0/8, `::`).
        Loopback,
        /// A private network (RFC 1918, RFC 4193, deprecated site-local).
        Private,
        /// The local link (169.254.0.0/16 with the cloud metadata address, `fe80::/10`).
        LinkLocal,
        /// The host of a virtual machine (168.63.129.16 of Azure), which serves its configuration and
        /// extensions. It looks public.
        Platform,
        /// The shared space of carrier-grade NAT (RFC 6598).
        CarrierNat,
        /// Multicast and broadcast (224.0.0.0/4, `ff00::/8`, 255.255.255.255).
        Multicast,
        /// Reserved, for documentation or for benchmarks.
        Reserved,
    }
}

/// Classifies an address by its number alone; this machine may have public addresses. IPv6 forms
/// that embed an IPv4 address (mapped, compatible, NAT64, 6to4) have its class.
#[must_use]
pub fn classify(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(v4) => classify_v4(v4),
        IpAddr::V6(v6) => classify_v6(v6),
    }
}

fn classify_v4(address: Ipv4Addr) -> AddressClass {
    const AZURE_PLATFORM: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (0 | 127, ..) => AddressClass::Loopback,
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => AddressClass::Private,
        (169, 254, _) => AddressClass::LinkLocal,
        (100, 64..=127, _) => AddressClass::CarrierNat,
        (224..=239, ..) => AddressClass::Multicast,
        _ if address == AZURE_PLATFORM => AddressClass::Platform,
        _ if address.is_broadcast() => AddressClass::Multicast,
        (240..=255, ..)
        | (192, 0, 0 | 2)
        | (198, 18..=19, _)
        | (198, 51, 100)
        | (203, 0, 113)
        | (192, 88, 99) => AddressClass::Reserved,
        _ => AddressClass::Public,
    }
}

fn classify_v6(address: Ipv6Addr) -> AddressClass {
    if let Some(v4) = embedded_v4(address) {
        return classify_v4(v4);
    }
    let [first, second, ..] = address.segments();
    match first {
        0 if address.is_loopback() || address.is_unspecified() => AddressClass::Loopback,
        0xfc00..=0xfdff | 0xfec0..=0xfeff => AddressClass::Private,
        0xfe80..=0xfebf => AddressClass::LinkLocal,
        0xff00..=0xffff => AddressClass::Multicast,
        // Only 2000::/3 is assigned (RFC 4291); 2001::/23 holds Teredo, ORCHID and the like,
        // 2001:db8::/32 and 3fff::/20 are for documentation.
        0x2001 if second < 0x0200 || second == 0x0db8 => AddressClass::Reserved,
        0x3fff if second < 0x1000 => AddressClass::Reserved,
        0x2000..=0x3fff => AddressClass::Public,
        _ => AddressClass::Reserved,
    }
}

/// Returns the IPv4 address that an IPv6 address embeds.
#[must_use]
pub fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let from = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        // `::` and `::1` are addresses of their own, not compatible forms of 0.0.0.0 and 0.0.0.1.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        // Mapped (::ffff:0:0/96), translated (::ffff:0:0:0/96) and the deprecated compatible form
        // (::/96).
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => {
            Some(from(high, low))
        }
        // NAT64: 64:ff9b::/96 (RFC 6052). Its local-use sibling 64:ff9b:1::/48 (RFC 8215) may hold
        // the IPv4 address at one of several offsets, so all of it stays reserved.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(from(high, low)),
        // 6to4: 2002::/16 (RFC 3056).
        [0x2002, high, low, ..] => Some(from(high, low)),
        _ => None,
    }
}
