//! Asks the user a tool's question. The tool may give the answer any effect, so the question is a
//! security prompt.

use super::{
    BOLD, Terminal, YELLOW, answer as read_answer,
    form::{FormPrompt, counted},
    tool_name,
};
use agent_host_engine::turn::QuestionPreview;
use agent_host_types::{
    form::Form,
    question::{Answer, Question},
};

/// The columns of a choice's number, beside its frame.
const NUMBER_COLUMNS: usize = 5;

/// Shows a call's question and reads the answer: the number of a choice, free text where it is
/// allowed, or the fields of a form. `None` means later.
pub(crate) fn ask_question(terminal: &Terminal, tool: &str, question: &Question) -> Option<Answer> {
    let columns = terminal.columns().saturating_sub(NUMBER_COLUMNS);
    let QuestionPreview {
        asks,
        prompt,
        choices,
        below,
    } = QuestionPreview::new(tool, question, columns);
    let mut ask = format!("\n{YELLOW}{asks}{YELLOW:#}\n{prompt}\n");
    if let Some(form) = &question.form {
        return ask_form(
            terminal,
            tool,
            &format!("{ask}{BOLD}{below}{BOLD:#} "),
            form,
        );
    }
    for (index, choice) in choices.iter().enumerate() {
        ask.push_str(&numbered(index + 1, choice));
    }
    let number = match question.multiple {
        true => "with the numbers of choices, such as 1,2",
        false => "with the number of a choice",
    };
    let answers = match (question.choices.is_empty(), question.free_text) {
        (true, _) => "in your own words".to_owned(),
        (false, true) => format!("{number}, or in your own words"),
        (false, false) => number.to_owned(),
    };
    ask.push_str(&format!(
        "{BOLD}{below}{BOLD:#} Answer {answers}  [c] cancel  [l] answer later"
    ));
    loop {
        let line = read_answer(terminal, &ask)?;
        match line.trim() {
            "" => {}
            "l" => return None,
            "c" => return Some(Answer::Cancelled),
            line => {
                let answer = answer(line, question);
                match question.check(&answer) {
                    Ok(()) => return Some(answer),
                    Err(error) => terminal.note(&error.to_string()),
                }
            }
        }
    }
}

/// Reads the fields of a form.
fn ask_form(terminal: &Terminal, tool: &str, ask: &str, form: &Form) -> Option<Answer> {
    let prompt = FormPrompt {
        question: &format!("{ask}{}", counted(form.fields())),
        send: &format!("Send it to the tool {}?", tool_name(tool)),
        refusals: &[
            ("c", "cancel", Some(Answer::Cancelled)),
            ("l", "answer later", None),
        ],
    };
    match prompt.fill_in(terminal, form.fields())? {
        Ok(fields) => Some(Answer::Fields { fields }),
        Err(refusal) => refusal,
    }
}

/// Formats a choice in its frame, with its number before the first row.
fn numbered(number: usize, choice: &str) -> String {
    let mut label = format!("[{number}]");
    let rows = choice.split('\n').map(|row| {
        let labelled = format!("{label:<NUMBER_COLUMNS$}{row}");
        label.clear();
        labelled + "\n"
    });
    rows.collect()
}

/// Parses an answer: the numbers of choices, else free text.
fn answer(line: &str, question: &Question) -> Answer {
    let chosen = choice_indexes(line).map(chosen);
    let text = || Answer::Text {
        text: line.to_owned(),
    };
    chosen
        .filter(|chosen| question.check(chosen).is_ok())
        .unwrap_or_else(text)
}

/// Parses the numbers of choices, from 1 and divided by commas, to indexes from 0.
pub(crate) fn choice_indexes(text: &str) -> Option<Vec<u32>> {
    let number = |text: &str| text.trim().parse::<u32>().ok()?.checked_sub(1);
    text.split(',').map(number).collect()
}

/// Returns the answer of one choice or several.
pub(crate) fn chosen(indexes: Vec<u32>) -> Answer {
    match indexes[..] {
        [index] => Answer::Choice { index },
        _ => Answer::Choices { indexes },
    }
}

#[cfg(test)]
mod tests {
    use super::answer;
    use agent_host_types::question::{Answer, Question};
    use pretty_assertions::assert_eq;

    fn text(text: &str) -> Answer {
        let text = text.to_owned();
        Answer::Text { text }
    }

    #[test]
    fn answer_with_choice_number_is_that_choice() {
        let question = Question {
            prompt: "Which?".to_owned(),
            choices: vec!["red".to_owned(), "blue".to_owned()],
            free_text: false,
            multiple: false,
            form: None,
        };
        let choice = |index| Answer::Choice { index };
        let cases = [
            ("1", choice(0), true),
            ("2", choice(1), true),
            ("0", text("0"), false),
            ("3", text("3"), false),
            ("red", text("red"), false),
        ];
        for (line, given, taken) in cases {
            assert_eq!(answer(line, &question), given, "{line}");
            assert_eq!(question.check(&given).is_ok(), taken, "{line}");
        }
        let own_words = Question {
            free_text: true,
            ..question
        };
        for line in ["0", "3", "red"] {
            assert_eq!(own_words.check(&answer(line, &own_words)), Ok(()), "{line}");
        }
        let several = Question {
            multiple: true,
            ..own_words
        };
        let choices = |indexes: &[u32]| Answer::Choices {
            indexes: indexes.to_vec(),
        };
        let cases = [
            ("1, 2", choices(&[0, 1])),
            ("2", choice(1)),
            ("1,3", text("1,3")),
            ("1,", text("1,")),
        ];
        for (line, given) in cases {
            assert_eq!(answer(line, &several), given, "{line}");
        }
    }
}
