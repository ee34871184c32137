//! What a user would test of the model of `recommender_system`.

use paddle::Network;
use paddle::attribute::network;
use paddle::testing::{assert_learns, assert_program, check_gradients};

use super::*;

fn settings(seed: u64, passes: usize, ratings: usize) -> Settings {
    Settings { folder: None, seed, passes, ratings, blind: false, save: None }
}

fn run_with(seed: u64, passes: usize, ratings: usize) -> Judged {
    run(&evaluations::ratings(), &settings(seed, passes, ratings)).unwrap()
}

fn small() -> Network<recommender::cost::Spec> {
    recommender::cost::with(recommender::cost::Sizes { USERS: 3, ITEMS: 3, WORDS: 2, RATINGS: 1 }).unwrap()
}

#[test]
fn a_small_model() {
    let net = small();
    // The second user likes the second item in one circumstance only.
    let rows = [
        net.row(1, 1, vec![1.0, 0.0], 5.0),
        net.row(1, 2, vec![1.0, 0.0], 4.0),
        net.row(2, 2, vec![1.0, 0.0], 1.0),
        net.row(2, 2, vec![0.0, 1.0], 5.0),
        net.row(0, 1, vec![0.0, 1.0], 2.0),
    ];
    check_gradients(&net, &rows).unwrap();
    assert_program(&net, "examples/golden/recommender_system_cost.txt");
    let rating = recommender::rating::Sizes { USERS: 3, ITEMS: 3, WORDS: 2 };
    assert_program(
        &recommender::rating::with(rating).unwrap(),
        "examples/golden/recommender_system_rating.txt",
    );
    // Towards zero nothing is pulled hard enough to matter where the errors count for many ratings.
    let sizes = recommender::cost::Sizes { USERS: 3, ITEMS: 3, WORDS: 2, RATINGS: 1_000_000 };
    assert_learns(&recommender::cost::with(sizes).unwrap(), &rows);
}

/// Users who were never seen take a branch of their own: what others are like does not matter for them, and the rows of a batch do not meet.
#[test]
fn a_row_is_rated_by_itself() {
    let sizes = recommender::rating::Sizes { USERS: 3, ITEMS: 3, WORDS: 2 };
    let net = recommender::rating::with(sizes).unwrap();
    let parameters = Parameters::create_with_seed(&net, 3).unwrap();
    let rows = [net.row(0, 1, vec![1.0, 0.0]), net.row(2, 1, vec![1.0, 0.0]), net.row(0, 2, vec![0.0, 1.0])];
    let together = infer(&net, &parameters, &rows).unwrap();
    for (k, row) in rows.iter().enumerate() {
        let alone = infer(&net, &parameters, [row]).unwrap();
        assert_eq!(alone.at::<f32>(0).unwrap()[[0]], together.at::<f32>(0).unwrap()[[k]]);
    }
}

#[test]
fn a_question_has_what_is_known() {
    let all = evaluations::ratings();
    let learned: Vec<_> = all.of_part(Part::Training).take(2_000).collect();
    let catalogue = catalogue(&all, &learned);
    let of = learned[1];
    let (user, item) = (&all.users[of.user].name, &all.items[of.item].name);
    let fields = |row: Question| (row.user, row.item, row.about);
    let question =
        |user: &str, item: &str, words: &[String]| catalogue.question(user, item, words).map(fields);
    assert_eq!(question(user, item, &of.about), Ok(fields(catalogue.row(user, item, all.about(of)))));
    assert_eq!(question("nobody", item, &[]).map(|(user, ..)| user), Ok(0));
    assert_eq!(question(user, "no lecture", &[]), Err(model::Unknown::Item));
    let words = [of.about[0].clone(), "boring".to_string()];
    assert_eq!(question(user, item, &words), Err(model::Unknown::Word(1)));
}

#[test]
fn a_short_training_is_better_than_the_mean() {
    let judged = run_with(1, 4, 20_000);
    assert!(judged.rmse < 1.30, "{}", judged.rmse);
}

