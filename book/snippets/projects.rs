//! Four small projects, as users write them.

/// A table of numbers and words, and prices.
mod regression {
    // ANCHOR: regression
    use paddle::data::{Categories, Delimited, Standardizer, random_split};
    use paddle::files::{Notes, note};
    use paddle::metrics::{MeanAbsoluteError, Measure};
    use paddle::reader::{DataSet, Reader};
    use paddle::{Adam, Load, Options, Parameters, Trainer, attribute::network, infer};

    #[network]
    mod house {
        fn price(numbers: Tensor<f32, _, 2>, street: Tensor<i64, _>) -> Tensor<f32, _, 1> {
            let known = concat([numbers, embedding(street, [50, 4])], axis = 1);
            fc(fc(known, 16, act = relu), 1)
        }

        pub fn cost(
            numbers: Tensor<f32, _, 2>,
            street: Tensor<i64, _>,
            price_: Tensor<f32, _, 1>,
        ) -> Tensor<f32> {
            mean(square(price(numbers, street) - price_))
        }

        pub fn predict(numbers: Tensor<f32, _, 2>, street: Tensor<i64, _>) -> Tensor<f32, _, 1> {
            price(numbers, street)
        }
    }

    /// Rooms, age, street and price.
    type House = (f32, Option<f32>, Option<String>, f32);

    fn numbers(house: &House) -> [f32; 2] {
        [house.0, house.1.unwrap_or(f32::NAN)]
    }

    /// Learns from a file, saves the model, and returns the mean absolute error on a quarter of the rows.
    pub(super) fn train(csv: &str, model: &str) -> Result<f64, Box<dyn std::error::Error>> {
        let houses: Vec<House> = Delimited::csv(csv)?.rows()?;
        let (training, testing) = random_split(houses, 0.25, 7);
        let standardizer = Standardizer::fit_features(training.iter().map(numbers));
        let streets = Categories::fit(training.iter().map(|house| house.2.as_deref()));
        let asked = |house: &House| (standardizer.apply(numbers(house)), streets.id(house.2.as_deref()));
        let (cost, predict) = (house::cost(), house::predict());
        let rows = training.iter().map(|house| {
            let (numbers, street) = asked(house);
            cost.row(numbers, street, house.3)
        });
        let rows: Vec<_> = rows.collect();
        let mut parameters = Parameters::create((&cost, &predict))?;
        let reader = rows.iter().passes(200).shuffle(1000).batch(16);
        Trainer::new(Adam::new(0.01)).train(
            &cost,
            &mut parameters,
            reader,
            Options::default(),
            |_| Ok(()),
        )?;
        parameters.save_with(
            model,
            &Notes::default().with("standardizer", &standardizer).with("streets", &streets),
        )?;

        let found = infer(
            &predict,
            &parameters,
            testing.iter().map(|house| asked(house).into()).collect::<Vec<house::predict::Row>>(),
        )?;
        let mut error = MeanAbsoluteError::default();
        let targets: Vec<f32> = testing.iter().map(|house| house.3).collect();
        error.add((found.at::<f32>(0)?, ndarray::ArrayView1::from(&targets).into_dyn()))?;
        Ok(error.value())
    }

    /// A row of JSON, answered with JSON: what a handler of any HTTP server calls.
    pub(super) fn serve(
        model: &str,
    ) -> Result<impl Fn(&str) -> Result<String, Box<dyn std::error::Error>> + use<>, paddle::Error> {
        let net = house::predict();
        let mut parameters = Parameters::create(&net)?;
        parameters.load(model, Load::Strict)?;
        let standardizer: Standardizer<2> = note(model, "standardizer")?;
        let streets: Categories = note(model, "streets")?;
        Ok(move |request: &str| {
            let (rooms, age, street): (f32, Option<f32>, Option<String>) = serde_json::from_str(request)?;
            let numbers = standardizer.apply([rooms, age.unwrap_or(f32::NAN)]);
            let found = infer(&net, &parameters, [net.row(numbers, streets.id(street.as_deref()))])?;
            Ok(serde_json::json!({ "price": found.at::<f32>(0)?[[0, 0]] }).to_string())
        })
    }
    // ANCHOR_END: regression
}

