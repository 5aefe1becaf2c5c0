//! Chat answers with their analysis.

use tokenline::chat_analysis::{
    ConfidenceScore, LlmAnalysis, LlmKeyword, LlmResponse, LlmSubject, RESPONSE_SCHEMA,
};

use super::random::Random;
use super::{Corpus, Wire, words};

/// One as a model writes it, and the largest that passes.
pub(super) fn all() -> Vec<Corpus> {
    let corpus = |name, answer: LlmResponse| {
        let (bytes, wire) = ((answer.to_json_pretty() + "\n").into(), Wire::default());
        Corpus { name, bytes, records: 1, schema: RESPONSE_SCHEMA, wire }
    };
    let random = &mut Random::new(6);
    vec![
        corpus("usual", answer(random, [300, 60, 150], 1, 4)),
        corpus("largest", answer(random, [10_000, 200, 500], 3, 10)),
    ]
}

/// An answer whose response, descriptions and summary have so many characters.
fn answer(random: &mut Random, characters: [usize; 3], subjects: usize, keywords: usize) -> LlmResponse {
    let [response, description, summary_update] = characters.map(|characters| text(random, characters));
    let confidence: ConfidenceScore = "0.90".parse().expect("a number from 0 to 1");
    let keyword = |at| LlmKeyword { term: format!("keyword-{at}"), confidence: confidence.clone() };
    let subject = |at| LlmSubject {
        name: format!("subject-{at}"),
        description: description.clone(),
        is_new: true,
        keywords: (0..keywords).map(keyword).collect(),
    };
    let subjects = (0..subjects).map(subject).collect();
    LlmResponse { response, analysis: LlmAnalysis { subjects, summary_update } }
}

/// So many characters of sentences.
fn text(random: &mut Random, characters: usize) -> String {
    let mut text = String::new();
    while text.len() < 4 * characters {
        text += &words::sentence(random);
        text.push(' ');
    }
    text.chars().take(characters).collect()
}
