use super::*;
use pretty_assertions::assert_eq;

/// The reasoning and the text: as a reader saw them in the end, and in the reply.
type Read = [(String, String); 2];

/// Reads a text that arrives in these pieces.
fn read<'t>(mode: ReasoningTags, pieces: impl IntoIterator<Item = &'t str>) -> Read {
    let shown = Mutex::new((String::new(), String::new()));
    let sink = |delta: ModelDelta<'_>| {
        let mut shown = shown.lock().unwrap();
        match delta {
            ModelDelta::Reasoning(text) => shown.0.push_str(text),
            ModelDelta::Text(text) => shown.1.push_str(text),
            ModelDelta::Restarted => *shown = Default::default(),
            delta => panic!("{delta:?}"),
        }
    };
    let thoughts = Thoughts::new(mode);
    for piece in pieces {
        thoughts.show(ModelDelta::Text(piece), &sink);
    }
    let reply = thoughts.finish(ModelReply::default(), &sink);
    [shown.into_inner().unwrap(), (reply.reasoning, reply.text)]
}

#[test]
fn tags_separate_reasoning_however_cut() {
    use ReasoningTags::{Auto, Closing};
    let quoted =
        "Write `<think>` to begin.\n\n```html\n<think>\n</think>\n```\nand </think> to end.";
    let xml = "Its form:\n<think>\na\n</think>\nis old.";
    for (mode, text, reasoning, answer) in [
        // DeepSeek R1 and Qwen3, by Ollama and llama.cpp without a parser.
        (
            Auto,
            "<think>\nOkay, so.\n</think>\n\nHello!",
            "Okay, so.\n",
            "Hello!",
        ),
        (Auto, "\n<think>a</think>b", "a", "b"),
        (Auto, "<think>\n\n</think>\n\nHi", "", "Hi"),
        (
            Auto,
            "<thinking>a</thinking>\n{\"b\": 1}",
            "a",
            "{\"b\": 1}",
        ),
        (Auto, "<reasoning>a</reasoning> b", "a", "b"),
        (Auto, "<thought>a</thought>b", "a", "b"),
        (Auto, "[THINK]a[/THINK]b", "a", "b"),
        // Another tag does not close it.
        (Auto, "<think>a</thinking>b</think>c", "a</thinking>b", "c"),
        // The template of QwQ and DeepSeek R1 writes the opening tag.
        (
            Auto,
            "Okay, so.\n\nIt is 4.\n</think>\n\n4",
            "Okay, so.\n\nIt is 4.",
            "4",
        ),
        (Auto, "a\n</think>", "a", ""),
        // Cut off.
        (Auto, "<think>a </thi", "a </thi", ""),
        // After the reasoning, tags are text.
        (
            Auto,
            "<think>a</think>b <think>c</think>",
            "a",
            "b <think>c</think>",
        ),
        // What only quotes a tag.
        (Auto, quoted, "", quoted),
        (Auto, xml, "", xml),
        (
            Auto,
            "The tag <think> begins it.",
            "",
            "The tag <think> begins it.",
        ),
        (Auto, "<thin", "", "<thin"),
        (Auto, "<thinker>a</thinker>", "", "<thinker>a</thinker>"),
        (Auto, "{\"tag\": \"<think>\"}", "", "{\"tag\": \"<think>\"}"),
        (Auto, "  ", "", "  "),
        (Auto, "", "", ""),
        (Closing, "a\nb</think>c", "a\nb", "c"),
        (Closing, "<think>a</think>b", "a", "b"),
        (Closing, "No reasoning at all.", "", "No reasoning at all."),
    ] {
        let pair = (reasoning.to_owned(), answer.to_owned());
        let expected = [pair.clone(), pair];
        assert_eq!(read(mode, [text]), expected, "{text:?}");
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let (left, right) = text.split_at(cut);
            assert_eq!(read(mode, [left, right]), expected, "{text:?} at {cut}");
        }
        let characters: Vec<String> = text.chars().map(String::from).collect();
        let characters = characters.iter().map(String::as_str);
        assert_eq!(read(mode, characters), expected, "{text:?} by characters");
    }
}

#[test]
fn reasoning_of_the_server_leaves_tags_in_the_text() {
    let thoughts = Thoughts::new(ReasoningTags::Auto);
    thoughts.show(ModelDelta::Reasoning("a"), &|_| {});
    thoughts.show(ModelDelta::Text("<think>b</think>"), &|_| {});
    let reply = thoughts.finish(ModelReply::default(), &|_| {});
    assert_eq!(
        (reply.reasoning.as_str(), reply.text.as_str()),
        ("a", "<think>b</think>")
    );
}

/// Work beyond the length of the text would not end here.
#[test]
fn hostile_text_is_read_to_its_end() {
    let text = "</think> x\n<".repeat(100_000);
    let pieces = text.as_bytes().chunks(3);
    let pieces = pieces.map(|piece| std::str::from_utf8(piece).unwrap());
    let [_, (reasoning, answer)] = read(ReasoningTags::Auto, pieces);
    assert_eq!((reasoning.len(), answer.len()), (0, text.len()));
    let inside = format!("<think>{text}").replace("</think>", "</thinx>");
    let [_, (reasoning, _)] = read(ReasoningTags::Auto, [inside.as_str()]);
    assert_eq!(reasoning.len(), text.len());
}
