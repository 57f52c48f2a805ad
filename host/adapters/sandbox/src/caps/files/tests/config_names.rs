//! Files that get a name by which git reads configuration: by a move, a link, or a handle that was
//! open before.

use super::fixture::{Fixture, beside, code, writable};
use pretty_assertions::assert_eq;
use std::fs;
use wasmtime::component::Resource;
use wasmtime_wasi::{
    filesystem::Descriptor,
    p2::bindings::filesystem::types::{DescriptorFlags, HostDescriptor as _, OpenFlags},
};

const BAD: &str = "[core]\nfsmonitor = x";

async fn open(fixture: &mut Fixture, path: &str) -> Resource<Descriptor> {
    let flags = DescriptorFlags::WRITE;
    let opened = fixture.open(path, false, OpenFlags::CREATE, flags);
    opened.await.unwrap()
}

async fn write(fixture: &mut Fixture, file: &Resource<Descriptor>, text: &str) -> String {
    let file = Resource::new_borrow(file.rep());
    let written = fixture.fs().write(file, text.into(), 0).await;
    written.map_or_else(code, |count| count.to_string())
}

#[tokio::test]
async fn handle_of_a_moved_file_writes_no_config_that_executes() {
    let mut fixture = writable();
    let mut other = beside(&fixture);
    let file = open(&mut fixture, "x").await;
    let second = open(&mut other, "x").await;
    fixture.check(&[("move x y.gitconfig", "done")]).await;
    assert_eq!(write(&mut fixture, &file, BAD).await, "access");
    assert_eq!(write(&mut other, &second, BAD).await, "access");
    assert_eq!(write(&mut other, &second, "# any").await, "5");
    // By the name that it has now, and by the next one.
    fixture
        .check(&[("write y.gitconfig x", "1"), ("move y.gitconfig z", "done")])
        .await;
    let plain = open(&mut fixture, "plain").await;
    assert_eq!(write(&mut fixture, &plain, BAD).await, "20");
    fixture.check(&[("move plain config", "access")]).await;
    assert_eq!(write(&mut fixture, &plain, BAD).await, "20");
}

#[tokio::test]
async fn config_is_judged_with_what_was_written_before_its_move() {
    for flags in [OpenFlags::CREATE, OpenFlags::CREATE | OpenFlags::TRUNCATE] {
        let mut fixture = writable();
        let opened = fixture.open("x", false, flags, DescriptorFlags::WRITE);
        let file = opened.await.unwrap();
        assert_eq!(write(&mut fixture, &file, "[core]\n").await, "7");
        fixture.check(&[("move x y.gitconfig", "done")]).await;
        let handle = Resource::new_borrow(file.rep());
        let written = fixture.fs().write(handle, b"editor = x".to_vec(), 7).await;
        assert_eq!(written.map_err(code), Err("access".to_owned()));
    }
}

#[tokio::test]
async fn file_of_two_names_does_not_become_git_config() {
    let mut fixture = writable();
    fixture
        .check(&[
            ("create x # any", "5"),
            ("link x y", "done"),
            ("move y y.gitconfig", "access"),
            ("remove x", "done"),
            ("move y y.gitconfig", "done"),
            ("link y.gitconfig z", "access"),
        ])
        .await;
}

#[tokio::test]
async fn symbolic_link_does_not_lead_to_git_config() {
    let mut fixture = writable();
    let payload = format!("create x {BAD}");
    fixture
        .check(&[
            (&*payload, "20"),
            ("point x y.gitconfig", "access"),
            ("point x sub/config", "access"),
            ("point x z", "done"),
            ("move z y.gitconfig", "access"),
            ("move z sub/config", "access"),
            ("move x config", "access"),
        ])
        .await;
}

/// Makes a file, and moves it to a name of git configuration while another call does a step. Returns
/// the fixture, and what both did.
async fn race(step: String) -> (Fixture, String) {
    let mut one = writable();
    let mut two = beside(&one);
    one.check(&[("create x # any", "5")]).await;
    let racing = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(two.act(&step))
    });
    let moved = one.act("move x y.gitconfig").await;
    let done = format!("{moved} {}", racing.join().unwrap());
    (one, done)
}

/// A link and a move at once, after which the file has two names, or is not configuration.
#[tokio::test]
async fn racing_link_and_move_do_not_name_git_config_twice() {
    for _ in 0..200 {
        let (one, done) = race("link x second".to_owned()).await;
        let work = one.dir.path().join("work");
        let names = ["y.gitconfig", "second"].map(|name| fs::exists(work.join(name)).unwrap());
        assert_ne!(names, [true, true], "{done}");
    }
}

/// A file that is opened while it is moved is judged by its new name, or was not found.
#[tokio::test]
async fn racing_open_and_move_do_not_write_git_config() {
    for _ in 0..200 {
        let (one, done) = race(format!("write x {BAD}")).await;
        let path = one.dir.path().join("work/y.gitconfig");
        let content = fs::read_to_string(path).unwrap_or_default();
        assert_ne!(content, BAD, "{done}");
    }
}
