//! What is seen of a training from outside: the log, the curve, lines, and Ctrl-C. Where that concerns a whole process, the
//! test runs itself once more, as a child.

mod networks;

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use networks::{LINE, network};
use paddle::event::EventKind;
use paddle::reader::{DataSet, Reader};
use paddle::{Dynamic, Ended, Error, Event, Network, Options, Parameters, Sgd, Trainer, Watch};

type Sample = ([f32; 3], f32);

const ROWS: [Sample; 3] = [([1.0, 0.0, 0.0], 1.0), ([0.0, 1.0, 0.0], 2.0), ([0.0, 0.0, 1.0], 3.0)];

/// Says in a child which training it is to run.
const CHILD: &str = "PADDLE_TEST_TRAINING";

fn train(
    passes: usize,
    options: Options,
    handler: impl FnMut(&Event<'_>) -> Result<(), Error>,
) -> Result<Ended, Error> {
    let net: Network<Dynamic<Sample>> = network(LINE);
    let mut parameters = Parameters::create(&net)?;
    let reader = ROWS.iter().passes(passes).batch(2);
    Trainer::new(Sgd::new(0.1)).train(&net, &mut parameters, reader, options, handler)
}

/// A path of its own for each test, where nothing is.
fn file(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
    let _ = fs::remove_file(&path);
    path
}

#[test]
fn the_log_has_a_line_for_each_event() {
    let path = file("events.jsonl");
    for _call in 0..2 {
        train(1, Options::default().log(&path), |_| Ok(())).unwrap();
    }
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    let call = ["begin_training", "begin_pass", "end_iteration", "end_iteration", "end_pass", "end_training"];
    assert_eq!(events, [call, call].concat());
    // The first two rows, before any update: (1 + 4) / 2; all three: what a handler sees.
    assert_eq!((&lines[2]["rows"], &lines[2]["cost"]), (&2.into(), &2.5.into()));
    assert_eq!(lines[2]["metrics"]["average"], 0.0);
    assert_eq!((&lines[3]["pass"], &lines[3]["batch"], &lines[3]["rows"]), (&0.into(), &1.into(), &1.into()));
    assert_eq!([2, 3, 5].map(|k| lines[k]["step"].as_u64().unwrap()), [0, 1, 2]);
    assert!(lines[4]["cost"].as_f64().unwrap() > 2.5);
    assert_eq!(lines[5]["ended"], "finished");
    assert!(lines.iter().all(|line| line["seconds"].as_f64().unwrap() >= 0.0));
    // A run is known by its name, and says when it began.
    let (first, second) = lines.split_at(call.len());
    assert!([first, second].iter().all(|run| run.iter().all(|line| line["run"] == run[0]["run"])));
    assert_ne!(first[0]["run"], second[0]["run"]);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    assert!((now - first[0]["time"].as_f64().unwrap()).abs() < 600.0);
    assert_eq!(first[0]["version"], env!("CARGO_PKG_VERSION"));
    fs::remove_file(path).unwrap();
}

/// A loop of one's own has by `Watch` what `train` has: the same lines, but for the name and the times of the run.
#[test]
fn a_loop_of_ones_own_is_watched_alike() {
    let [theirs, own] = ["theirs.jsonl", "own.jsonl"].map(file);
    let pictures = ["theirs.svg", "own.svg"].map(file);
    let saved = ["theirs.checkpoint", "own.checkpoint"].map(file);
    let options = |k: usize, log: &PathBuf| {
        Options::default().log(log).curve(&pictures[k]).checkpoint(&saved[k]).checkpoint_every(3)
    };
    train(2, options(0, &theirs), |_| Ok(())).unwrap();

    let net: Network<Dynamic<Sample>> = network(LINE);
    let (mut parameters, mut trainer) = (Parameters::create(&net).unwrap(), Trainer::new(Sgd::new(0.1)));
    let options = options(1, &own);
    let mut watch = Watch::new("line", ["cost", "average"], &options, 0).unwrap();
    let mut kept = Vec::new();
    for pass in 0..2 {
        watch.begin_pass(pass).unwrap();
        for batch in ROWS.chunks(2) {
            let outcome = trainer.step(&net, &mut parameters, batch).unwrap();
            watch.step(outcome.rows(), [outcome.cost(), outcome.metrics()[0]]).unwrap();
            kept.push(watch.keep(&parameters, ((&mut trainer, &net),)).unwrap());
        }
        watch.end_pass().unwrap();
        kept.push(watch.keep(&parameters, ((&mut trainer, &net),)).unwrap());
    }
    assert_eq!(watch.end().unwrap(), Ended::Finished);
    assert_eq!(kept, [false, false, true, true, false, true]);

    let lines = |path: &PathBuf| -> Vec<serde_json::Value> {
        let text = fs::read_to_string(path).unwrap();
        let lines = text.lines().map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            let object = line.as_object_mut().unwrap();
            ["run", "seconds", "time", "network"].iter().for_each(|key| drop(object.remove(*key)));
            line
        });
        lines.collect()
    };
    assert_eq!(lines(&own), lines(&theirs));
    assert_eq!(fs::read(&pictures[0]).unwrap(), fs::read(&pictures[1]).unwrap());
    let mut resumed = Trainer::new(Sgd::new(0.1));
    for path in &saved {
        resumed.resume(&net, &mut parameters, path).unwrap();
        assert_eq!(resumed.steps(&net).unwrap(), 4);
    }

    // A loop that ends with an error leaves what it has seen.
    let mut watch = Watch::new("line", ["cost"], &options, 4).unwrap();
    watch.begin_pass(2).unwrap();
    watch.step(1, [0.5]).unwrap();
    drop(watch);
    let last = lines(&own).pop().unwrap();
    assert_eq!((&last["event"], &last["step"]), (&"end_iteration".into(), &4.into()));
    for path in saved.iter().map(paddle::checkpoint::previous).chain(saved.iter().cloned()) {
        fs::remove_file(path).unwrap();
    }
    [theirs, own].iter().chain(&pictures).for_each(|path| fs::remove_file(path).unwrap());
}

