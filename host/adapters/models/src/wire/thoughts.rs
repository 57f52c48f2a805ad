//! Reasoning in the text of local models: servers without a parser for a model's template leave it
//! there, between tags. It becomes reasoning as if the server had sent it as such.

#[cfg(test)]
mod tests;

use crate::settings::ReasoningTags;
use agent_host_engine::model::{DeltaSink, ModelDelta};
use agent_host_types::model::ModelReply;
use std::sync::{Mutex, PoisonError};

/// The tags that begin and end reasoning: of `DeepSeek`, Qwen and most others; of fine-tuned models;
/// of Gemini behind OpenAI's wire; of Mistral.
const TAGS: [(&str, &str); 5] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
    ("[THINK]", "[/THINK]"),
];

/// The white space that may precede the first tag, in bytes.
const MAX_LEADING_BYTES: usize = 256;

/// The bytes of a line that are kept to compare them with a tag or a fence.
const MAX_LINE_BYTES: usize = 64;

/// Separates the reasoning in the text of one reply from its answer.
pub(super) struct Thoughts {
    mode: ReasoningTags,
    state: Mutex<SplitterState>,
}

#[derive(Default)]
struct SplitterState {
    place: TextPlace,
    /// The start of a tag, or white space, that is not shown yet.
    held: String,
    text: String,
    reasoning: String,
    line: ArrivingLine,
}

/// The place of the next text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TextPlace {
    /// At the start of the reply.
    #[default]
    Start,
    /// In reasoning, up to the end of this tag, or of any.
    Reasoning(Option<&'static str>),
    /// After reasoning, before the answer.
    Gap,
    /// In text that a closing tag on a line of its own makes reasoning: some templates write the
    /// opening tag into the prompt.
    Text,
    /// In the answer, where tags are text.
    Answer,
}

/// The line that is arriving.
#[derive(Default)]
struct ArrivingLine {
    /// Its position in the text.
    starts_at: usize,
    start: String,
    /// A line of the text opens a block of code that is not closed.
    in_code: bool,
    /// A line of the text opens a tag, which a closing one belongs to.
    has_opening: bool,
}

impl Thoughts {
    /// Creates a separator for one reply.
    pub(super) fn new(mode: ReasoningTags) -> Self {
        Self {
            mode,
            state: Mutex::default(),
        }
    }

    /// Emits a delta of the reply, as text or reasoning.
    pub(super) fn show(&self, delta: ModelDelta<'_>, sink: DeltaSink<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match delta {
            ModelDelta::Text(text) => state.push(text, self.mode, sink),
            ModelDelta::Reasoning(text) => {
                // A server that sends reasoning as such leaves no tags.
                if state.place == TextPlace::Start && self.mode == ReasoningTags::Auto {
                    state.place = TextPlace::Answer;
                }
                state.reasoning.push_str(text);
                sink(delta);
            }
            delta => sink(delta),
        }
    }

    /// Emits what was held back, and sets the text and the reasoning of the reply.
    pub(super) fn finish(self, reply: ModelReply, sink: DeltaSink<'_>) -> ModelReply {
        let state = self.state.into_inner();
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.end(self.mode, sink);
        ModelReply {
            text: state.text,
            reasoning: state.reasoning,
            ..reply
        }
    }
}

impl SplitterState {
    fn push(&mut self, text: &str, mode: ReasoningTags, sink: DeltaSink<'_>) {
        let mut rest = text;
        let joined;
        if !self.held.is_empty() {
            joined = std::mem::take(&mut self.held) + text;
            rest = &joined;
        }
        while !rest.is_empty() {
            rest = match self.place {
                TextPlace::Start => self.begin(rest, mode),
                TextPlace::Reasoning(close) => self.reason(rest, close, sink),
                TextPlace::Gap => {
                    let answer = rest.trim_start();
                    if !answer.is_empty() {
                        self.place = TextPlace::Answer;
                    }
                    answer
                }
                TextPlace::Text => self.watch(rest, sink),
                TextPlace::Answer => {
                    self.write(rest, sink);
                    ""
                }
            };
        }
    }

