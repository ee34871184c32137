//! How a student will like a lecture: a tower for whoever rates and one for what is rated, each with what is known of them, beside a
//! matrix factorisation that is told as much.
//!
//! ```text
//! cargo run --release --example recommender_system                # students' ratings of lectures, embedded
//! cargo run --release --example recommender_system -- ml-1m       # films, from a folder with MovieLens' files
//! cargo run --release --example recommender_system -- --seed 2 --passes 5
//! ```

use std::error::Error;
use std::path::PathBuf;

use clap::Parser;
use ndarray::Array3;
use paddle::data::ratings::{Part, Party, Rating, Ratings};
use paddle::data::{Categories, evaluations, movielens};
use paddle::event::EventKind;
use paddle::files::Notes;
use paddle::reader::{DataSet, Reader};
use paddle::updater::schedule::cosine;
use paddle::{Adam, Options, Parameters, Trainer, device, infer, plot};

use self::baseline::Baseline;
use self::model::{Catalogue, Question, recommender};

#[path = "recommender_system/baseline.rs"]
mod baseline;
#[path = "recommender_system/model.rs"]
mod model;

/// Learns how users rate items.
#[derive(Parser)]
struct Settings {
    /// A folder with MovieLens' files; the embedded ratings of lectures are taken without one.
    folder: Option<PathBuf>,
    /// Of the parameters at first, of the order of the ratings, and of which users are hidden.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often all ratings are gone through.
    #[arg(long, default_value_t = 10)]
    passes: usize,
    /// How many ratings are learned from, at most.
    #[arg(long, default_value_t = usize::MAX)]
    ratings: usize,
    /// Leaves out all that is known of users, items and ratings.
    #[arg(long)]
    blind: bool,
    /// A file for the trained parameters and the names that they belong to; the example `serve` answers with it.
    #[arg(long, default_value = "target/recommender_system/tastes.safetensors")]
    save: Option<PathBuf>,
}

/// The root of the mean squared error of ratings that were held out, and of those by users who were never seen.
struct Judged {
    rmse: f64,
    new_rmse: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let settings = Settings::parse();
    let all = match &settings.folder {
        Some(folder) => movielens::read(folder)?,
        None => evaluations::ratings(),
    };
    let towers = run(&all, &settings)?;
    let Baseline { judged, chosen, is_fine } = baseline::fit(&all, settings.seed);
    let items = if is_fine { "an item for each thing known" } else { "an item for each name" };
    println!("the best factorisation has {chosen:?}, and {items}");
    println!(
        "of users who were never seen: rmse={:.4} factorisation={:.4}",
        towers.new_rmse, judged.new_rmse
    );
    println!("recommender_system: rmse={:.4} factorisation={:.4}", towers.rmse, judged.rmse);
    Ok(())
}