/// A process that was killed leaves a part of a line; a training that fails says why.
#[test]
fn the_log_goes_on_after_a_torn_line_and_ends_with_the_error() {
    let path = file("torn.jsonl");
    fs::write(&path, "{\"event\":\"end_it").unwrap();
    let error = train(1, Options::default().log(&path), |event| match event.kind() {
        EventKind::EndIteration { batch: 1, .. } => Err(Error::Handler("no \"more\"".into())),
        _ => Ok(()),
    });
    assert!(error.is_err());
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (6, "{\"event\":\"end_it"));
    let last: serde_json::Value = serde_json::from_str(lines[5]).unwrap();
    let begun: serde_json::Value = serde_json::from_str(lines[1]).unwrap();
    assert_eq!((&last["event"], &last["message"]), (&"error".into(), &"no \"more\"".into()));
    assert_eq!(last["run"], begun["run"]);
    fs::remove_file(path).unwrap();
}

/// The training in one call, and in several with a checkpoint, or in which the first was ended by an error, draw the same
/// curve.
#[test]
fn a_training_that_goes_on_goes_on_with_its_curve() {
    let net: Network<Dynamic<Sample>> = network(LINE);
    let checkpoint = file("curve.checkpoint");
    // Trains until this step, and returns the picture.
    let train = |path: &PathBuf, resumes, until, stop: fn(&Event<'_>) -> Result<(), Error>| {
        let mut parameters = Parameters::create(&net).unwrap();
        let mut trainer = Trainer::new(Sgd::new(0.1));
        if resumes {
            trainer.resume(&net, &mut parameters, &checkpoint).unwrap();
        }
        let mut steps = trainer.steps(&net).unwrap();
        let options = Options::default().curve(path).checkpoint(&checkpoint).checkpoint_every(4);
        let reader = ROWS.iter().passes(7).batch(2);
        let result = trainer.train(&net, &mut parameters, reader, options, |event| {
            if let EventKind::EndIteration { .. } = event.kind() {
                steps += 1;
                if steps == until {
                    return stop(event);
                }
            }
            Ok(())
        });
        (result.ok(), fs::read_to_string(path).unwrap())
    };
    let stop: fn(&Event<'_>) -> Result<(), Error> = |event| {
        event.stop();
        Ok(())
    };
    let (whole, parts) = (file("whole.svg"), file("parts.svg"));
    let (ended, expected) = train(&whole, false, 99, stop);
    assert_eq!(ended, Some(Ended::Finished));
    let points = |picture: &str| {
        let curve = picture.lines().find(|line| line.contains("#0000FF")).unwrap();
        let points = curve.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
        points.split_whitespace().count()
    };
    assert_eq!(points(&expected), 14);

    let (ended, first) = train(&parts, false, 5, stop);
    assert_eq!((ended, points(&first)), (Some(Ended::Stopped), 5));
    assert_eq!(train(&parts, true, 9, stop).0, Some(Ended::Stopped));
    assert_eq!(train(&parts, true, 99, stop), (Some(Ended::Finished), expected.clone()));

    // After an error it goes back to the checkpoint, and so does the curve.
    let (ended, torn) = train(&parts, false, 7, |_| Err(Error::Handler("enough".into())));
    assert_eq!((ended, points(&torn)), (None, 7));
    assert_eq!(train(&parts, true, 99, stop).1, expected);

    // A training from the beginning replaces it; what is no picture of these curves is replaced, too.
    assert_eq!(points(&train(&parts, false, 3, stop).1), 3);
    fs::write(&parts, "no picture").unwrap();
    let (_, rest) = train(&parts, true, 99, stop);
    assert_eq!(points(&rest), 11);
    for path in [whole, parts, checkpoint] {
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_training_says_why_it_ended() {
    let ends = |at: EventKind<'static>| {
        let mut told = None;
        let ended = train(2, Options::default(), |event| {
            if event.kind() == at {
                event.stop();
            }
            told = event.ended();
            assert_eq!(told.is_some(), event.kind() == EventKind::EndTraining);
            Ok(())
        });
        assert_eq!(told, Some(ended.unwrap()));
        told.unwrap()
    };
    assert_eq!(ends(EventKind::BeginTraining), Ended::Stopped);
    assert_eq!(ends(EventKind::BeginIteration { pass: 1, batch: 0 }), Ended::Stopped);
    // Too late, and never.
    assert_eq!(ends(EventKind::EndTraining), Ended::Finished);
    assert_eq!(ends(EventKind::BeginPass { pass: 7 }), Ended::Finished);
}

#[test]
fn files_that_cannot_be_written() {
    let folder = file("folder");
    fs::create_dir_all(&folder).unwrap();
    let mut events = 0;
    let count = |_: &Event<'_>| {
        events += 1;
        Ok(())
    };
    let error = train(1, Options::default().log(&folder), count).unwrap_err();
    assert!(matches!(error, Error::File(_)), "{error}");
    assert!(error.to_string().starts_with(folder.to_str().unwrap()), "{error}");
    assert_eq!(events, 0);
    let error =
        train(1, Options::default().curve(folder.join("none").join("cost.svg")), |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("cost.svg"), "{error}");
    fs::remove_dir(folder).unwrap();
}

