//! Arbitrary addresses in every embedded form, compared with the standard library's classification.

use crate::policy::{
    AddressClass, Grants, HttpGrant, HttpRequest, Ruling, classify, decide_address,
};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses, mostly near special ones.
fn v4() -> impl Strategy<Value = Ipv4Addr> {
    let first = prop_oneof![
        prop::sample::select(vec![0_u8, 10, 100, 127, 169, 172, 192, 198, 203, 224, 255]),
        any::<u8>(),
    ];
    let second = prop_oneof![
        prop::sample::select(vec![0_u8, 16, 31, 64, 127, 168, 254]),
        any::<u8>()
    ];
    (first, second, any::<u8>(), any::<u8>()).prop_map(|(a, b, c, d)| Ipv4Addr::new(a, b, c, d))
}

/// Returns every IPv6 form that embeds the address and that some network delivers to it.
fn forms(v4: Ipv4Addr) -> [Ipv6Addr; 5] {
    let [a, b, c, d] = v4.octets();
    let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    [
        v4.to_ipv6_mapped(),
        v4.to_ipv6_compatible(),
        Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
        Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
    ]
}

/// Whether a request to a name that resolves to this address is allowed if everything is granted.
fn is_allowed(address: IpAddr) -> bool {
    let grants = Grants {
        http: vec![HttpGrant {
            host: "*".to_owned(),
            ..HttpGrant::default()
        }],
        ..Grants::default()
    };
    let request = HttpRequest {
        method: "GET",
        scheme: "http",
        host: "name.example",
        port: 80,
        path: "/",
    };
    matches!(
        decide_address(&grants, &request, address, false),
        Ruling::Allow { .. }
    )
}

proptest! {
    #[test]
    fn special_address_is_denied_in_every_form(v4 in v4()) {
        let special = v4.is_loopback()
            || v4.is_private()
            || v4.is_link_local()
            || v4.is_multicast()
            || v4.is_broadcast()
            || v4.is_documentation()
            || v4.is_unspecified();
        let out = is_allowed(v4.into());
        prop_assert!(!(special && out), "{v4}");
        prop_assert_eq!(out, classify(v4.into()) == AddressClass::Public);
        for form in forms(v4) {
            prop_assert!(!is_allowed(form.into()) || out, "{form} goes out and {v4} does not");
        }
    }

    #[test]
    fn special_ipv6_address_is_denied(segments in any::<[u16; 8]>(), first in prop::sample::select(vec![
        0_u16, 0x64, 0x100, 0x2001, 0x2002, 0x3fff, 0x5f00, 0xfc00, 0xfe80, 0xfec0, 0xff02,
    ]), near in any::<bool>()) {
        let mut segments = segments;
        if near {
            segments[0] = first;
        }
        let v6 = Ipv6Addr::from(segments);
        let special = v6.is_loopback()
            || v6.is_multicast()
            || v6.is_unspecified()
            || v6.is_unique_local()
            || v6.is_unicast_link_local();
        prop_assert!(!(special && is_allowed(v6.into())), "{v6}");
    }
}
