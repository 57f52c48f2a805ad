use super::Scale;
use pretty_assertions::assert_eq;

/// The fractions that a tool reports, and the progress and total that its client gets.
type Case = (&'static [Option<f64>], Vec<(f64, Option<f64>)>);

#[test]
fn progress_grows_with_each_report() {
    let up = f64::next_up;
    let cases: [Case; 7] = [
        (
            &[Some(0.0), Some(0.5), Some(1.0)],
            vec![(0.0, Some(1.0)), (0.5, Some(1.0)), (1.0, Some(1.0))],
        ),
        (
            &[None, None, None],
            vec![(1.0, None), (2.0, None), (3.0, None)],
        ),
        (
            &[Some(0.5), Some(0.25), None, Some(0.75)],
            vec![
                (0.5, Some(1.0)),
                (up(0.5), Some(1.0)),
                (up(up(0.5)), Some(1.0)),
                (0.75, Some(1.0)),
            ],
        ),
        (
            &[Some(1.0), Some(1.0), None],
            vec![(1.0, Some(1.0)), (up(1.0), None), (up(up(1.0)), None)],
        ),
        (
            &[None, Some(0.5), Some(0.9)],
            vec![(1.0, None), (up(1.0), None), (up(up(1.0)), None)],
        ),
        (
            &[Some(f64::NAN), Some(f64::INFINITY)],
            vec![(1.0, None), (up(1.0), None)],
        ),
        (
            &[Some(-3.0), Some(f64::NEG_INFINITY), Some(7.0)],
            vec![(0.0, Some(1.0)), (up(0.0), Some(1.0)), (1.0, Some(1.0))],
        ),
    ];
    for (reports, expected) in cases {
        let mut scale = Scale::default();
        let sent: Vec<_> = reports.iter().map(|report| scale.next(*report)).collect();
        assert_eq!(sent, expected, "{reports:?}");
    }
}