#[test]
fn the_curve_is_drawn_at_the_end_and_after_a_stop() {
    let path = file("cost.svg");
    let stop = |event: &Event<'_>| {
        if let EventKind::EndIteration { pass: 2, .. } = event.kind() {
            event.stop();
        }
        Ok(())
    };
    train(9, Options::default().curve(&path), stop).unwrap();
    let picture = fs::read_to_string(&path).unwrap();
    assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
    for text in ["cost", "average", "batches"] {
        assert!(picture.contains(text), "{picture}");
    }
    // A curve for the cost, one for the metric; each has the five batches.
    let curves: Vec<_> = picture.lines().filter(|line| line.contains("#0000FF")).collect();
    assert_eq!(curves.len(), 2, "{picture}");
    for curve in curves {
        let points = curve.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(points.split_whitespace().count(), 5, "{curve}");
    }
    fs::remove_file(path).unwrap();
}

/// What a child does; as a test of its own it does nothing.
#[test]
fn a_child_trains() {
    match env::var(CHILD).as_deref() {
        Ok("lines") => {
            train(40, Options::default().progress(), |_| Ok(())).unwrap();
        }
        Ok("error") => {
            let result = train(9, Options::default().progress(), |event| match event.kind() {
                EventKind::EndPass { pass: 1, .. } => Err(Error::Handler("enough".into())),
                _ => Ok(()),
            });
            assert_eq!(result.unwrap_err().to_string(), "enough");
        }
        // Each is interrupted; what it prints says how far it is.
        Ok("interrupted") => {
            let mut after_the_last_step = Vec::new();
            let ended = train(usize::MAX, Options::default().interruptible(), |event| {
                match event.kind() {
                    EventKind::EndIteration { batch: 0, pass: 3, .. } => {
                        println!("ready");
                        after_the_last_step.clear();
                    }
                    kind => after_the_last_step.push(kind_name(kind)),
                }
                Ok(())
            })
            .unwrap();
            assert_eq!(ended, Ended::Interrupted);
            println!("stopped {}", after_the_last_step.last().unwrap());
            // A training that is not interruptible, and a Ctrl-C that ends the process.
            println!("ready");
            train(usize::MAX, Options::default(), |_| Ok(())).unwrap();
        }
        Ok("interrupted in a step") => {
            train(usize::MAX, Options::default().interruptible(), |_| {
                println!("ready");
                loop {
                    std::thread::park();
                }
            })
            .unwrap();
        }
        _ => {}
    }
}

