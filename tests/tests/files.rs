//! Parameters to and from files: what comes back, what does not fit, and files that are damaged, cut off or not there.

use std::fs;
use std::path::{Path, PathBuf};

use ndarray::array;
use paddle::files::{FileFault, Mismatch};
use paddle::{Error, EventKind, Load, Options, Parameters, Sgd, Trainer};

#[paddle::attribute::network]
mod nets {
    pub fn two(x: Tensor<f32, _, 3>) -> Tensor<f32, _, 2> {
        fc(tanh(fc(x, 4, param = "first")), 2, param = "second")
    }

    pub fn prefixed(x: Tensor<f32, _, 3>) -> Tensor<f32, _, 2> {
        fc(tanh(fc(x, 4, param = "encoder.first")), 2, param = "head")
    }

    pub fn cost(x: Tensor<f32, _, 3>) -> Tensor<f32> {
        mean(square(fc(x, 2, param = "cost")))
    }
}

/// Some names of `nets`, with other shapes.
#[paddle::attribute::network]
mod shapes {
    pub fn longer(x: Tensor<f32, _, 3>) -> Tensor<f32, _, 5> {
        fc(tanh(fc(x, 4, param = "first")), 5, param = "second", act = tanh) + fc(x, 5, param = "third")
    }
}

/// Those of another element type.
#[paddle::attribute::network]
mod types {
    pub fn double(x: Tensor<f64, _, 3>) -> Tensor<f64, _, 2> {
        fc(tanh(fc(x, 4, param = "first")), 2, param = "second")
    }
}

/// A path for a file of a test, which is not there yet.
fn path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("paddle-files-{}-{name}", std::process::id()));
    let _ = fs::remove_file(&path);
    path
}

/// All parameters, bit for bit.
fn bits(parameters: &Parameters) -> Vec<u32> {
    let of = |name| parameters.get::<f32>(name).unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    parameters.names().flat_map(of).collect()
}

/// The fault of the file at this path.
fn fault(error: Error, path: &Path) -> FileFault {
    match error {
        Error::File(error) => {
            assert_eq!(error.path, path);
            error.fault
        }
        other => panic!("not of the file: {other}"),
    }
}

fn two(seed: u64) -> Parameters {
    Parameters::create_with_seed(&nets::two(), seed).unwrap()
}

#[test]
fn what_is_saved_is_loaded_bit_for_bit() {
    let path = path("whole");
    let mut saved = two(1);
    saved.set("first.b", &array![f32::NAN, -0.0, f32::INFINITY, 1e-45]).unwrap();
    saved.save(&path).unwrap();
    let mut loaded = two(2);
    assert_ne!(bits(&loaded), bits(&saved));
    let report = loaded.load(&path, Load::Strict).unwrap();
    assert_eq!((report.loaded, report.missing.len(), report.extra.len()), (4, 0, 0));
    assert_eq!(bits(&loaded), bits(&saved));
    // The same parameters are the same bytes.
    let bytes = fs::read(&path).unwrap();
    loaded.save(&path).unwrap();
    assert!(fs::read(&path).unwrap() == bytes);
    fs::remove_file(path).unwrap();
}

