//! References in place of old results, and when they are made.

use super::*;
use pretty_assertions::assert_eq;

/// Nothing changes below the threshold; above it, the oldest results are replaced until the goal is
/// met.
#[tokio::test]
async fn old_results_become_references_in_one_step() {
    // The calls before the answer, and the calls whose results are references in the last request.
    // A call and its result have about 1,010 tokens, of which a reference leaves about 130.
    let table: [(usize, &[&str]); 4] = [
        (1, &[]),
        (7, &[]),
        (8, &["c0", "c1", "c2", "c3"]),
        // These suffice for some steps.
        (10, &["c0", "c1", "c2", "c3"]),
    ];
    for (count, expected) in table {
        let replies = looks(0..count).chain([uncounted(says("done"))]);
        let mut bench = bench(4_000, replies);
        let outcome = run(&mut bench, "go").await;
        assert_eq!(kind(&outcome), "done", "{count}: {outcome:?}");
        let requests = bench.requests();
        let (ids, whole) = references(requests.last().unwrap());
        assert_eq!(ids, expected, "{count}");
        assert_eq!(ids.len() + whole, count);
        let found = referenced(&bench);
        assert_eq!(found.len(), usize::from(!expected.is_empty()));
        for (ids, size) in &found {
            assert_eq!(ids, expected);
            assert!(
                size.before_tokens > 8_000 && size.after_tokens <= 5_000,
                "{size:?}"
            );
        }
        assert_eq!(summarised(&bench), []);
    }
}

/// The journal has the bytes, and the reference names the artifact that they are.
#[tokio::test]
async fn referenced_result_is_kept_in_a_blob() {
    let mut bench = bench(4_000, looks(0..8).chain([uncounted(says("done"))]));
    run(&mut bench, "go").await;
    let results = events(&bench, |event| match event {
        Event::ResultsReferenced { results, .. } => Some(results),
        _ => None,
    });
    for result in results.concat() {
        let whole = bench.journal.blob(result.blob.digest).await.unwrap();
        let expected = format!("{:x>4000}", result.call_id.0);
        assert_eq!(String::from_utf8(whole).unwrap(), expected);
        let ToolResultOutput::Text(text) = result.output else {
            panic!("{result:?}");
        };
        let name = format!("All of it is the artifact `results/{}`.", result.call_id.0);
        assert!(text.contains(&name), "{text}");
        assert!(
            text.contains("If you need it, make the same call again."),
            "{text}"
        );
    }
    let lines = bench.observer.live.lock().unwrap().clone();
    assert!(lines.contains(&"referenced 4".to_owned()), "{lines:?}");
}

/// The provider's count takes precedence over the estimate; later changes are estimated.
#[tokio::test]
async fn provider_count_takes_precedence() {
    // The count for the first request, and the size of the second: a call and a result of 400 bytes
    // have 118 tokens.
    let table = [(100, 218), (7_882, 8_000), (0, 0)];
    for (tokens, expected) in table {
        let replies = [
            counted(tokens, calls(&[("c", "look", "")])),
            uncounted(says("done")),
        ];
        let mut bench = bench(400, replies);
        run(&mut bench, "go").await;
        let estimated = events(&bench, |event| match event {
            Event::ModelRequested {
                estimated_tokens, ..
            } => Some(estimated_tokens),
            _ => None,
        });
        let expected = match tokens {
            0 => estimated[0] + 118,
            _ => expected,
        };
        assert_eq!(estimated[1], expected, "{tokens}");
    }
}

/// Between the threshold and the end of the window a small saving is not worth a compaction, so no
/// turn starts with a useless summary.
#[tokio::test]
async fn compaction_that_saves_little_is_skipped() {
    let replies = [
        uncounted(calls(&[("c", "look", "")])),
        uncounted(calls(&[("d", "act", "")])),
        uncounted(says("done")),
    ];
    let mut bench = Bench::with(
        replies.into(),
        [tools(34_000).remove(0), tools(40).remove(1)].into(),
    );
    bench.agent.settings.context = Some(ContextLimits {
        keep_results: 2,
        ..LIMITS
    });
    let mut outcome = bench.say("go").await;
    outcome = match outcome.end {
        TurnEnd::NeedsMoreTurns => bench.turn(AgentInput::Continue).await,
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(&outcome), "needs-more-turns");
    assert_eq!(summarised(&bench).len() + referenced(&bench).len(), 0);
    assert_eq!(bench.requests().len(), 2);
}