/// A residual network for digits.
mod residual {
    // ANCHOR: residual
    use paddle::data::Image;
    use paddle::reader::{DataSet, Reader};
    use paddle::updater::schedule::cosine;
    use paddle::{Adam, Options, Parameters, Trainer, attribute::network, test};

    #[network]
    mod digit {
        fn block(x: Tensor<f32, _, C, H, W>) -> Tensor<f32, _, C, H, W> {
            let inner = batch_norm(conv2d(x, C, 3, padding = same, bias = false), act = relu);
            relu(x + batch_norm(conv2d(inner, C, 3, padding = same, bias = false)))
        }

        pub fn cost(image: Tensor<f32, _, 28, 28>, label: Tensor<i64, _, 1>) -> (Tensor<f32>, Tensor<f32>) {
            let mut x = reshape(image, [1, 28, 28]);
            for (i, channels) in [(0, 16), (1, 32)] {
                x = batch_norm(
                    conv2d(x, channels, 3, stride = 2, padding = 1, param = "narrow{i}"),
                    act = relu,
                    param = "norm{i}",
                );
                x = block(block(x, param = "first{i}"), param = "second{i}");
            }
            let logits = fc(global_pool2d(x, kind = avg), 10);
            let accuracy = accuracy(softmax(logits), label);
            (mean(softmax_with_cross_entropy(logits, label)), accuracy)
        }
    }

    /// Trains on images, and returns how many of the others are told apart: of `mnist::read(folder)`, for example.
    pub(super) fn train(
        (training, testing): (Vec<Image<28, 28>>, Vec<Image<28, 28>>),
        passes: usize,
    ) -> Result<f32, paddle::Error> {
        let net = digit::cost();
        let rows = |images: &[Image<28, 28>]| {
            images.iter().map(|image| net.row(image.pixels, image.label)).collect::<Vec<_>>()
        };
        let (learned, held_out) = (rows(&training), rows(&testing));
        let mut parameters = Parameters::create(&net)?;
        let rate = cosine(2e-3, (passes * learned.len().div_ceil(64)) as u64);
        let reader = learned.iter().passes(passes).shuffle(learned.len()).seed(1).batch(64);
        Trainer::new(Adam::new(rate)).train(
            &net,
            &mut parameters,
            reader,
            Options::default().progress(),
            |_| Ok(()),
        )?;
        Ok(test(&net, &parameters, held_out.iter().batch(256))?.metric("accuracy").unwrap_or_default())
    }
    // ANCHOR_END: residual
}

/// Names, letter by letter.
mod characters {
    // ANCHOR: characters
    use paddle::reader::{DataSet, Reader};
    use paddle::{Adam, InferOptions, Options, Parameters, Trainer, attribute::network, infer_with};

    #[network]
    mod names {
        /// `a` to `z` from 1, and `END`, which is around each name.
        const LETTERS: usize = 27;
        const END: usize = 0;
        const LONGEST: usize = 20;

        fn next(letter: _, h: _) -> (_, _) {
            let h = gru_unit(embedding(letter, [LETTERS, 16]), h, 64, param = ".unit");
            (fc(h, LETTERS), h)
        }

        pub fn cost(before: Seq<i64>, letters: Seq<Tensor<i64, 1>>) -> Tensor<f32> {
            let mut h = zeros(64);
            let losses = for (letter, right) in (before, letters) {
                let (logits, now) = next(letter, h, param = "next");
                h = now;
                softmax_with_cross_entropy(logits, right)
            };
            mean(losses)
        }