/// A made-up folder in MovieLens' format: whoever is young likes comedies, and nobody else does.
#[test]
fn films_of_a_folder() {
    let folder = std::env::temp_dir().join(format!("paddle-recommender-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let is_young = |user: usize| user.is_multiple_of(2);
    let users = (0..60).map(|user| format!("{user}::F::{}::1::0\n", if is_young(user) { 18 } else { 56 }));
    let genres = |movie: usize| if movie.is_multiple_of(3) { "Comedy" } else { "Drama" };
    let movies = (0..40).map(|movie| format!("{movie}::A film ({movie})::{}\n", genres(movie)));
    let likes = |user, movie| if is_young(user) == (genres(movie) == "Comedy") { 5 } else { 2 };
    let ratings = (0..60)
        .flat_map(|user| (0..40).map(move |movie| format!("{user}::{movie}::{}::0\n", likes(user, movie))));
    std::fs::write(folder.join("users.dat"), users.collect::<String>()).unwrap();
    std::fs::write(folder.join("movies.dat"), movies.collect::<String>()).unwrap();
    std::fs::write(folder.join("ratings.dat"), ratings.collect::<String>()).unwrap();
    let all = movielens::read(&folder);
    std::fs::remove_dir_all(&folder).unwrap();
    let judged = run(&all.unwrap(), &settings(1, 30, usize::MAX)).unwrap();
    assert!(judged.rmse < 0.3, "{}", judged.rmse);
}

#[test]
fn what_is_saved_answers_as_what_was_trained() {
    let path = std::env::temp_dir().join(format!("paddle-recommender-{}.safetensors", std::process::id()));
    let settings = Settings { save: Some(path.clone()), ..settings(1, 1, 2_000) };
    run(&evaluations::ratings(), &settings).unwrap();
    let catalogue: Catalogue = paddle::files::note(&path, "catalogue").unwrap();
    let net = catalogue.network().unwrap();
    let mut parameters = Parameters::create(&net).unwrap();
    parameters.load(&path, paddle::files::Load::Strict).unwrap();
    std::fs::remove_file(&path).unwrap();
    let question = catalogue.question("1", "1050", &[]).unwrap();
    assert!(infer(&net, &parameters, [question]).unwrap().at::<f32>(0).unwrap()[[0]] > 1.0);
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let [first, second] = [1, 1].map(|seed| run_with(seed, 1, 5_000));
    assert_eq!((first.rmse, first.new_rmse), (second.rmse, second.new_rmse));
}

#[test]
#[ignore = "takes a minute, in release"]
fn all_seeds_are_better_than_the_factorisation() {
    let all = evaluations::ratings();
    for seed in 1..=3 {
        let Judged { rmse, new_rmse } = run(&all, &settings(seed, 10, usize::MAX)).unwrap();
        let baseline = baseline::fit(&all, seed).judged;
        assert!(rmse < baseline.rmse - 0.005, "seed {seed}: {rmse} {}", baseline.rmse);
        assert!(new_rmse < baseline.new_rmse, "seed {seed}: {new_rmse} {}", baseline.new_rmse);
    }
}

// ANCHOR: exercise_1
/// How much do the towers lose if nothing is known but who rates what? Then they are a factorisation themselves.
#[test]
fn exercise_1() {
    let with = run_with(1, 8, usize::MAX);
    let blind =
        run(&evaluations::ratings(), &Settings { blind: true, ..settings(1, 8, usize::MAX) }).unwrap();
    assert!(blind.rmse > with.rmse + 0.01, "{} {}", blind.rmse, with.rmse);
}
// ANCHOR_END: exercise_1

// ANCHOR: exercise_2
#[network]
mod items {
    const ITEMS: usize = 4;
    const WORDS: usize = 2;

    pub fn worth(item: Tensor<i64, _>, about: Tensor<f32, _, WORDS>) -> Tensor<f32, _, 1> {
        if item == 0 { fc(about, 1, param = "new") } else { embedding(item, [ITEMS, 1], param = "worth") }
    }
}

/// An item that was never seen has the number 0, too. Give its tower a branch: what is known of a new item says what it is worth, and
/// does not matter for others.
#[test]
fn exercise_2() {
    let net = items::worth();
    let parameters = Parameters::create_with_seed(&net, 1).unwrap();
    let row = |item, about: [f32; 2]| net.row(item, about);
    let rows = [row(0, [1.0, 0.0]), row(0, [0.0, 1.0]), row(3, [1.0, 0.0]), row(3, [0.0, 1.0])];
    let outputs = infer(&net, &parameters, rows).unwrap();
    let worth = outputs.at::<f32>(0).unwrap();
    assert_ne!(worth[[0, 0]], worth[[1, 0]]);
    assert_eq!(worth[[2, 0]], worth[[3, 0]]);
    // Two of four rows took the branch with a product.
    assert_eq!(outputs.stats().products().iter().map(|product| product.rows).collect::<Vec<_>>(), [2]);
}
// ANCHOR_END: exercise_2
