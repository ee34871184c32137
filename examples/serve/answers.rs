//! What the service is asked, and what it answers.

use std::error::Error;

use paddle::infer;
use paddle::service::{Answers, Refusal};
use serde::{Deserialize, Serialize};

use super::Trained;
use super::model::{Question, Unknown};

/// What is asked: what each of these users will say of each of these items.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    rows: Vec<AskedRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedRow {
    user: String,
    item: String,
    /// What is known of this rating; of a user who was never seen, also what is known of the user.
    #[serde(default)]
    about: Vec<String>,
}

#[derive(Serialize)]
struct Answered {
    ratings: Vec<f32>,
}

// ANCHOR: answers
impl Answers for Trained {
    type Row = Question;
    type Result = f32;

    /// The rows of a request, or what is wrong with it and where.
    fn rows(&self, body: &[u8]) -> Result<Vec<Question>, Refusal> {
        let asked: Asked = serde_json::from_slice(body).map_err(|error| Refusal::bad(error.to_string()))?;
        let question = |(at, AskedRow { user, item, about }): (usize, &AskedRow)| {
            self.catalogue.question(user, item, about).map_err(|unknown| {
                Refusal::bad(match unknown {
                    Unknown::Item => format!("rows[{at}].item: there is no `{item}`"),
                    Unknown::Word(word) => {
                        format!("rows[{at}].about[{word}]: nothing is known of `{}`", about[word])
                    }
                })
            })
        };
        asked.rows.iter().enumerate().map(question).collect()
    }

    /// Computes the rows of all requests that have come.
    fn compute(&self, rows: Vec<Question>) -> Result<Vec<f32>, Box<dyn Error + Send + Sync>> {
        let outputs = infer(&self.net, &self.parameters, rows)?;
        Ok(outputs.at::<f32>(0)?.iter().copied().collect())
    }

    fn answer(&self, ratings: Vec<f32>) -> Result<String, Refusal> {
        Ok(serde_json::to_string(&Answered { ratings }).expect("numbers have a form in JSON"))
    }
}
// ANCHOR_END: answers