        /// A name for each row, behind `first`, which is `END`. The lower the temperature, the likelier its letters.
        pub fn write(first: Tensor<i64, _>, temperature: Tensor<f32, _, 1>) -> Seq<i64> {
            let (mut letter, mut h, mut length) = (first, zeros(64), 0);
            let name = while length < LONGEST && (length == 0 || letter != END) {
                let (logits, now) = next(letter, h, param = "next");
                h = now;
                // A draw from the softmax: Gumbel (1954).
                let noise = -log(-log(uniform_random(logits, [LETTERS], min = 1e-6, max = 0.999999)));
                letter = argmax(logits / temperature + noise, axis = 1);
                length += 1;
                letter
            };
            name
        }
    }

    /// Learns names, and makes others.
    pub(super) fn train(
        known: &[&str],
        passes: usize,
        wanted: usize,
    ) -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let (cost, write) = (names::cost(), names::write());
        let ids = |name: &str| name.bytes().map(|letter| i64::from(letter - b'`')).collect::<Vec<_>>();
        let rows: Vec<_> = known
            .iter()
            .map(|name| cost.row([&[0], &ids(name)[..]].concat(), [&ids(name)[..], &[0]].concat()))
            .collect();
        let mut parameters = Parameters::create((&cost, &write))?;
        let reader = rows.iter().passes(passes).shuffle(rows.len()).seed(1).batch(32);
        Trainer::new(Adam::new(5e-3)).train(
            &cost,
            &mut parameters,
            reader,
            Options::default(),
            |_| Ok(()),
        )?;
        let made = infer_with(
            &write,
            &parameters,
            vec![write.row(0, 0.7); wanted],
            InferOptions::default().seed(1),
        )?;
        let letter = |&id: &i64| (id > 0).then(|| char::from(b'`' + id as u8));
        Ok(made.sequences("name")?.iter().map(|name| name.iter().filter_map(letter).collect()).collect())
    }
    // ANCHOR_END: characters
}

/// A variational autoencoder, and a classifier behind its encoder, which stays as it is.
mod autoencoder {
    // ANCHOR: autoencoder
    use paddle::data::Image;
    use paddle::reader::{DataSet, Reader};
    use paddle::{Adam, Options, Parameters, Trainer, attribute::network, test};

    #[network]
    mod vae {
        const CODE: usize = 8;

        fn encode(image: Tensor<f32, _, 8, 8>) -> (_, _) {
            let hidden = fc(image, 64, act = relu);
            (fc(hidden, CODE, param = ".mean"), fc(hidden, CODE, param = ".log_var"))
        }

        /// Kingma and Welling (2014): the cost of a code and of what is made of it.
        pub fn cost(image: Tensor<f32, _, 8, 8>) -> Tensor<f32> {
            let (mean_, log_var) = encode(image, param = "encoder");
            let code = mean_ + exp(log_var / 2) * gaussian_random(mean_, [CODE]);
            let made = fc(fc(code, 64, act = relu, param = "decoder.hidden"), 64, param = "decoder.image");
            let wrong = sum(sigmoid_cross_entropy_with_logits(made, reshape(image, [64])), axis = 1);
            let divergence = sum(exp(log_var) + square(mean_) - 1.0 - log_var, axis = 1) / 2;
            mean(wrong + divergence)
        }

        pub fn classify(image: Tensor<f32, _, 8, 8>, label: Tensor<i64, _, 1>) -> (Tensor<f32>, Tensor<f32>) {
            let (code, _) = encode(image, param = "encoder");
            let logits = fc(fc(code, 32, act = relu, param = "head.hidden"), 10, param = "head.digit");
            let accuracy = accuracy(softmax(logits), label);
            (mean(softmax_with_cross_entropy(logits, label)), accuracy)
        }
    }

