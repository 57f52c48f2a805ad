use super::{CompileReport, MIN_BYTES, begun, ended};
use pretty_assertions::assert_eq;
use std::{cell::RefCell, time::Duration};

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn keep(line: &str) {
    LINES.with_borrow_mut(|lines| lines.push(line.to_owned()));
}

#[test]
fn large_component_is_told_before_and_after() {
    // The size if it is compiled, whether it loads, and the number of lines.
    for (compiled, is_loaded, lines) in [
        (None, true, 0),
        (Some(MIN_BYTES - 1), true, 0),
        (Some(MIN_BYTES), true, 2),
        (Some(MIN_BYTES), false, 1),
    ] {
        let report = CompileReport::new("big", Some(keep));
        if let Some(size) = compiled {
            report.begin(size);
        }
        report.end(is_loaded);
        let told = LINES.take();
        assert_eq!(told.len(), lines, "{compiled:?} {is_loaded}: {told:?}");
    }
}

#[test]
fn report_lines_say_size_and_time() {
    assert_eq!(
        begun("js", 12_060_000),
        "compiling the component `js` (12.0 MB) and saving it for later runs ..."
    );
    assert_eq!(
        ended("js", Duration::from_millis(9_840)),
        "compiled `js` in 9.8 s"
    );
}