/// The form that the format's description gives, so that others read it. The checksums are those of Python's `zlib.crc32`: of the
/// elements, and of the first eight bytes and the header, while its own is zeros.
#[test]
fn the_bytes_of_a_file() {
    let path = path("bytes");
    let mut parameters = Parameters::create(&nets::cost()).unwrap();
    parameters.set("cost.w", &array![[1.0_f32, 2.0], [3.0, 4.0], [5.0, 6.0]]).unwrap();
    parameters.set("cost.b", &array![7.0_f32, 8.0]).unwrap();
    parameters.save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    let header = r#"{"__metadata__":{"paddle.checksums":"crc32","paddle.crc32":"905f5bda","paddle.crc32.cost.b":"2a4eeda4","paddle.crc32.cost.w":"1939e524"},"cost.b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"cost.w":{"dtype":"F32","shape":[3,2],"data_offsets":[8,32]}}"#;
    let padded = header.len().next_multiple_of(8);
    assert_eq!(bytes[..8], (padded as u64).to_le_bytes());
    assert_eq!(std::str::from_utf8(&bytes[8..8 + padded]).unwrap().trim_end(), header);
    let elements: Vec<f32> =
        bytes[8 + padded..].as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    assert_eq!(elements, [7.0, 8.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    fs::remove_file(path).unwrap();
}

#[test]
fn what_does_not_fit_is_reported_and_changes_nothing() {
    let path = path("differs");
    two(1).save(&path).unwrap();
    let mut longer = Parameters::create(&shapes::longer()).unwrap();
    let before = bits(&longer);
    let error = longer.load(&path, Load::Strict).unwrap_err();
    let message = error.to_string();
    let FileFault::Differs(report) = fault(error, &path) else { panic!("{message}") };
    assert_eq!(report.loaded, 2);
    assert_eq!(report.missing, ["third.w", "third.b"]);
    assert!(report.extra.is_empty());
    let [weights, bias] = &report.mismatched[..] else { panic!("{message}") };
    let (name, found, expected) = ("second.w".to_string(), "F32[4, 2]".to_string(), "F32[4, 5]".to_string());
    assert_eq!(*weights, Mismatch { parameter: name.clone(), tensor: name, found, expected });
    assert_eq!(bias.parameter, "second.b");
    assert!(
        message.ends_with(
            "it lacks `third.w`, `third.b`; `second.w` is F32[4, 2] there, but F32[4, 5] is expected, `second.b` is \
             F32[2] there, but F32[5] is expected; `Load::Intersect` takes what fits"
        ),
        "{message}"
    );
    assert_eq!(bits(&longer), before);

    // The intersection leaves the others as they are, and tells of them.
    assert_eq!(longer.load(&path, Load::Intersect).unwrap(), report);
    assert_eq!(longer.get::<f32>("first.w").unwrap(), two(1).get::<f32>("first.w").unwrap());
    assert_eq!(bits(&longer)[16..], before[16..]);
    fs::remove_file(path).unwrap();
}

#[test]
fn a_file_with_more_is_not_strictly_the_same() {
    let path = path("extra");
    let longer = Parameters::create(&shapes::longer()).unwrap();
    longer.save(&path).unwrap();
    let mut two = two(1);
    let FileFault::Differs(report) = fault(two.load(&path, Load::Strict).unwrap_err(), &path) else {
        panic!()
    };
    assert_eq!((report.missing.len(), report.extra), (0, vec!["third.b".to_string(), "third.w".to_string()]));
    // Nothing in common is an error for all.
    let mut cost = Parameters::create(&nets::cost()).unwrap();
    let FileFault::Differs(report) = fault(cost.load(&path, Load::Intersect).unwrap_err(), &path) else {
        panic!()
    };
    assert_eq!((report.loaded, report.missing.len()), (0, 2));
    fs::remove_file(path).unwrap();
}

#[test]
fn names_are_mapped() {
    let path = path("mapped");
    two(1).save(&path).unwrap();
    let mut parameters = Parameters::create(&nets::prefixed()).unwrap();
    let head = parameters.get::<f32>("head.w").unwrap();
    let map = |name: &str| name.strip_prefix("encoder.").map(str::to_string);
    let report = parameters.load(&path, Load::Map(&map)).unwrap();
    assert_eq!((report.loaded, report.extra), (2, vec!["second.b".to_string(), "second.w".to_string()]));
    assert_eq!(parameters.get::<f32>("encoder.first.w").unwrap(), two(1).get::<f32>("first.w").unwrap());
    assert_eq!(parameters.get::<f32>("head.w").unwrap(), head);
    let before = bits(&parameters);
    let map = |name: &str| Some(name.replace("head", "third").replace("encoder.first", "second"));
    let error = parameters.load(&path, Load::Map(&map)).unwrap_err();
    let message = error.to_string();
    let FileFault::Differs(report) = fault(error, &path) else { panic!("{message}") };
    assert_eq!(report.missing, ["third.w", "third.b"]);
    assert!(
        message.contains("`second.w` is F32[4, 2] there, but F32[3, 4] is expected for `encoder.first.w`"),
        "{message}"
    );
    assert_eq!(bits(&parameters), before);
    fs::remove_file(path).unwrap();
}

#[test]
fn another_element_type() {
    let path = path("double");
    two(1).save(&path).unwrap();
    let mut double = Parameters::create(&types::double()).unwrap();
    let FileFault::Differs(report) = fault(double.load(&path, Load::Strict).unwrap_err(), &path) else {
        panic!()
    };
    assert_eq!(report.mismatched[0].found, "F32[3, 4]");
    assert_eq!(report.mismatched[0].expected, "F64[3, 4]");
    double.save(&path).unwrap();
    let first = double.get::<f64>("first.w").unwrap();
    let mut again = Parameters::create_with_seed(&types::double(), 5).unwrap();
    again.load(&path, Load::Strict).unwrap();
    assert_eq!(again.get::<f64>("first.w").unwrap(), first);
    fs::remove_file(path).unwrap();
}

/// Every beginning of a file, and one byte too many, is an error that changes nothing.
#[test]
fn files_that_are_cut_off() {
    let path = path("cut");
    let mut parameters = two(1);
    parameters.save(&path).unwrap();
    let (bytes, before) = (fs::read(&path).unwrap(), bits(&parameters));
    let mut tensors = Vec::new();
    for end in 0..bytes.len() {
        fs::write(&path, &bytes[..end]).unwrap();
        for load in [Load::Strict, Load::Intersect] {
            match fault(parameters.load(&path, load).unwrap_err(), &path) {
                FileFault::HeaderLength { left, .. } => assert_eq!(left as usize, end.saturating_sub(8)),
                FileFault::Truncated { tensor, end: of_tensor, length } => {
                    assert!(length == end as u64 && of_tensor > length);
                    tensors.push(tensor);
                }
                other => panic!("{end}: {other}"),
            }
        }
    }
    tensors.dedup();
    assert_eq!(tensors, ["first.b", "first.w", "second.b", "second.w"]);
    fs::write(&path, [&bytes[..], &[0]].concat()).unwrap();
    let fault = fault(parameters.load(&path, Load::Strict).unwrap_err(), &path);
    assert!(matches!(fault, FileFault::Trailing { .. }), "{fault}");
    assert_eq!(bits(&parameters), before);
    fs::remove_file(path).unwrap();
}

/// A change of any byte of the header is an error.
#[test]
fn files_whose_header_is_damaged() {
    let path = path("damaged");
    let mut parameters = two(1);
    parameters.save(&path).unwrap();
    let (bytes, before) = (fs::read(&path).unwrap(), bits(&parameters));
    let header = 8 + u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let mut accepted = 0;
    for at in 0..header {
        for change in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
            let mut damaged = bytes.clone();
            damaged[at] ^= change;
            fs::write(&path, &damaged).unwrap();
            match parameters.load(&path, Load::Strict) {
                Ok(_) => accepted += 1,
                Err(error) => drop(fault(error, &path)),
            }
        }
    }
    assert_eq!(accepted, 0);
    assert_eq!(bits(&parameters), before);
    fs::remove_file(path).unwrap();
}

/// Without checksums, it is an error, or a file that has what is asked for.
#[test]
fn headers_without_checksums_that_are_damaged() {
    let (path, mut parameters) = (path("damaged-old"), two(1));
    let (bytes, before) = (fs::read(OLD).unwrap(), bits(&parameters));
    let header = 8 + u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let mut accepted = 0;
    for at in 0..header {
        for change in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
            let mut damaged = bytes.clone();
            damaged[at] ^= change;
            fs::write(&path, &damaged).unwrap();
            match parameters.load(&path, Load::Strict) {
                Ok(_) => accepted += 1,
                Err(error) => drop(fault(error, &path)),
            }
        }
    }
    // White space in another form, but hardly anything else.
    assert!(accepted < 30, "{accepted}");
    assert_eq!(bits(&parameters), before);
    fs::remove_file(path).unwrap();
}