    /// Learns to describe images by eight numbers, and then to tell them apart by these; returns how many of the others are.
    pub(super) fn train(
        training: &[Image<8, 8>],
        testing: &[Image<8, 8>],
        passes: usize,
    ) -> Result<f32, paddle::Error> {
        let (cost, classify) = (vae::cost(), vae::classify());
        let mut parameters = Parameters::create((&cost, &classify))?;
        let reader = training
            .iter()
            .map(|image| image.pixels)
            .collect::<Vec<_>>()
            .passes(passes)
            .shuffle(2000)
            .batch(64);
        Trainer::new(Adam::new(2e-3)).train(
            &cost,
            &mut parameters,
            reader,
            Options::default(),
            |_| Ok(()),
        )?;

        let rows = |images: &[Image<8, 8>]| {
            images.iter().map(|image| classify.row(image.pixels, image.label)).collect::<Vec<_>>()
        };
        let reader = rows(training).passes(passes).shuffle(2000).batch(64);
        let frozen = Options::default().freeze(vae::params::encoder);
        Trainer::new(Adam::new(2e-3)).train(&classify, &mut parameters, reader, frozen, |_| Ok(()))?;
        Ok(test(&classify, &parameters, rows(testing).iter().batch(256))?
            .metric("accuracy")
            .unwrap_or_default())
    }
    // ANCHOR_END: autoencoder
}

#[test]
fn prices_from_a_table() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("paddle-projects-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let path = |name: &str| folder.join(name).display().to_string();
    let mut text = "rooms,age,street,price\n".to_string();
    for i in 0..120 {
        let (rooms, age, street) = (2 + i % 5, 3 * (i % 7), ["Elm", "Oak", ""][i % 3]);
        let price = rooms as f32 - age as f32 / 20.0 + [0.0, 1.0, 0.5][i % 3];
        let age = if i % 11 == 0 { String::new() } else { age.to_string() };
        text += &format!("{rooms},{age},{street},{price}\n");
    }
    std::fs::write(folder.join("houses.csv"), text)?;
    let error = regression::train(&path("houses.csv"), &path("houses.safetensors"))?;
    assert!(error < 0.3, "{error}");
    let answer = regression::serve(&path("houses.safetensors"))?;
    let known: serde_json::Value = serde_json::from_str(&answer("[4, 6, \"Oak\"]")?)?;
    assert!((known["price"].as_f64().unwrap() - 4.7).abs() < 0.6, "{known}");
    // A street that was never seen has a number, too; what is no row of JSON is an error with its place.
    assert!(answer("[4, null, \"Ash\"]")?.starts_with("{\"price\":"));
    assert!(answer("[4, 6]").unwrap_err().to_string().contains("column"));
    Ok(std::fs::remove_dir_all(folder)?)
}

#[test]
fn digits_by_a_residual_network() -> Result<(), paddle::Error> {
    // The embedded digits, enlarged.
    let large = |image: paddle::data::Image<8, 8>| {
        let pixel = |y: usize, x: usize| image.pixels[(y / 3).min(7)][(x / 3).min(7)];
        paddle::data::Image {
            pixels: std::array::from_fn(|y| std::array::from_fn(|x| pixel(y, x))),
            label: image.label,
        }
    };
    let few: Vec<_> = paddle::data::digits::images().into_iter().take(500).map(large).collect();
    let accuracy = residual::train(paddle::data::split(few, 5), 8)?;
    assert!(accuracy > 0.8, "{accuracy}");
    Ok(())
}

#[test]
fn names_letter_by_letter() -> Result<(), Box<dyn std::error::Error>> {
    let known = ["anna", "hanna", "johanna", "susanna", "rosanna", "joanna"];
    let made = characters::train(&known, 150, 20)?;
    assert_eq!(made.len(), 20);
    let likely = made.iter().filter(|name| name.ends_with("anna")).count();
    assert!(likely > 15, "{made:?}");
    Ok(())
}

#[test]
fn a_classifier_behind_a_frozen_encoder() -> Result<(), paddle::Error> {
    let (training, testing) = paddle::data::split(paddle::data::digits::images(), 5);
    let accuracy = autoencoder::train(&training, &testing, 40)?;
    assert!(accuracy > 0.8, "{accuracy}");
    Ok(())
}
