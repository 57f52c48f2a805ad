//! Recognizes the errors of servers that no key, model name or wait would mend: an account without
//! credit, and a country that is not served.

/// The codes of an account without credit, in lower case: OpenAI and those that follow it, and
/// Anthropic.
const CREDIT_TAGS: [&str; 2] = ["insufficient_quota", "billing_error"];

/// The words of an account without credit, in lower case: Anthropic, OpenRouter, DeepSeek. Gemini
/// speaks of "billing details" for requests per minute, too, so these words mean nothing.
const CREDIT_WORDS: [&str; 3] = [
    "credit balance is too low",
    "insufficient credits",
    "insufficient balance",
];

/// The codes and words of a country that is not served, in lower case: OpenAI (two) and Gemini.
const REGION_TAGS: [&str; 1] = ["unsupported_country_region_territory"];
const REGION_WORDS: [&str; 2] = [
    "country, region, or territory not supported",
    "user location is not supported",
];

/// A fault of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccountFault {
    NoCredit,
    Region,
}

impl AccountFault {
    /// Returns the fault that an error of a server tells, by its status, its code and type, or in
    /// words.
    pub(super) fn from_error(status: u16, tags: &str, message: &str) -> Option<Self> {
        let (tags, message) = (tags.to_ascii_lowercase(), message.to_ascii_lowercase());
        let has = |known: &[&str]| tags.split_whitespace().any(|tag| known.contains(&tag));
        let says = |known: &[&str]| known.iter().any(|words| message.contains(words));
        match status {
            // "Payment required" (RFC 9110, section 15.5.3).
            402 => Some(Self::NoCredit),
            400..=499 if has(&CREDIT_TAGS) || says(&CREDIT_WORDS) => Some(Self::NoCredit),
            400..=499 if has(&REGION_TAGS) || says(&REGION_WORDS) => Some(Self::Region),
            _ => None,
        }
    }

    /// Describes the fault, with what helps.
    pub(super) fn text(self, url: &str, status: u16) -> String {
        match self {
            Self::NoCredit => format!(
                "The account at the model server {url} has no credit left ({status}). Add credit there, or choose a \
                 model of another provider."
            ),
            Self::Region => format!(
                "The model server {url} does not serve the country that the request came from ({status}). Choose a \
                 model of another provider."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AccountFault::{self, NoCredit, Region};
    use pretty_assertions::assert_eq;

    #[test]
    fn account_faults_are_told_from_limits_and_keys() {
        let cases = [
            (
                429,
                "insufficient_quota insufficient_quota",
                "You exceeded your current quota",
                Some(NoCredit),
            ),
            (
                400,
                "invalid_request_error",
                "Your credit balance is too low to access the API.",
                Some(NoCredit),
            ),
            (402, "", "Insufficient Balance", Some(NoCredit)),
            (402, "billing_error", "", Some(NoCredit)),
            (
                403,
                "unsupported_country_region_territory",
                "",
                Some(Region),
            ),
            (
                400,
                "FAILED_PRECONDITION",
                "User location is not supported for the API use.",
                Some(Region),
            ),
            // Gemini's limit of requests per minute.
            (
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota, please check your plan and billing details. Please retry in 34s.",
                None,
            ),
            (429, "rate_limit_error", "Too many requests", None),
            (401, "authentication_error", "invalid x-api-key", None),
            (500, "", "insufficient balance", None),
        ];
        for (status, tags, message, expected) in cases {
            let found = AccountFault::from_error(status, tags, message);
            assert_eq!(found, expected, "{status} {tags} {message}");
        }
    }
}
