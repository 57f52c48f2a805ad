use super::is_own;

#[test]
fn own_addresses_are_recognized() {
    for (address, expected) in [
        ("127.0.0.1", true),
        ("::ffff:127.0.0.1", true),
        ("2002:7f00:1::", true),
        ("1.1.1.1", false),
        ("192.0.2.1", false),
        ("2606:4700::1111", false),
    ] {
        assert_eq!(is_own(address.parse().unwrap()), expected, "{address}");
    }
}