    /// Reads the start of the reply. Returns what follows an opening tag, or the whole.
    fn begin<'t>(&mut self, text: &'t str, mode: ReasoningTags) -> &'t str {
        let start = text.trim_start();
        let leading = text.len() - start.len();
        for (open, close) in TAGS {
            if let Some(rest) = start.strip_prefix(open) {
                self.place = TextPlace::Reasoning(Some(close));
                return rest;
            }
        }
        let may_open = TAGS.iter().any(|(open, _)| open.starts_with(start));
        if may_open && leading <= MAX_LEADING_BYTES {
            text.clone_into(&mut self.held);
            return "";
        }
        self.place = match mode {
            ReasoningTags::Closing => TextPlace::Reasoning(None),
            ReasoningTags::Auto => TextPlace::Text,
            ReasoningTags::Off => TextPlace::Answer,
        };
        text
    }

    /// Reads reasoning. Returns what follows its closing tag.
    fn reason<'t>(
        &mut self,
        text: &'t str,
        close: Option<&'static str>,
        sink: DeltaSink<'_>,
    ) -> &'t str {
        let closes = TAGS.iter().map(|(_, tag)| *tag);
        let closes = closes.filter(|tag| close.is_none_or(|close| close == *tag));
        let found = closes
            .clone()
            .filter_map(|tag| Some((text.find(tag)?, tag)));
        if let Some((at, tag)) = found.min() {
            let (reasoning, rest) = text.split_at(at);
            self.think(reasoning, sink);
            self.place = TextPlace::Gap;
            return rest.get(tag.len()..).unwrap_or_default();
        }
        let held = closes.map(|tag| prefix_at_end(text, tag)).max();
        let (reasoning, held) = text.split_at(text.len() - held.unwrap_or(0));
        held.clone_into(&mut self.held);
        self.think(reasoning, sink);
        ""
    }

    /// Reads text that a closing tag on a line of its own makes reasoning. Returns what follows it.
    fn watch<'t>(&mut self, text: &'t str, sink: DeltaSink<'_>) -> &'t str {
        let before = self.text.len();
        let mut begin = 0;
        while let Some(length) = rest(text, begin).find('\n') {
            let end = begin + length;
            self.line.push(text.get(begin..end).unwrap_or_default());
            if self.line.end() {
                self.text.push_str(text.get(..begin).unwrap_or_default());
                self.void_text(sink);
                return rest(text, end);
            }
            begin = end + 1;
            self.line.starts_at = before + begin;
        }
        self.line.push(rest(text, begin));
        self.write(text, sink);
        ""
    }

    /// Makes the text before the closing line reasoning; it was shown as text.
    fn void_text(&mut self, sink: DeltaSink<'_>) {
        let text = std::mem::take(&mut self.text);
        sink(ModelDelta::Restarted);
        let reasoning = text.get(..self.line.starts_at).unwrap_or_default();
        self.think(reasoning.trim_end(), sink);
        self.place = TextPlace::Gap;
    }

    fn end(&mut self, mode: ReasoningTags, sink: DeltaSink<'_>) {
        let held = std::mem::take(&mut self.held);
        match self.place {
            TextPlace::Reasoning(None) if mode == ReasoningTags::Closing => {
                // Nothing ended the reasoning, so it was the answer.
                let reasoning = std::mem::take(&mut self.reasoning) + &held;
                sink(ModelDelta::Restarted);
                self.write(&reasoning, sink);
            }
            TextPlace::Reasoning(_) => self.think(&held, sink),
            TextPlace::Text if self.line.end() => self.void_text(sink),
            TextPlace::Start | TextPlace::Gap | TextPlace::Text | TextPlace::Answer => {
                self.write(&held, sink)
            }
        }
    }

    fn write(&mut self, text: &str, sink: DeltaSink<'_>) {
        if !text.is_empty() {
            self.text.push_str(text);
            sink(ModelDelta::Text(text));
        }
    }

    fn think(&mut self, reasoning: &str, sink: DeltaSink<'_>) {
        // Templates write a line end after the opening tag.
        let reasoning = match self.reasoning.is_empty() {
            true => reasoning.trim_start(),
            false => reasoning,
        };
        if !reasoning.is_empty() {
            self.reasoning.push_str(reasoning);
            sink(ModelDelta::Reasoning(reasoning));
        }
    }
}

impl ArrivingLine {
    fn push(&mut self, text: &str) {
        let left = MAX_LINE_BYTES.saturating_sub(self.start.len());
        let cut = text.floor_char_boundary(left.min(text.len()));
        self.start.push_str(text.get(..cut).unwrap_or_default());
    }

    /// Ends the line. Returns whether it is a closing tag that closes the text before it.
    fn end(&mut self) -> bool {
        let line = std::mem::take(&mut self.start);
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            self.in_code = !self.in_code;
        }
        self.has_opening |= TAGS.iter().any(|(open, _)| line.starts_with(open));
        let is_closing = TAGS.iter().any(|(_, close)| line == *close);
        is_closing && !self.in_code && !self.has_opening
    }
}

fn rest(text: &str, from: usize) -> &str {
    text.get(from..).unwrap_or_default()
}

/// Returns the length of the longest proper prefix of a tag at the end of a text.
fn prefix_at_end(text: &str, tag: &str) -> usize {
    let prefixes = (1..tag.len()).rev();
    let mut found = prefixes.filter(|length| {
        let prefix = tag.get(..*length);
        prefix.is_some_and(|prefix| text.ends_with(prefix))
    });
    found.next().unwrap_or(0)
}
