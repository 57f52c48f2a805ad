//! Asks the person at the terminal what a call wants to know.

use super::{BOLD, Terminal, YELLOW, harmless, harmless_line, prompt::read_line};
use agent_host_core::question::{Answer, Question};

/// Shows a call's question and reads the answer: the number of a choice, or words where they are allowed. The end of the
/// input means: not now.
pub(crate) fn ask_question(terminal: &Terminal, tool: &str, question: &Question) -> Option<Answer> {
    terminal.note(&format!(
        "\n{YELLOW}{} asks:{YELLOW:#} {}",
        harmless_line(tool),
        harmless(&question.prompt)
    ));
    for (index, choice) in question.choices.iter().enumerate() {
        terminal.note(&format!("  [{}] {}", index + 1, harmless_line(choice)));
    }
    loop {
        terminal.note(&format!(
            "{BOLD}Your answer?{BOLD:#} {}  [c] cancel  [l] answer later",
            match (question.choices.is_empty(), question.free_text) {
                (true, _) => "in your own words",
                (false, true) => "the number of a choice, or your own words",
                (false, false) => "the number of a choice",
            }
        ));
        let line = read_line()?;
        match line.trim() {
            "" => {}
            "l" => return None,
            "c" => return Some(Answer::Cancelled),
            line => {
                let answer = answer(line, question);
                match question.check(&answer) {
                    Ok(()) => return Some(answer),
                    Err(why) => terminal.note(&why),
                }
            }
        }
    }
}

/// A number that names a choice is that choice; everything else is words.
fn answer(line: &str, question: &Question) -> Answer {
    let number = line
        .parse::<u32>()
        .ok()
        .and_then(|number| number.checked_sub(1));
    match number.filter(|index| (*index as usize) < question.choices.len()) {
        Some(index) => Answer::Choice { index },
        None => Answer::Text {
            text: line.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::answer;
    use agent_host_core::question::{Answer, Question};
    use pretty_assertions::assert_eq;

    fn text(text: &str) -> Answer {
        let text = text.to_owned();
        Answer::Text { text }
    }

    #[test]
    fn a_number_is_a_choice_where_it_names_one() {
        let question = Question {
            prompt: "Which?".to_owned(),
            choices: vec!["red".to_owned(), "blue".to_owned()],
            free_text: false,
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
    }
}
