//! Random changes by several calls: undone, the directory is as it was.

use super::{Project, Run};
use crate::DEFAULT_MAX_BYTES;
use pretty_assertions::assert_eq;
use std::fs;

/// The number of runs.
const RUNS: u64 = 300;

/// A small generator of pseudo-random numbers (xorshift64*), so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(number).unwrap() % bound
    }
}

const NAMES: [&str; 8] = ["a", "b", "d", "e", "d/a", "d/b", "e/a", "d/f"];

fn change(random: &mut Random, project: &Project, run: &Run<'_>) {
    let (one, other) = (NAMES[random.below(8)], NAMES[random.below(8)]);
    let (path, new) = (project.path(one), project.path(other));
    let has_parent = |path: &std::path::Path| path.parent().unwrap().is_dir();
    match random.below(6) {
        0 | 1 if !path.is_dir() && has_parent(&path) => {
            run.write(one, &random.below(5).to_string());
        }
        2 if path.is_file() => {
            run.remove(one);
        }
        3 if !path.exists() && has_parent(&path) => {
            run.make_dir(one);
        }
        4 if path.is_dir() && fs::read_dir(&path).unwrap().next().is_none() => {
            run.remove_dir(one);
        }
        5 if path.is_dir() && !new.exists() && has_parent(&new) && !new.starts_with(&path) => {
            run.rename(one, other);
        }
        5 if path.is_file() && !new.is_dir() && has_parent(&new) && one != other => {
            run.rename(one, other);
        }
        _ => {}
    }
}

#[test]
fn undo_of_random_changes_restores_everything() {
    for seed in 1..=RUNS {
        let mut random = Random(seed);
        let project = Project::new(DEFAULT_MAX_BYTES);
        fs::create_dir(project.path("d")).unwrap();
        for name in ["a", "d/a", "d/f"] {
            fs::write(project.path(name), name).unwrap();
        }
        let before = project.tree();
        for _ in 0..random.below(4) {
            let run = Run::new(&project, "c");
            for _ in 0..random.below(12) {
                change(&mut random, &project, &run);
            }
            run.end();
        }
        let (_, left) = project.undo(&["c"], false);
        assert_eq!(left, vec![], "seed {seed}");
        assert_eq!(project.tree(), before, "seed {seed}");
    }
}
