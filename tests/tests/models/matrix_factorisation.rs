//! Matrix factorisation: ratings from vectors and biases of users and films.

use paddle::attribute::network;

#[network]
pub mod ratings {
    const USERS: usize = 100;
    const FILMS: usize = 200;
    const RANK: usize = 8;
    const MEAN: f32 = 3.5;

    fn rate(user: Tensor<i64, _>, film: Tensor<i64, _>) -> Tensor<f32, _, 1> {
        let taste = embedding(user, [USERS, RANK], init = normal(0.0, 0.1), decay = 1e-4);
        let style = embedding(film, [FILMS, RANK], init = normal(0.0, 0.1), decay = 1e-4);
        let generous = embedding(user, [USERS, 1], init = constant(0.0));
        let good = embedding(film, [FILMS, 1], init = constant(0.0));
        MEAN + generous + good + sum(taste * style, axis = 1, keep_dim = true)
    }

    pub fn cost(user: Tensor<i64, _>, film: Tensor<i64, _>, stars: Tensor<f32, _, 1>) -> (Tensor<f32>, _) {
        let mse = mean(square(rate(user, film) - stars));
        let rmse = sqrt(mse);
        (mse, rmse)
    }

    pub fn stars(user: Tensor<i64, _>, film: Tensor<i64, _>) -> _ {
        clip(rate(user, film), 1.0, 5.0)
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    let cost = crate::model(ratings::cost());
    let names = ["taste", "style", "generous", "good"];
    assert_eq!(cost.parameter_names(), names.map(|name| format!("rate.{name}.w")));
    vec![cost, crate::model(ratings::stars())]
}
