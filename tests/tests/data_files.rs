//! Files of data: what is read from them, what is wrong with them and where; how rows are prepared; random changes.

use std::fs;
use std::path::{Path, PathBuf};

use paddle::data::{
    Categories, DataError, Delimited, JsonLines, Standardizer, augment, digits, random_split,
};
use paddle::event::EventKind;
use paddle::files::{Notes, note};
use paddle::reader::{DataSet, Item, Random, Reader};
use paddle::{Adam, Error, Load, Options, Parameters, Trainer, checkpoint, infer, network};
use serde::{Deserialize, Serialize};

/// A file of its own with this content.
fn file(name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
    fs::write(&path, content).unwrap();
    path
}

#[derive(Deserialize, Debug, Clone, PartialEq)]
struct House {
    rooms: f32,
    age: Option<f32>,
    street: Option<String>,
}

/// What is wrong with a file of houses, without its path; the file is removed.
fn mistake(path: &Path) -> String {
    let error = Delimited::<House>::csv(path).and_then(Delimited::rows).unwrap_err().to_string();
    fs::remove_file(path).unwrap();
    error.strip_prefix(&path.display().to_string()).unwrap().to_string()
}

#[test]
fn values_between_commas_tabs_and_others() {
    let expected = [
        House { rooms: 5.0, age: Some(30.0), street: Some("Elm, \"north\"".to_string()) },
        House { rooms: 4.5, age: None, street: None },
    ];
    let csv = file("a.csv", "street,age,price,rooms\r\n\"Elm, \"\"north\"\"\",30,1,5\r\n,,2,4.5\r\n");
    let tsv = file("a.tsv", "rooms\tage\tstreet\n5\t30\t\"Elm, \"\"north\"\"\"\n4.5\t\t\n");
    let semicolons = file("a.txt", "5;30;\"Elm, \"\"north\"\"\"\n4.5;;\n");
    assert_eq!(Delimited::<House>::csv(&csv).unwrap().rows().unwrap(), expected);
    assert_eq!(Delimited::<House>::tsv(&tsv).unwrap().rows().unwrap(), expected);
    assert_eq!(Delimited::<House>::without_names(&semicolons, b';').unwrap().rows().unwrap(), expected);
    let tuples: Vec<(f32, Option<f32>, String)> =
        Delimited::without_names(&semicolons, b';').unwrap().rows().unwrap();
    assert_eq!(tuples[1], (4.5, None, String::new()));
    for nothing in ["", "rooms,age,street\n"] {
        let path = file("b.csv", nothing);
        assert_eq!(Delimited::<House>::csv(&path).unwrap().rows().unwrap(), []);
        fs::remove_file(path).unwrap();
    }
    for path in [csv, tsv, semicolons] {
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn what_is_wrong_with_a_row_is_said_with_its_place() {
    let rows = |rows: &str| mistake(&file("wrong.csv", format!("street,age,rooms\nElm,3,5\n{rows}")));
    assert_eq!(rows("Oak,old,5\n"), ", line 3, column 2: found `old`: invalid float literal");
    assert_eq!(
        rows("\n\"Oak\nnorth\",1,2\nElm,1,\n"),
        ", line 6, column 3: found ``: cannot parse float from empty string"
    );
    assert_eq!(rows("Oak,1\n"), ", line 3: found 2 columns, expected 3");
    assert_eq!(
        mistake(&file("bytes.csv", b"rooms\n1\n\xff\n")),
        ", line 3: found bytes that are not UTF-8, expected text"
    );
    let lacks = mistake(&file("lacks.csv", "street\nElm\n"));
    assert!(lacks.starts_with(", line 2, column 1: ") && lacks.contains("missing field `rooms`"), "{lacks}");
    let nowhere = Delimited::<House>::csv("no/such/file.csv").map(drop).unwrap_err();
    assert!(matches!(nowhere, DataError::Io { .. }), "{nowhere}");

    // A training that reads it ends with the place in the reader and in the file.
    let net = network!(|x: Tensor<f32, _, 1>| mean(square(fc(x, 1))));
    let path = file("training.csv", "rooms,age,street\n1,,\n2,,\nmany,,\n");
    let reader = Delimited::<House>::csv(&path).unwrap().map_data(|house| house.rooms).batch(2);
    let (mut parameters, mut trainer) = (Parameters::create(&net).unwrap(), Trainer::new(Adam::new(0.1)));
    let trained = trainer.train(&net, &mut parameters, reader, Options::default(), |_| Ok(()));
    let Err(Error::Reader(failed)) = trained else { panic!("{trained:?}") };
    assert_eq!((failed.pass, failed.batch), (0, 1));
    let error = failed.failure.error().downcast_ref::<DataError>();
    assert!(matches!(error, Some(DataError::Value { line: 4, column: 1, .. })), "{failed}");
    fs::remove_file(path).unwrap();
}

#[test]
fn lines_of_json() {
    let path = file("a.jsonl", "{\"rooms\": 5, \"age\": 30, \"street\": \"Elm\"}\n\n  {\"rooms\": 4.5}");
    let houses = JsonLines::<House>::open(&path).unwrap().rows().unwrap();
    assert_eq!(houses[0], House { rooms: 5.0, age: Some(30.0), street: Some("Elm".to_string()) });
    assert_eq!((houses.len(), houses[1].rooms, houses[1].age), (2, 4.5, None));
    fs::remove_file(&path).unwrap();
    for (content, expected) in [
        (
            &b"{\"rooms\": 1}\n{\"rooms\": \"one\"}\n"[..],
            "line 2, column 15: invalid type: string \"one\", expected f32",
        ),
        (b"\n{\"rooms\": 1", "line 2, column 11: EOF while parsing an object"),
        (b"{\"age\": 1}", "line 1, column 10: missing field `rooms`"),
        (b"{\"rooms\": 1}\n\xff\n", "line 2: found bytes that are not UTF-8, expected text"),
    ] {
        let path = file("wrong.jsonl", content);
        let error = JsonLines::<House>::open(&path).unwrap().rows().unwrap_err().to_string();
        assert!(error.ends_with(&format!(", {expected}")), "{error}");
        // As a reader it is a failure in its place.
        let items: Vec<_> = JsonLines::<House>::open(&path).unwrap().collect();
        assert!(items.iter().any(|item| matches!(item, Item::Failed(_))));
        fs::remove_file(path).unwrap();
    }
}

/// How rows become numbers is fitted on the training rows, saved in the file of the parameters, and used where these are.
#[test]
fn preparation_is_saved_with_the_model() {
    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct Preparation {
        numbers: Standardizer<2>,
        streets: Categories,
    }

    impl Preparation {
        fn apply(&self, house: &House) -> ([f32; 2], i64) {
            let numbers = [house.rooms, house.age.unwrap_or(f32::NAN)];
            (self.numbers.apply(numbers), self.streets.id(house.street.as_deref()))
        }
    }

    let text: String = (0..40)
        .map(|k| {
            format!(
                "{},{},{}\n",
                k % 6,
                if k % 4 == 0 { String::new() } else { k.to_string() },
                ["Elm", "Oak", ""][k % 3]
            )
        })
        .collect();
    let path = file("houses.csv", format!("rooms,age,street\n{text}"));
    let houses = Delimited::<House>::csv(&path).unwrap().rows().unwrap();
    fs::remove_file(path).unwrap();
    let (training, testing) = random_split(houses, 0.25, 1);
    let numbers = training.iter().map(|house| [house.rooms, house.age.unwrap_or(f32::NAN)]);
    let preparation = Preparation {
        numbers: Standardizer::fit_features(numbers),
        streets: Categories::fit(training.iter().map(|house| house.street.as_deref())),
    };
    let net = network!(|numbers: Tensor<f32, _, 2>, street: Tensor<i64, _>| {
        fc(concat([numbers, embedding(street, [3, 2])], axis = -1), 1)
    });
    let parameters = Parameters::create(&net).unwrap();
    let model = file("model.safetensors", "");
    parameters.save_with(&model, &Notes::default().with("preparation", &preparation)).unwrap();

    let mut served = Parameters::create_with_seed(&net, 9).unwrap();
    served.load(&model, Load::Strict).unwrap();
    let read: Preparation = note(&model, "preparation").unwrap();
    assert_eq!(read, preparation);
    let unknown = House { rooms: 3.0, age: None, street: Some("Fir".to_string()) };
    assert_eq!((read.apply(&unknown).0[1], read.apply(&unknown).1), (0.0, 0));
    let answer = |parameters: &Parameters, preparation: &Preparation| {
        let rows: Vec<_> = testing.iter().chain([&unknown]).map(|house| preparation.apply(house)).collect();
        infer(&net, parameters, rows).unwrap().at::<f32>(0).unwrap().to_owned()
    };
    assert_eq!(answer(&served, &read), answer(&parameters, &preparation));
    assert!(
        note::<Categories>(&model, "preparation").is_err() && note::<Preparation>(&model, "other").is_err()
    );
    assert!(serde_json::from_str::<Categories>("[\"b\", \"a\"]").is_err());
    fs::remove_file(model).unwrap();
}

/// A training on images that are changed at random is resumed in the middle of a pass, and ends with the same bits.
#[test]
fn random_changes_repeat_after_resume() {
    let net = network!(|image: Tensor<f32, _, 8, 8>, label: Tensor<i64, _, 1>| {
        mean(softmax_with_cross_entropy(fc(image, 10), label))
    });
    let path = file("augmented.checkpoint", "");
    fs::remove_file(&path).unwrap();
    let reader = || {
        let images = digits::images()[..60].to_vec();
        images.passes(3).shuffle(60).seed(2).with_random(3).parallel_map(
            2,
            |(digit, mut random): (paddle::data::Image<8, 8>, Random)| {
                let mut pixels = digit.pixels;
                augment::shift(&mut pixels, random.between(-1, 1), random.between(-1, 1), 0.0);
                augment::rotate(&mut pixels, 10.0 * random.normal(), 0.0);
                if random.chance(0.5) {
                    augment::cut_out(
                        &mut pixels,
                        [random.between(-1, 7), random.between(-1, 7)],
                        [2, 2],
                        0.0,
                    );
                }
                (pixels, digit.label)
            },
        )
    };
    let train = |parameters: &mut Parameters, trainer: &mut Trainer<Adam>, stop_at: (usize, usize)| {
        let options = Options::default().checkpoint(&path);
        let reader = reader().batch(16);
        let trained = trainer.train(&net, parameters, reader, options, |event| {
            if matches!(event.kind(), EventKind::EndIteration { pass, batch, .. } if (pass, batch) == stop_at)
            {
                event.stop();
            }
            Ok(())
        });
        trained.unwrap();
    };
    let new = || (Parameters::create(&net).unwrap(), Trainer::new(Adam::new(0.01)));
    let (mut whole, mut trainer) = new();
    train(&mut whole, &mut trainer, (9, 0));
    let (mut first, mut trainer) = new();
    train(&mut first, &mut trainer, (1, 1));
    let (mut second, mut trainer) = new();
    trainer.resume(&net, &mut second, &path).unwrap();
    assert_eq!(trainer.steps(&net).unwrap(), 6);
    train(&mut second, &mut trainer, (9, 0));
    for name in whole.names() {
        assert_eq!(whole.get::<f32>(name).unwrap(), second.get::<f32>(name).unwrap(), "{name}");
    }
    fs::remove_file(checkpoint::previous(&path)).unwrap();
    fs::remove_file(path).unwrap();
}
