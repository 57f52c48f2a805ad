use super::unpack;
use pretty_assertions::assert_eq;
use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::{self, File},
    path::Path,
    time::{Duration, SystemTime},
};
use tempfile::TempDir;

/// Returns all files below a directory by path.
fn tree(dir: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let below = tree(&path).into_iter();
            files.extend(below.map(|(path, text)| (format!("{name}/{path}"), text)));
        } else {
            files.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    files
}

fn files(of: &[(&str, &'static str)]) -> Vec<(String, Cow<'static, [u8]>)> {
    of.iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().into()))
        .collect()
}

fn map(of: &[(&str, &str)]) -> BTreeMap<String, String> {
    of.iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn unpacked_dir_holds_exactly_the_embedded_files() {
    let dir = TempDir::new().unwrap();
    let first = [
        ("a.c", "one"),
        ("deep/b.c", "two"),
        ("deep/er/c.c", "three"),
    ];
    unpack(dir.path(), &files(&first)).unwrap();
    assert_eq!(tree(dir.path()), map(&first));

    fs::write(dir.path().join("deep/left.o"), "by a compiler").unwrap();
    let second = [("a.c", "ONE"), ("deep/b.c", "two")];
    unpack(dir.path(), &files(&second)).unwrap();
    assert_eq!(tree(dir.path()), map(&second));
}

#[test]
fn unchanged_file_keeps_its_modification_time() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.c");
    unpack(dir.path(), &files(&[("a.c", "one")])).unwrap();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(long_ago).unwrap();
    let time = || fs::metadata(&path).unwrap().modified().unwrap();

    unpack(dir.path(), &files(&[("a.c", "one")])).unwrap();
    assert_eq!(time(), long_ago);
    unpack(dir.path(), &files(&[("a.c", "two")])).unwrap();
    assert_ne!(time(), long_ago);
}
