//! A truncation at open of a file that git reads as configuration: it waits, so that a refused
//! write leaves the file as it was.

use super::{
    super::resolve::Resolver,
    fixture::{Fixture, code, limited, open, populated_dir, writable},
};
use agent_host_engine::policy::{DirMode, DirQuota};
use agent_host_types::{limits::Limits, tool::Effect};
use pretty_assertions::assert_eq;
use std::{collections::HashMap, fs, path::PathBuf};
use wasmtime::component::Resource;
use wasmtime_wasi::{
    filesystem::Descriptor,
    p2::{
        DynOutputStream, FsResult,
        bindings::filesystem::types::{
            DescriptorFlags, Filesize, HostDescriptor as _, OpenFlags, PathFlags,
        },
    },
};

const OLD: &str = "[user]\n\tname = old\n";
const BAD: &str = "[core]\n\tfsmonitor = x\n";

/// A file of the host, and the handles that a guest has of it.
struct Case {
    fixture: Fixture,
    name: &'static str,
    handles: HashMap<String, Resource<Descriptor>>,
}

impl Case {
    fn new(fixture: Fixture, name: &'static str) -> Self {
        let handles = HashMap::new();
        let case = Self {
            fixture,
            name,
            handles,
        };
        fs::write(case.path(), OLD).unwrap();
        case
    }

    fn path(&self) -> PathBuf {
        self.fixture.dir.path().join("work").join(self.name)
    }

