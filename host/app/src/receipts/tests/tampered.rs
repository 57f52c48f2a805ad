//! Files in which receipts are changed, dropped, moved or added.

use super::super::{FaultKind, ReceiptFault};
use super::{KEY, OTHER_KEY, calls, export, fault, key, verify};
use FaultKind::{Changed, Dropped, Inserted, NoEnd, Reordered};
use pretty_assertions::assert_eq;

/// A changed file, with the fault that it has, and its line.
type Case = (String, Vec<String>, (FaultKind, u64));

/// Changes a file in one way.
fn case(
    name: &str,
    lines: &[String],
    (kind, line): (FaultKind, usize),
    change: impl FnOnce(&mut Vec<String>),
) -> Case {
    let mut file = lines.to_vec();
    change(&mut file);
    (format!("{name} {line}"), file, (kind, line as u64))
}

/// Changes, drops, moves and copies the receipt at an index.
fn cases_at(lines: &[String], at: usize) -> [Case; 4] {
    let line = at + 1;
    [
        case("changed", lines, (Changed, line), |file| {
            file[at] = file[at].replace(r#""outcome":"text""#, r#""outcome":"json""#);
        }),
        case("dropped", lines, (Dropped, line), |file| {
            file.remove(at);
        }),
        case("swapped", lines, (Reordered, line), |file| {
            file.swap(at, at + 1);
        }),
        case("copied", lines, (Inserted, line), |file| {
            // Of one from elsewhere.
            file.insert(
                at,
                lines[(at + lines.len() / 3) % (lines.len() - 1)].clone(),
            );
        }),
    ]
}

fn assert_faults(cases: impl IntoIterator<Item = Case>) {
    let wrong = cases.into_iter().filter_map(|(name, file, known)| {
        let found = fault(&file);
        (found != Err(known)).then_some((name, found))
    });
    assert_eq!(wrong.collect::<Vec<_>>(), []);
}

#[tokio::test]
async fn one_tampered_receipt_of_10_000_is_found() {
    const COUNT: usize = 10_000;
    let lines = export(&calls(COUNT).await, &key(KEY), false).await;
    assert_eq!(fault(&lines), Ok(COUNT as u64));
    assert_faults(
        [0, COUNT / 2, COUNT - 1]
            .map(|at| cases_at(&lines, at))
            .into_iter()
            .flatten(),
    );
}

#[tokio::test]
async fn tampered_receipt_is_found_at_every_place() {
    const COUNT: usize = 12;
    let stored = calls(COUNT).await;
    let lines = &export(&stored, &key(KEY), false).await;
    let other_export = &export(&stored, &key(KEY), false).await;
    let other_key = &export(&stored, &key(OTHER_KEY), false).await;
    let mut cases = Vec::new();
    for (at, foreign) in other_key.iter().enumerate().take(COUNT) {
        let line = at + 1;
        cases.extend(cases_at(lines, at));
        cases.push(case("of another key", lines, (Inserted, line), |file| {
            file.insert(at, foreign.clone());
        }));
        cases.push(case("cut off", lines, (NoEnd, line), |file| {
            file.truncate(at)
        }));
        for to in at + 1..COUNT {
            cases.push(case("moved back", lines, (Reordered, line), |file| {
                let moved = file.remove(at);
                file.insert(to, moved);
            }));
            cases.push(case("moved forth", lines, (Reordered, line), |file| {
                let moved = file.remove(to);
                file.insert(at, moved);
            }));
            cases.push(case("several dropped", lines, (Dropped, line), |file| {
                file.drain(at..to);
            }));
        }
    }
    // The first receipt of a session names none before it, so that the line after it is the fault.
    for (at, line) in [(0, 2)]
        .into_iter()
        .chain((1..COUNT).map(|at| (at, at + 1)))
    {
        cases.push(case("of another export", lines, (Inserted, line), |file| {
            file.insert(at, other_export[at].clone());
        }));
        cases.push(case("replaced", lines, (Changed, line), |file| {
            file[at].clone_from(&other_export[at]);
        }));
    }
    let end = COUNT + 1;
    cases.extend([
        case("end dropped", lines, (NoEnd, end), |file| {
            file.truncate(COUNT)
        }),
        case("end cut", lines, (Changed, end), |file| {
            file[COUNT].truncate(100)
        }),
        case("more after the end", lines, (Inserted, end + 1), |file| {
            file.push(lines[3].clone());
        }),
        case(
            "another file after the end",
            lines,
            (Inserted, end + 1),
            |file| {
                file.extend_from_slice(other_export);
            },
        ),
        case("other key", other_key, (FaultKind::WrongKey, 1), |_| ()),
    ]);
    assert_faults(cases);
}

#[tokio::test]
async fn fault_is_told_in_a_sentence() {
    let stored = calls(6).await;
    let lines = export(&stored, &key(KEY), false).await;
    let other = export(&stored, &key(OTHER_KEY), false).await;
    let (own, foreign) = (key(KEY).public(), key(OTHER_KEY).public());
    let (own, foreign) = (own.fingerprint(), foreign.fingerprint());
    let with = |change: &dyn Fn(&mut Vec<String>)| {
        let mut file = lines.clone();
        change(&mut file);
        verify(&file).unwrap_err()
    };
    let told = [
        with(&|file| file[2] = file[2].replace("call_2", "call_3")),
        with(&|file| drop(file.remove(2))),
        with(&|file| drop(file.drain(2..4))),
        with(&|file| file.swap(2, 4)),
        with(&|file| file.insert(2, lines[0].clone())),
        with(&|file| file.insert(2, lines[4].clone())),
        with(&|file| file.insert(2, "forged".to_owned())),
        with(&|file| file.clone_from(&other)),
        with(&|file| file.truncate(3)),
        with(&|file| file.push(lines[0].clone())),
        with(&|file| file[2] = file[2].replace("result 2", "result 3")),
    ];
    let told = told.map(|ReceiptFault { kind, message, .. }| (kind, message));
    let of_key = format!(
        "line 1 is signed by another key: it names key {foreign}, and the given key is {own}"
    );
    let expected = [
        (
            Changed,
            "line 3 was changed: its signature is not one of its content",
        ),
        (
            Dropped,
            "line 3 comes too early: receipt 3 is missing before it",
        ),
        (
            Dropped,
            "line 3 comes too early: receipts 3 to 4 are missing before it",
        ),
        (
            Reordered,
            "line 3 is out of order: receipt 3 belongs there, and it is on line 5",
        ),
        (Inserted, "line 3 was inserted: it repeats receipt 1"),
        (Inserted, "line 3 was inserted: it is a copy of receipt 5"),
        (Inserted, "line 3 was inserted: receipt 3 follows on line 4"),
        (FaultKind::WrongKey, &of_key),
        (
            NoEnd,
            "the closing line is missing, so receipts from 4 on may be missing too",
        ),
        (
            Inserted,
            "line 8 was inserted: it follows the closing line, which ends the file",
        ),
        (
            FaultKind::Contents,
            "line 3 has a content that was changed: its `result` does not match the commitment of receipt 3",
        ),
    ];
    assert_eq!(told, expected.map(|(kind, text)| (kind, text.to_owned())));
}
