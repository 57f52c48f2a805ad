//! Runs the cases of `tests/wild`: files and orders of requests as they are in the wild, one file
//! each.

mod files;
mod orders;

use agent_host_test_support::{TestEnv, repository};
use serde::{Deserialize, de::DeserializeOwned};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File},
    os::unix::{ffi::OsStrExt as _, fs::FileExt as _, fs::symlink},
    path::{Path, PathBuf},
};

/// Returns the cases in a directory of `tests/wild`, by the name of their file.
fn cases<C: DeserializeOwned>(directory: &str) -> BTreeMap<String, C> {
    let directory = repository().join("tests/wild").join(directory);
    let files = fs::read_dir(directory).unwrap();
    let cases = files.map(|file| {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let case = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, case)
    });
    cases.collect()
}

/// A file before the calls of a case.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct MadeFile {
    path: Option<String>,
    /// In place of `path`, the bytes of a name that is not UTF-8, in hexadecimal.
    path_hex: Option<String>,
    #[serde(flatten)]
    content: Content,
}

/// The bytes of a file, or what else its name is for. Only one of the keys is given, besides
/// `times` and `at`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Content {
    text: Option<String>,
    hex: Option<String>,
    /// Repeats `text`.
    times: Option<usize>,
    /// The offset of `text`, behind a hole that takes no space.
    at: Option<u64>,
    /// Further contents behind this one.
    #[serde(default)]
    then: Vec<Content>,
    /// The target of a symbolic link.
    link: Option<String>,
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    hex::decode(&digits).unwrap()
}

impl Content {
    fn bytes(&self) -> Vec<u8> {
        let first = match (&self.text, &self.hex) {
            (Some(text), None) => text.repeat(self.times.unwrap_or(1)).into_bytes(),
            (None, Some(hex)) => bytes_of(hex),
            _ => panic!("a content has one of `text` and `hex`"),
        };
        let rest = self.then.iter().flat_map(Self::bytes);
        first.into_iter().chain(rest).collect()
    }
}

impl MadeFile {
    fn place(&self, env: &TestEnv) -> PathBuf {
        let name = match (&self.path, &self.path_hex) {
            (Some(path), None) => path.clone().into_bytes(),
            (None, Some(hex)) => bytes_of(hex),
            _ => panic!("a file has one of `path` and `path-hex`"),
        };
        env.work().join(Path::new(OsStr::from_bytes(&name)))
    }

    fn make(&self, env: &TestEnv) {
        let place = self.place(env);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        match &self.content.link {
            Some(target) => symlink(target, place).unwrap(),
            None => {
                let at = self.content.at.unwrap_or(0);
                let file = File::create_new(place).unwrap();
                file.write_all_at(&self.content.bytes(), at).unwrap();
            }
        }
    }
}