/// A file from before there were checksums, of the same parameters.
const OLD: &str = "tests/saved/parameters-without-checksums.safetensors";

#[test]
fn files_without_checksums_are_loaded() {
    let mut loaded = two(2);
    assert_eq!(loaded.load(OLD, Load::Strict).unwrap().loaded, 4);
    assert_eq!(bits(&loaded), bits(&two(1)));
}

#[test]
fn hostile_headers() {
    let path = path("hostile");
    let mut parameters = two(1);
    let file = |header: &str, elements: usize| {
        let length = (header.len() as u64).to_le_bytes();
        fs::write(&path, [&length[..], header.as_bytes(), &vec![0; elements]].concat()).unwrap();
    };
    let headers = [
        "",
        "null",
        "[]",
        "{",
        "{}}",
        r#"{"first.w":1}"#,
        r#"{"first.w":{"dtype":"F32","shape":[3,4],"data_offsets":[0,47]}}"#,
        r#"{"first.w":{"dtype":"F32","shape":[3,4],"data_offsets":[48,0]}}"#,
        r#"{"first.w":{"dtype":"F32","shape":[-3,4],"data_offsets":[0,48]}}"#,
        r#"{"first.w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,48]}}"#,
        r#"{"first.w":{"dtype":"F32","shape":[4611686018427387904,3],"data_offsets":[0,48]}}"#,
        r#"{"first.w":{"dtype":"F32","shape":[3,4],"data_offsets":[1,49]}}"#,
        r#"{"first.w":{"dtype":"X32","shape":[3,4],"data_offsets":[0,48]}}"#,
        r#"{"a":{"dtype":"F32","shape":[12],"data_offsets":[0,48]},"b":{"dtype":"F32","shape":[12],"data_offsets":[0,48]}}"#,
        r#"{"__metadata__":{"a":1},"first.w":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]}}"#,
    ];
    for header in headers {
        file(header, 48);
        let fault = fault(parameters.load(&path, Load::Intersect).unwrap_err(), &path);
        assert!(
            matches!(
                fault,
                FileFault::Header { .. } | FileFault::Trailing { .. } | FileFault::HeaderLength { .. }
            ),
            "{header}: {fault}"
        );
    }
    let nested = format!("{}{}", r#"{"a":"#, "[".repeat(100_000));
    file(&nested, 0);
    assert!(matches!(
        fault(parameters.load(&path, Load::Strict).unwrap_err(), &path),
        FileFault::Header { .. }
    ));
    // A tensor of an element type that is not ours is one like others, until it is asked for.
    file(r#"{"first.w":{"dtype":"F16","shape":[3,8],"data_offsets":[0,48]}}"#, 48);
    let FileFault::Differs(report) = fault(parameters.load(&path, Load::Intersect).unwrap_err(), &path)
    else {
        panic!()
    };
    assert_eq!(report.mismatched[0].found, "F16[3, 8]");
    fs::remove_file(path).unwrap();
}

/// A file of a terabyte of nothing, with a header that is true of it: no memory is taken for what does not fit.
#[cfg(unix)]
#[test]
fn huge_files() {
    let path = path("huge");
    let mut parameters = two(1);
    let header = r#"{"first.w":{"dtype":"F32","shape":[262144,1048576],"data_offsets":[0,1099511627776]}}"#;
    fs::write(&path, [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat()).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(8 + header.len() as u64 + (1 << 40)).unwrap();
    let fault_of = |error| fault(error, &path);
    assert!(matches!(fault_of(parameters.load(&path, Load::Strict).unwrap_err()), FileFault::Differs(_)));
    assert!(matches!(fault_of(parameters.load_pdiparams(&path).unwrap_err()), FileFault::Long { .. }));
    // A header of a terabyte.
    fs::write(&path, (1_u64 << 40).to_le_bytes()).unwrap();
    file.set_len(8 + (1 << 40)).unwrap();
    assert!(matches!(
        fault_of(parameters.load(&path, Load::Strict).unwrap_err()),
        FileFault::HeaderLength { .. }
    ));
    fs::remove_file(path).unwrap();
}

#[test]
fn files_that_are_not_there() {
    let (mut parameters, path, pipe) = (two(1), path("nothing"), path("pipe"));
    // Nobody writes into it.
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(cfg!(not(unix)) || made.unwrap().success());
    for path in [&path, &pipe, &std::env::temp_dir()] {
        let faults =
            [parameters.load(path, Load::Strict).unwrap_err(), parameters.load_pdiparams(path).unwrap_err()];
        for error in faults {
            assert!(matches!(fault(error, path), FileFault::Read(_)));
        }
    }
    let _ = fs::remove_file(pipe);
    let deeper = path.join("deeper");
    let error = parameters.save(&deeper).unwrap_err();
    assert!(error.to_string().contains("was not written"), "{error}");
    assert!(matches!(fault(error, &deeper), FileFault::Write(_)));
}

#[test]
fn files_of_paddlepaddle() {
    let path = path("pdiparams");
    two(1).save_pdiparams(&path).unwrap();
    let mut loaded = two(2);
    loaded.load_pdiparams(&path).unwrap();
    assert_eq!(bits(&loaded), bits(&two(1)));
    let bytes = fs::read(&path).unwrap();
    for end in 0..bytes.len() {
        fs::write(&path, &bytes[..end]).unwrap();
        assert!(
            matches!(fault(loaded.load_pdiparams(&path).unwrap_err(), &path), FileFault::Wire(_)),
            "{end}"
        );
    }
    fs::write(&path, &bytes).unwrap();
    let mut double = Parameters::create(&types::double()).unwrap();
    let fault = fault(double.load_pdiparams(&path).unwrap_err(), &path);
    assert!(fault.to_string().contains("but"), "{fault}");
    assert!(matches!(fault, FileFault::Differs(report) if report.mismatched.len() == 4));
    assert_eq!(bits(&loaded), bits(&two(1)));
    fs::remove_file(path).unwrap();
}

#[test]
fn a_handler_saves() {
    let path = path("handler");
    let net = nets::cost();
    let mut parameters = Parameters::create(&net).unwrap();
    let reader = [vec![net.row([1.0, 2.0, 3.0])], vec![net.row([3.0, 2.0, 1.0])]];
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let mut after_the_first = Vec::new();
    let handler = |event: &paddle::Event<'_>| {
        if let EventKind::EndIteration { batch: 0, .. } = event.kind() {
            after_the_first = bits(event.parameters());
            event.save(&path)?;
        }
        Ok(())
    };
    trainer.train(&net, &mut parameters, reader, Options::default(), handler).unwrap();
    assert_ne!(bits(&parameters), after_the_first);
    parameters.load(&path, Load::Strict).unwrap();
    assert_eq!(bits(&parameters), after_the_first);
    // A file that cannot be written ends the training.
    let reader = [vec![net.row([1.0, 2.0, 3.0])]];
    let failed = trainer.train(&net, &mut parameters, reader, Options::default(), |event| event.save("/"));
    assert!(matches!(failed, Err(Error::File(_))));
    fs::remove_file(path).unwrap();
}

/// What has another shape is there: it is said what it is, and what it should be.
#[test]
fn parameters_of_another_shape_are_not_missing() {
    #[paddle::attribute::network]
    mod wider {
        pub fn two(x: Tensor<f32, _, 5>) -> Tensor<f32, _, 3> {
            fc(tanh(fc(x, 7, param = "first")), 3, param = "second")
        }

        pub fn cost(x: Tensor<f32, _, 4>) -> Tensor<f32> {
            mean(square(fc(x, 2, param = "cost")))
        }
    }
    let narrow = || Parameters::create(&nets::two()).unwrap();
    let wide = || Parameters::create(&wider::two()).unwrap();
    for (mut reader, written, found, expected) in
        [(narrow(), wide(), "F32[5, 7]", "F32[3, 4]"), (wide(), narrow(), "F32[3, 4]", "F32[5, 7]")]
    {
        let path = path("other-shapes");
        written.save(&path).unwrap();
        let own_name = |name: &str| Some(name.to_string());
        for load in [Load::Strict, Load::Intersect, Load::Map(&own_name)] {
            let text = reader.load(&path, load).unwrap_err().to_string();
            let line = format!("`first.w` is {found} there, but {expected} is expected");
            assert!(
                text.contains("the file has parameters of other types") && text.contains(&line),
                "{text}"
            );
            assert!(
                !text.contains("lacks") && !text.contains("does not have") && !text.contains("Intersect"),
                "{text}"
            );
        }
        // Another name in the file.
        let moved = |name: &str| (name == "first.b").then(|| "second.w".to_string());
        let text = reader.load(&path, Load::Map(&moved)).unwrap_err().to_string();
        assert!(text.contains("`second.w` is ") && text.contains("is expected for `first.b`"), "{text}");
        written.save_pdiparams(&path).unwrap();
        let text = reader.load_pdiparams(&path).unwrap_err().to_string();
        assert!(text.contains("the file has parameters of other types: `first.w` is "), "{text}");
        fs::remove_file(path).unwrap();
    }

    let (path, net, other) = (path("other-shape-of-a-checkpoint"), nets::cost(), wider::cost());
    let (mut parameters, mut trainer) = (Parameters::create(&net).unwrap(), Trainer::new(Sgd::new(0.1)));
    trainer.step(&net, &mut parameters, [[1.0; 3]]).unwrap();
    trainer.save_checkpoint(&net, &parameters, &path).unwrap();
    let mut parameters = Parameters::create(&other).unwrap();
    let error = Trainer::new(Sgd::new(0.1)).resume(&other, &mut parameters, &path).unwrap_err().to_string();
    assert!(error.contains("`cost.w` is F32[3, 2] there, but F32[4, 2] is expected"), "{error}");
    fs::remove_file(path).unwrap();
}

/// A program whose `main` returns the error prints it so.
#[test]
fn a_failing_file_is_shown_in_words() {
    let error =
        Parameters::create(&nets::two()).unwrap().load("no/such.safetensors", Load::Strict).unwrap_err();
    let Error::File(error) = error else { panic!("{error}") };
    assert_eq!(format!("{error:?}"), error.to_string());
    assert!(format!("{error:#?}").starts_with("FileError {"), "{error:#?}");
}
