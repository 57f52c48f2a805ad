use super::*;
use crate::LoadFault;
use pretty_assertions::assert_eq;
use std::fs;

fn fault(path: PathBuf) -> (LoadFault, String) {
    match ComponentBytes::from(path).identify() {
        Ok(_) => panic!("it is taken for a component"),
        Err(error) => (error.fault(), error.to_string()),
    }
}

#[test]
fn file_unreadable_or_too_large_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let sparse = dir.path().join("sparse");
    let file = File::create(&sparse).unwrap();
    file.set_len(1 << 40).unwrap();
    for (path, expected, says) in [
        (
            dir.path().join("absent"),
            LoadFault::Unreadable,
            "cannot read the component's file: No such file or directory (os error 2)",
        ),
        (
            dir.path().to_owned(),
            LoadFault::Unreadable,
            "cannot read the component's file: Is a directory (os error 21)",
        ),
        // By its size alone.
        (
            sparse,
            LoadFault::TooLarge,
            "the component has 1099511627776 bytes",
        ),
        // Without a size or an end.
        (
            "/dev/zero".into(),
            LoadFault::TooLarge,
            "the component has 67108865 bytes",
        ),
    ] {
        let (found, message) = fault(path);
        assert_eq!(found, expected, "{message}");
        assert!(message.starts_with(says), "{message}");
    }
}

#[test]
fn file_has_the_identity_of_its_bytes() {
    const CHUNK_BYTES: usize = 64 * 1024;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wasm");
    // The last has two chunks and a part of one.
    for bytes in [Vec::new(), vec![7; 3], vec![1; 2 * CHUNK_BYTES + 1]] {
        fs::write(&path, &bytes).unwrap();
        let known = [
            ComponentBytes::from(path.clone()),
            ComponentBytes::from(&bytes),
            ComponentBytes::from(Cow::Owned(bytes.clone())),
        ]
        .map(|component| component.identify().unwrap());
        for found in known {
            assert_eq!(
                (found.hash, found.size_bytes),
                (blake3::hash(&bytes), bytes.len() as u64)
            );
            assert_eq!(found.into_bytes().unwrap(), bytes);
        }
    }
}

#[test]
fn file_that_changes_while_it_is_read_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wasm");
    fs::write(&path, "before").unwrap();
    let known = ComponentBytes::from(path.clone()).identify().unwrap();
    fs::write(&path, "behind").unwrap();
    assert!(matches!(known.into_bytes(), Err(LoadError::Changed)));
}
