use super::*;
use pretty_assertions::assert_eq;
use std::fs;

fn fault(path: PathBuf) -> (LoadFault, String) {
    match ComponentBytes::from(path).identify() {
        Ok(_) => panic!("it is taken for a component"),
        Err(error) => (error.fault, error.message),
    }
}

#[test]
fn files_that_are_no_component() {
    let folder = tempfile::tempdir().unwrap();
    let sparse = folder.path().join("sparse");
    let file = File::create(&sparse).unwrap();
    file.set_len(1 << 40).unwrap();
    for (path, expected, says) in [
        (
            folder.path().join("absent"),
            LoadFault::Unreadable,
            "the component's file cannot be read: No such file or directory (os error 2)",
        ),
        (
            folder.path().to_owned(),
            LoadFault::Unreadable,
            "the component's file cannot be read: Is a directory (os error 21)",
        ),
        // Known by its size alone.
        (
            sparse,
            LoadFault::TooLarge,
            "the component has 1099511627776 bytes",
        ),
        // It has no size, and no end.
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
fn a_file_is_the_same_component_as_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wasm");
    // More than one piece, and no whole number of them.
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
fn a_file_that_changes_meanwhile_is_not_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wasm");
    fs::write(&path, "before").unwrap();
    let known = ComponentBytes::from(path.clone()).identify().unwrap();
    fs::write(&path, "behind").unwrap();
    assert_eq!(
        known.into_bytes().unwrap_err(),
        LoadError::new(
            LoadFault::Unreadable,
            "the component's file was changed while it was read; load it again when whoever writes it is done",
        )
    );
}
