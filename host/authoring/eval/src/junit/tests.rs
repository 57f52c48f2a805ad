use super::*;
use crate::report::tests::{case, report};
use pretty_assertions::assert_eq;

#[test]
fn report_as_junit_has_each_run() {
    let report = report(
        &case("pass = 0"),
        &[
            ("m<\u{1b}", &[Some("yes"), Some("<no>\u{0}&")]),
            ("n", &[None]),
        ],
    );
    assert_eq!(
        junit(&report),
        r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="agent-host eval" tests="3" failures="1" errors="1" time="4.500">
  <testsuite name="m&lt;\u{1b}" tests="2" failures="1" errors="0" time="3.000">
    <testcase classname="a" name="a run 1" time="1.500"/>
    <testcase classname="a" name="a run 2" time="1.500">
      <failure message="the answer does not match `yes`: &quot;&lt;no&gt;\u{0}&amp;&quot;">the answer does not match `yes`: &quot;&lt;no&gt;\u{0}&amp;&quot;</failure>
    </testcase>
  </testsuite>
  <testsuite name="n" tests="1" failures="0" errors="1" time="1.500">
    <testcase classname="a" name="a run 1" time="1.500">
      <error message="it is &lt;broken&gt;">it is &lt;broken&gt;</error>
    </testcase>
  </testsuite>
</testsuites>
"#
    );
}
