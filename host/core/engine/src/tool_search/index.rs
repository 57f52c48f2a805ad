//! An index of tool definitions, ranked by Okapi BM25.

use agent_host_types::tool::ToolDefinition;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Term saturation and length normalisation, as commonly chosen (Robertson and Zaragoza 2009, "The
/// Probabilistic Relevance Framework: BM25 and Beyond", section 3.4).
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// How often a word of a name counts, beside one of a description.
const NAME_WEIGHT: f64 = 3.0;

/// Words of tool definitions with their weights.
pub(crate) struct Index {
    documents: Vec<Document>,
    /// The number of documents with each word.
    frequency: HashMap<String, usize>,
    /// The average length of a document; not 0.
    average: f64,
}

struct Document {
    name: String,
    weights: HashMap<String, f64>,
    length: f64,
}

impl Index {
    pub(crate) fn new<'a>(tools: impl Iterator<Item = &'a ToolDefinition>) -> Self {
        let documents: Vec<Document> = tools.map(Document::of).collect();
        let mut frequency = HashMap::new();
        for word in documents.iter().flat_map(|it| it.weights.keys()) {
            *frequency.entry(word.clone()).or_default() += 1;
        }
        let total: f64 = documents.iter().map(|it| it.length).sum();
        Self {
            average: (total / documents.len().max(1) as f64).max(1.0),
            documents,
            frequency,
        }
    }

    /// Returns the positions of the best documents, the best first; equal ones in their order. A
    /// query that has the name of a tool finds it first.
    pub(crate) fn search(&self, query: &str, most: usize) -> Vec<usize> {
        let named: HashSet<&str> = query
            .split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-'))
            .collect();
        let words: HashSet<String> = words(query).collect();
        let mut ranked: Vec<(bool, f64, usize)> = (0..)
            .zip(&self.documents)
            .map(|(at, document)| {
                let score = words.iter().map(|word| self.score(document, word)).sum();
                (named.contains(document.name.as_str()), score, at)
            })
            .filter(|(is_named, score, _)| *is_named || *score > 0.0)
            .collect();
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
        ranked.into_iter().take(most).map(|(.., at)| at).collect()
    }

    fn score(&self, document: &Document, word: &str) -> f64 {
        let Some(&weight) = document.weights.get(word) else {
            return 0.0;
        };
        let with = self.frequency.get(word).copied().unwrap_or_default() as f64;
        let without = self.documents.len() as f64 - with;
        let rarity = (1.0 + (without + 0.5) / (with + 0.5)).ln();
        let norm = K1 * (1.0 - B + B * document.length / self.average);
        rarity * weight * (K1 + 1.0) / (weight + norm)
    }
}

impl Document {
    fn of(tool: &ToolDefinition) -> Self {
        let mut weights = HashMap::new();
        let mut add = |text: &str, weight: f64| {
            for word in words(text) {
                *weights.entry(word).or_default() += weight;
            }
        };
        add(&tool.name, NAME_WEIGHT);
        add(tool.title.as_deref().unwrap_or_default(), 1.0);
        add(&tool.description, 1.0);
        let parameters = tool
            .input_schema
            .get("properties")
            .and_then(Value::as_object);
        for (name, schema) in parameters.into_iter().flatten() {
            add(name, 1.0);
            let description = schema.get("description").and_then(Value::as_str);
            add(description.unwrap_or_default(), 1.0);
        }
        Self {
            name: tool.name.clone(),
            length: weights.values().sum(),
            weights,
        }
    }
}

/// Returns the words of a text in lower case, those of `camelCase` and `snake_case` apart, and
/// plurals as singulars.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut split = String::with_capacity(text.len());
    let mut was_lower = false;
    for c in text.chars() {
        if was_lower && c.is_uppercase() {
            split.push(' ');
        }
        was_lower = c.is_lowercase();
        split.push(if c.is_alphanumeric() { c } else { ' ' });
    }
    let words: Vec<String> = split.split_whitespace().map(singular).collect();
    words.into_iter()
}

fn singular(word: &str) -> String {
    let word = word.to_lowercase();
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
        _ => word,
    }
}