    fn content(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    /// Runs a step, and returns its value or the code of its error.
    async fn act(&mut self, step: &str) -> String {
        let done = self.try_act(step).await;
        done.unwrap_or_else(code)
    }

    async fn open(&mut self, flags: OpenFlags) -> FsResult<Resource<Descriptor>> {
        let both = DescriptorFlags::READ | DescriptorFlags::WRITE;
        self.fixture.open(self.name, false, flags, both).await
    }

    /// A step is `HANDLE VERB ARGUMENTS`.
    async fn try_act(&mut self, step: &str) -> FsResult<String> {
        let words: Vec<&str> = step.splitn(4, ' ').collect();
        let (handle, verb) = (words[0], words[1]);
        let flags = match verb {
            "open" => OpenFlags::empty(),
            "truncate" => OpenFlags::TRUNCATE,
            _ => return self.act_on(handle, verb, &words[2..]).await,
        };
        let opened = self.open(flags).await?;
        self.handles.insert(handle.to_owned(), opened);
        Ok("done".to_owned())
    }

    async fn act_on(&mut self, handle: &str, verb: &str, words: &[&str]) -> FsResult<String> {
        if verb == "close" {
            let file = self.handles.remove(handle).unwrap();
            self.fixture.fs().drop(file).unwrap();
            return Ok("done".to_owned());
        }
        let file = Resource::new_borrow(self.handles[handle].rep());
        let (root, name) = (self.fixture.handle(0), self.name.to_owned());
        let mut fs = self.fixture.fs();
        Ok(match verb {
            "read" => {
                let (bytes, _) = fs.read(file, 100, 0).await?;
                String::from_utf8(bytes).unwrap()
            }
            "size" => {
                let size = fs.stat(file).await?.size;
                let by_path = fs.stat_at(root, PathFlags::empty(), name).await?.size;
                assert_eq!(size, by_path);
                size.to_string()
            }
            "resize" => {
                fs.set_size(file, words[0].parse().unwrap()).await?;
                "done".to_owned()
            }
            "write" => {
                let at: Filesize = words[0].parse().unwrap();
                fs.write(file, words[1].into(), at).await?.to_string()
            }
            "append" => {
                let stream = fs.append_via_stream(file)?;
                let mut stream: DynOutputStream = self.fixture.table.delete(stream).unwrap();
                let bytes = words.join(" ").into_bytes();
                let written = stream.blocking_write_and_flush(bytes.into()).await;
                written.map_or("refused", |()| "done").to_owned()
            }
            _ => panic!("no such verb: {verb}"),
        })
    }

    async fn check(mut self, steps: &[(&str, &str)], content: &str) {
        let mut found = Vec::new();
        for (step, _) in steps {
            found.push((*step, self.act(step).await));
        }
        let expected: Vec<_> = steps
            .iter()
            .map(|(step, expected)| (*step, (*expected).to_owned()))
            .collect();
        assert_eq!(found, expected);
        assert_eq!(self.content(), content, "{steps:?}");
    }
}

/// Steps with their results, and the content after them.
type Row<'a> = (&'a [(&'a str, &'a str)], &'a str);

#[tokio::test]
async fn refused_write_after_truncation_leaves_the_file() {
    let write = format!("a write 0 {BAD}");
    for name in ["config", "config.worktree", "x.gitconfig"] {
        let steps = [
            ("a truncate", "done"),
            ("a size", "0"),
            ("a read", ""),
            (&*write, "access"),
            ("a close", "done"),
            ("b open", "done"),
            ("b size", "19"),
            ("b read", OLD),
            ("b close", "done"),
        ];
        Case::new(writable(), name).check(&steps, OLD).await;
    }
}

#[tokio::test]
async fn truncation_waits_for_an_accepted_write_or_the_close() {
    let [write, append] = ["write 0", "append"].map(|verb| format!("a {verb} {BAD}"));
    let (write, append) = (&*write, &*append);
    let other = write.replace("a write", "b write");
    let other = &*other;
    let table: &[Row<'_>] = &[
        (&[("a truncate", "done"), ("a close", "done")], ""),
        (
            &[
                ("a truncate", "done"),
                ("a write 0 # new", "5"),
                ("a read", "# new"),
            ],
            "# new",
        ),
        (
            &[("a truncate", "done"), ("a write 0 ", "0"), ("a size", "0")],
            "",
        ),
        // What was in the file does not count.
        (
            &[
                ("a truncate", "done"),
                ("a write 2 x", "1"),
                ("a size", "3"),
            ],
            "\0\0x",
        ),
        (
            &[
                ("a truncate", "done"),
                ("a append # b", "done"),
                ("a size", "3"),
            ],
            "# b",
        ),
        (
            &[
                ("a truncate", "done"),
                (append, "refused"),
                ("a close", "done"),
            ],
            OLD,
        ),
        (
            &[
                ("a truncate", "done"),
                ("a resize 3", "done"),
                ("a close", "done"),
            ],
            "\0\0\0",
        ),
        (
            &[
                ("a truncate", "done"),
                ("a resize 0", "done"),
                ("a close", "done"),
            ],
            "",
        ),
        // A refused write may be followed by another.
        (
            &[
                ("a truncate", "done"),
                (write, "access"),
                ("a size", "0"),
                ("a write 0 # new", "5"),
                ("a close", "done"),
            ],
            "# new",
        ),
        // A key in pieces, the first of which is accepted: the file is again as it was.
        (
            &[
                ("a truncate", "done"),
                ("a write 0 [core]", "6"),
                ("a write 6 fsmon", "5"),
                ("a write 11 itor = x", "access"),
                ("a close", "done"),
            ],
            OLD,
        ),
        // Not once another handle has written after the close of the first.
        (
            &[
                ("a truncate", "done"),
                ("b open", "done"),
                ("a write 0 [core]", "6"),
                ("a close", "done"),
                ("b write 6 fsmonitor = x", "access"),
                ("b close", "done"),
            ],
            "[core]",
        ),
        // Another handle.
        (
            &[
                ("a truncate", "done"),
                ("b open", "done"),
                ("b size", "0"),
                (other, "access"),
                ("b write 0 # b\n", "4"),
                ("a write 4 # a\n", "4"),
                ("a close", "done"),
            ],
            "# b\n# a\n",
        ),
        (
            &[
                ("a truncate", "done"),
                ("b truncate", "done"),
                (write, "access"),
                ("a close", "done"),
                ("b size", "0"),
                (other, "access"),
                ("b close", "done"),
            ],
            OLD,
        ),
        (
            &[
                ("a truncate", "done"),
                ("b truncate", "done"),
                (write, "access"),
                ("a close", "done"),
                ("b close", "done"),
            ],
            "",
        ),
        (
            &[
                ("a truncate", "done"),
                ("a write 0 # a", "3"),
                ("b truncate", "done"),
                ("b size", "0"),
                (other, "access"),
                ("b close", "done"),
                ("a read", "# a"),
                ("a close", "done"),
            ],
            "# a",
        ),
    ];
    for (steps, content) in table {
        Case::new(writable(), "x.gitconfig")
            .check(steps, content)
            .await;
    }
}

#[tokio::test]
async fn refused_configuration_of_the_host_is_not_lost_nor_kept() {
    let case = |name| {
        let case = Case::new(writable(), name);
        fs::write(case.path(), BAD).unwrap();
        case
    };
    let other = [
        ("a truncate", "done"),
        ("a write 0 [alias]\nx = !y", "access"),
        ("a close", "done"),
    ];
    case("config").check(&other, BAD).await;
    let harmless = [
        ("a truncate", "done"),
        ("a write 0 [a]\nx = !y", "10"),
        ("a close", "done"),
    ];
    case("config").check(&harmless, "[a]\nx = !y").await;
}

/// Only what is written counts, and a write over a quota does not empty the file.
#[tokio::test]
async fn truncation_that_waits_does_not_change_quotas() {
    let case = || {
        let limits = Limits {
            file_write_bytes: 10,
            ..Limits::default()
        };
        Case::new(limited(&limits, DirQuota::default()), "x.gitconfig")
    };
    let table: &[Row<'_>] = &[
        (
            &[
                ("a truncate", "done"),
                ("a write 0 # 34567890", "10"),
                ("a write 10 x", "quota"),
            ],
            "# 34567890",
        ),
        (
            &[
                ("a truncate", "done"),
                ("a write 8 x", "1"),
                ("a append xx", "refused"),
            ],
            "\0\0\0\0\0\0\0\0x",
        ),
        (
            &[
                ("a truncate", "done"),
                ("a write 10 x", "quota"),
                ("a close", "done"),
            ],
            OLD,
        ),
        (
            &[
                ("a truncate", "done"),
                ("a write 0 # 345678901", "quota"),
                ("a close", "done"),
            ],
            OLD,
        ),
        (
            &[
                ("a truncate", "done"),
                ("a resize 11", "quota"),
                ("a close", "done"),
            ],
            OLD,
        ),
        (
            &[
                ("a truncate", "done"),
                ("a resize 10", "done"),
                ("a write 0 x", "quota"),
            ],
            "\0\0\0\0\0\0\0\0\0\0",
        ),
    ];
    for (steps, content) in table {
        case().check(steps, content).await;
    }
}

/// On a file system that may not answer, files are closed on other threads.
#[tokio::test]
async fn remote_file_is_truncated_after_the_close() {
    let remote = || {
        open(
            populated_dir(),
            DirMode::ReadWrite,
            Effect::Effectful,
            Resolver::Walk,
        )
    };
    let write = format!("a write 0 {BAD}");
    let refused = [
        ("a truncate", "done"),
        ("a size", "0"),
        (&*write, "access"),
        ("a close", "done"),
    ];
    Case::new(remote(), "config").check(&refused, OLD).await;

    // The file is empty for guests before, during and after the truncation, which may end between
    // any two of these steps.
    for _ in 0..50 {
        let mut case = Case::new(remote(), "config");
        for step in ["a truncate", "b open", "a close"] {
            assert_eq!(case.act(step).await, "done", "{step}");
        }
        while !case.content().is_empty() {
            assert_eq!(case.act("b size").await, "0");
        }
        assert_eq!(case.act("b size").await, "0");
    }
}