fn kind_name(kind: EventKind<'_>) -> &'static str {
    match kind {
        EventKind::BeginTraining => "BeginTraining",
        EventKind::BeginPass { .. } => "BeginPass",
        EventKind::BeginIteration { .. } => "BeginIteration",
        EventKind::EndIteration { .. } => "EndIteration",
        EventKind::EndPass { .. } => "EndPass",
        EventKind::EndTraining => "EndTraining",
    }
}

fn child(training: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "a_child_trains", "--nocapture", "--test-threads=1"]).env(CHILD, training);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(training: &str) -> Output {
    child(training).output().unwrap()
}

#[test]
fn plain_lines_when_piped() {
    let output = run("lines");
    assert!(output.status.success());
    let text = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("pass ")).collect();
    assert!(
        lines[0].starts_with("pass 0: cost ")
            && lines[0].contains(", average ")
            && lines[0].ends_with(" rows/s")
    );
    assert!(lines.last().unwrap().starts_with("pass 39: cost "), "{text}");
    // One a second, and the last.
    assert!(lines.len() < 40, "{text}");
    let warned = text.lines().filter(|line| line.starts_with("warning: ")).count();
    assert_eq!(warned, usize::from(cfg!(debug_assertions)), "{text}");
    assert!(!text.contains('\x1b') && !text.contains('\r'), "{text:?}");
}

#[test]
fn an_error_ends_the_lines() {
    let output = run("error");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(unix)]
mod signals {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    const SIGINT: i32 = 2;

    /// What a child prints, line by line, until the one that is waited for.
    fn wait_for(stdout: &mut impl BufRead, wanted: &str) -> String {
        let mut text = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "the child has ended: {text}");
            text += &line;
            if line.contains(wanted) {
                return text;
            }
        }
    }

    fn interrupt(child: &Child) {
        let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    #[test]
    fn the_first_stops_the_training_and_later_ones_end_the_process() {
        let mut child = child("interrupted").spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        wait_for(&mut stdout, "ready");
        interrupt(&child);
        let text = wait_for(&mut stdout, "stopped");
        assert!(text.contains("stopped EndTraining"), "{text}");
        wait_for(&mut stdout, "ready");
        interrupt(&child);
        assert_eq!(child.wait().unwrap().signal(), Some(SIGINT));
    }

    #[test]
    fn the_second_ends_a_training_that_hangs() {
        let mut child = child("interrupted in a step").spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        wait_for(&mut stdout, "ready");
        interrupt(&child);
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(child.try_wait().unwrap().is_none(), "the first one ended it");
        interrupt(&child);
        assert_eq!(child.wait().unwrap().signal(), Some(SIGINT));
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert!(!rest.contains("stopped"), "{rest}");
    }
}
