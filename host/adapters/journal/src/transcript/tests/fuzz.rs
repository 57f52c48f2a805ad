//! Damaged conversations: refused in one sentence, or a session that can be imported.

use super::{AI_SDK_4, AI_SDK_6, ANTHROPIC, OPENAI};
use crate::{
    copy::TrialSink,
    transcript::Transcript,
    transfer::{ImportAs, ImportSource, import},
};
use proptest::{prelude::*, sample::select};

proptest! {
    #[test]
    fn damaged_conversation_is_imported_or_refused(
        file in select(vec![OPENAI, ANTHROPIC, AI_SDK_4, AI_SDK_6]),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..24, "[\\[\\]{}:,\"a0]{0,3}"), 1..4),
    ) {
        let mut text = file.to_owned();
        for (at, removed, added) in cuts {
            let at = text.floor_char_boundary(at.index(text.len()));
            let end = text.ceil_char_boundary((at + removed).min(text.len()));
            text.replace_range(at..end, &added);
        }
        if let Ok(Some(transcript)) = Transcript::read(&mut text.as_bytes()) {
            let source = ImportSource::Conversation(transcript);
            prop_assert!(import(source, ImportAs::Copy, &mut TrialSink).is_ok());
        }
    }
}