/// Trains the towers on ratings, and judges them by others.
// ANCHOR: training
fn run(all: &Ratings, settings: &Settings) -> Result<Judged, Box<dyn Error>> {
    let learned: Vec<_> = all.of_part(Part::Training).take(settings.ratings).collect();
    let mut catalogue = catalogue(all, &learned);
    if settings.blind {
        catalogue.words = Categories::default();
    }
    let (users, items, words) = (catalogue.users.len(), catalogue.items.len(), catalogue.words.len());
    println!("{} ratings to learn from: of {} items by {} users", learned.len(), items - 1, users - 1);
    let sizes = recommender::cost::Sizes { USERS: users, ITEMS: items, WORDS: words, RATINGS: learned.len() };
    let (cost, rating) = (recommender::cost::with(sizes)?, catalogue.network()?);
    let mut parameters = Parameters::create_on(device()?, (&cost, &rating), settings.seed)?;

    let row = |of: &Rating| catalogue.row(&all.users[of.user].name, &all.items[of.item].name, all.about(of));
    let (passes, seed) = (settings.passes, settings.seed);
    let steps = passes * learned.len().div_ceil(512);
    let mut trainer = Trainer::new(Adam::new(cosine(0.02, steps as u64))).seed(seed);
    // Of some ratings the user is hidden: so what to say of users who were never seen is learned, too.
    let reader = learned.iter().copied().passes(passes).shuffle(learned.len()).seed(seed).with_random(seed);
    let reader = reader.map_data(|(of, mut random)| {
        let Question { user, item, about } = row(of);
        cost.row(if random.chance(0.1) { 0 } else { user }, item, about, of.stars)
    });
    let rmse = |parameters: &Parameters<_>, part| -> Result<f64, paddle::Error> {
        let of_part: Vec<_> = all.of_part(part).collect();
        let rows: Vec<_> = of_part.iter().map(|of| row(of)).collect();
        let found = infer(&rating, parameters, rows)?;
        let (found, of_part) = (found.at::<f32>(0)?, of_part.iter());
        let squares = found.iter().zip(of_part).map(|(found, of)| f64::from(found - of.stars).powi(2));
        Ok((squares.sum::<f64>() / found.len().max(1) as f64).sqrt())
    };
    std::fs::create_dir_all("target/recommender_system")?;
    let options = Options::default().curve("target/recommender_system/cost.svg");
    trainer.train(&cost, &mut parameters, reader.batch(512), options, |event| {
        if let EventKind::EndPass { pass, .. } = event.kind() {
            let error = rmse(event.parameters(), Part::Validation)?;
            println!("pass {pass}: rmse {error:.4} of the ratings for validation");
        }
        Ok(())
    })?;
    // ANCHOR_END: training
    draw(all, |questions| {
        let row =
            |(item, word): &(&str, String)| catalogue.question("", item, std::slice::from_ref(word)).ok();
        let Some(rows) = questions.iter().map(row).collect::<Option<Vec<_>>>() else { return Ok(Vec::new()) };
        Ok(infer(&rating, &parameters, rows)?.at::<f32>(0)?.iter().copied().collect())
    })?;
    // ANCHOR: save
    if let Some(path) = &settings.save {
        parameters.save_with(path, &Notes::default().with("catalogue", &catalogue))?;
    }
    // ANCHOR_END: save
    Ok(Judged { rmse: rmse(&parameters, Part::HeldOut)?, new_rmse: rmse(&parameters, Part::OfNewUser)? })
}

/// The names and words of the ratings to learn from.
fn catalogue(all: &Ratings, learned: &[&Rating]) -> Catalogue {
    let users = Categories::fit(learned.iter().map(|rating| &all.users[rating.user].name[..]));
    let items = Categories::fit(learned.iter().map(|rating| &all.items[rating.item].name[..]));
    let words = Categories::fit(learned.iter().flat_map(|rating| all.about(rating)));
    let about = |parties: &[Party], numbers: &Categories| {
        let mut about = vec![Vec::new(); numbers.len() - 1];
        for party in parties {
            if let Some(at) = (numbers.id(&party.name[..]) as usize).checked_sub(1) {
                about[at] = party.about.clone();
            }
        }
        about
    };
    let (about_users, about_items) = (about(&all.users, &users), about(&all.items, &items));
    Catalogue { users, items, words, about_users, about_items }
}

/// Draws what users who were never seen are expected to say of the 24 items that have the most ratings: bars for lectures of one to
/// six semesters ago. Films have none.
fn draw(
    all: &Ratings,
    ask: impl Fn(&[(&str, String)]) -> Result<Vec<f32>, paddle::Error>,
) -> Result<(), paddle::Error> {
    let mut counts = vec![0_usize; all.items.len()];
    all.ratings.iter().for_each(|rating| counts[rating.item] += 1);
    let mut order: Vec<_> = (0..all.items.len()).collect();
    order.sort_by_key(|&item| std::cmp::Reverse(counts[item]));
    let ago = |n: usize| if n == 1 { "1 semester ago".to_string() } else { format!("{n} semesters ago") };
    let most = order.iter().take(24).map(|&item| &all.items[item].name[..]);
    let questions: Vec<_> = most.flat_map(|item| (1..=6).map(move |n| (item, ago(n)))).collect();
    let stars = ask(&questions)?;
    if stars.is_empty() {
        return Ok(());
    }
    // From 1 star at the bottom to 5 at the top.
    let bars = Array3::from_shape_fn((stars.len() / 6, 32, 30), |(item, y, x)| {
        let height = 32.0 * (stars[6 * item + x / 5] - 1.0) / 4.0;
        if x % 5 < 4 && height > (31 - y) as f32 { 1.0 } else { 0.0 }
    });
    plot::grid("target/recommender_system/lectures.png", &bars, 8)?;
    Ok(())
}

#[cfg(test)]
#[path = "tests/recommender_system.rs"]
mod tests;
