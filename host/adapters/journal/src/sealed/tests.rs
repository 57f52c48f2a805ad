use super::*;
use pretty_assertions::assert_eq;

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn key() -> SealKey {
    SealKey::parse(KEY).unwrap()
}

#[test]
fn sealed_session_is_opened_with_its_key_alone() {
    let sealed = key().seal(b"session".to_vec()).unwrap();
    assert_eq!(key().open(&sealed).unwrap(), b"session");
    assert_eq!(key().open(&format!("\n{sealed}\n")).unwrap(), b"session");
    // A nonce of its own each time.
    assert_ne!(key().seal(b"session".to_vec()).unwrap(), sealed);
    let other = SealKey::parse(&KEY.replace("00", "ff")).unwrap();
    assert!(matches!(other.open(&sealed), Err(SealError::Seal)));
}

#[test]
fn key_is_64_hexadecimal_digits() {
    assert!(SealKey::parse(&format!(" {}\n", KEY.to_uppercase())).is_ok());
    let long = format!("{KEY}00");
    for wrong in [
        "",
        "00",
        KEY.split_at(1).1,
        &long,
        &KEY.replace('f', "g"),
        &KEY.replace('f', "é"),
    ] {
        assert!(
            matches!(SealKey::parse(wrong), Err(SealError::Key)),
            "{wrong}"
        );
    }
}

/// Every byte of the text is authenticated.
#[test]
fn changed_seal_is_refused() {
    let sealed = key().seal(b"session".to_vec()).unwrap();
    for (at, byte) in sealed.bytes().enumerate() {
        let mut changed = sealed.clone().into_bytes();
        changed[at] = if byte == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        let refused = key().open(&changed).unwrap_err();
        assert!(
            matches!(refused, SealError::Form | SealError::Seal),
            "{at}: {refused}"
        );
    }
    for length in 0..sealed.len() {
        let cut: String = sealed.chars().take(length).collect();
        assert!(key().open(&cut).is_err(), "{length}");
    }
    assert!(matches!(key().open("{\"format\":"), Err(SealError::Form)));
}

#[test]
fn session_over_the_bound_is_not_sealed() {
    let large = vec![0; MAX_SEALED_BYTES + 1];
    assert!(matches!(key().seal(large), Err(SealError::TooLarge)));
}
