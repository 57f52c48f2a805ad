use super::*;
use crate::{flow::CallFlow, schema::InputSchema};
use agent_host_types::{
    id::{CallId, SessionId},
    question::AnsweredQuestion,
};
use pretty_assertions::assert_eq;

fn invocation(input: &Value, answers: Vec<AnsweredQuestion>, can_ask: bool) -> Invocation {
    Invocation {
        session: SessionId::new(),
        call_id: CallId("a".into()),
        tool: ASK_USER.into(),
        input: input.as_object().unwrap().clone().into(),
        idempotency_key: "k".into(),
        shared: Arc::default(),
        context: Arc::default(),
        answers,
        artifacts: None,
        agent_depth: 0,
        traceparent: None,
        sources: Vec::new(),
        flow: CallFlow::default(),
        can_ask,
        cancel: Default::default(),
    }
}

fn two() -> Value {
    json!({ "questions": [
        { "question": "Which?", "choices": ["red", "blue"], "multiple": true, "free_text": false },
        { "question": "Why?" },
    ] })
}

fn which() -> Question {
    Question {
        prompt: "Which?".into(),
        choices: vec!["red".into(), "blue".into()],
        free_text: false,
        multiple: true,
        form: None,
    }
}

fn why() -> Question {
    Question {
        prompt: "Why?".into(),
        choices: Vec::new(),
        free_text: true,
        multiple: false,
        form: None,
    }
}

/// Answers the questions in order and returns those that were asked, and the result.
fn answered(given: &[Answer]) -> (Vec<Question>, ToolResultOutput) {
    let (mut questions, mut answers) = (Vec::new(), Vec::new());
    let mut given = given.iter();
    loop {
        match ask(&invocation(&two(), answers.clone(), true)) {
            RunEnd::Settled(report) => return (questions, report.output),
            RunEnd::Asked(asked) => {
                assert_eq!(asked.answered_by, AnsweredBy::Rerun);
                questions.push(asked.question.clone());
                let answer = given.next().unwrap().clone();
                assert_eq!(asked.question.check(&answer), Ok(()));
                answers.push(AnsweredQuestion {
                    question: asked.question,
                    answer,
                });
            }
        }
    }
}

#[test]
fn questions_are_asked_one_by_one() {
    let text = |text: &str| Answer::Text { text: text.into() };
    let cases = [
        (
            vec![
                Answer::Choices {
                    indexes: vec![1, 0],
                },
                text("so"),
            ],
            vec![which(), why()],
            [json!(["blue", "red"]), json!("so")],
        ),
        (
            vec![Answer::Choice { index: 0 }, Answer::Cancelled],
            vec![which(), why()],
            [json!("red"), json!(null)],
        ),
        // The rest is not asked.
        (
            vec![Answer::Cancelled],
            vec![which()],
            [json!(null), json!(null)],
        ),
    ];
    for (given, questions, [which, why]) in cases {
        let answers = json!({ "answers": [
            { "question": "Which?", "answer": which },
            { "question": "Why?", "answer": why },
        ] });
        let expected = (questions, ToolResultOutput::json(answers));
        assert_eq!(answered(&given), expected, "{given:?}");
    }
}

#[test]
fn question_without_a_user_is_a_failure() {
    let RunEnd::Settled(report) = ask(&invocation(&two(), Vec::new(), false)) else {
        panic!("it asked");
    };
    let expected = "The user cannot be asked now. Decide yourself, and say what you assumed.";
    assert_eq!(report.output, ToolResultOutput::ErrorText(expected.into()));
}

/// Whatever fits the schema can be shown to the user.
#[test]
fn schema_allows_only_what_can_be_asked() {
    let schema = InputSchema::compile(&definition().input_schema).unwrap();
    let validate = |input: Value| schema.validate(input.as_object().unwrap()).is_ok();
    let one = |question: Value| json!({ "questions": [question] });
    assert!(validate(two()));
    let long = "x".repeat(1000);
    let choices = vec!["x".repeat(120); 12];
    let largest = json!({ "question": long, "choices": choices });
    assert!(validate(one(largest.clone())));
    let RunEnd::Asked(asked) = ask(&invocation(&one(largest), Vec::new(), true)) else {
        panic!("it did not ask");
    };
    assert_eq!(asked.question.validate(), Ok(()));
    for refused in [
        json!({ "questions": [] }),
        json!({ "questions": vec![json!({ "question": "?" }); 5] }),
        one(json!({ "question": "" })),
        one(json!({ "question": "x".repeat(1001) })),
        one(json!({ "question": "?", "choices": vec!["x"; 13] })),
        one(json!({ "question": "?", "choices": ["x".repeat(121)] })),
        one(json!({ "question": "?", "header": "x" })),
        one(json!({})),
    ] {
        assert!(!validate(refused.clone()), "{refused}");
    }
}
