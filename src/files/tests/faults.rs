//! Every operation of the file system fails in turn. Afterwards the old file or the new one is whole, as the result
//! says, and another attempt succeeds.

use std::fs;
use std::path::Path;

use ndarray::Array3;

use super::{Folder, Run, nets};
use crate::checkpoint::{previous, verify};
use crate::data::{housing, mnist};
use crate::files::disk::script::{Failing, failing};
use crate::plot::{Curve, grid};
use crate::{Error, FileError, Load, Options, Parameters};

/// Lets each operation of `action` fail, alone and with all later ones, and checks the result. `prepare` sets up the
/// folder.
fn each<R>(
    folder: &Folder,
    prepare: impl Fn(),
    action: impl Fn() -> R,
    mut check: impl FnMut(R, &str),
) -> Vec<String> {
    let mut failed_at = Vec::new();
    for failing_at in [Failing::Only as fn(usize) -> Failing, Failing::From] {
        for n in 0.. {
            folder.empty();
            prepare();
            let (result, failed) = failing(failing_at(n), &action);
            let Some(failed) = failed else { break };
            let at = format!("{:?} {failed}", failing_at(n));
            if let Failing::Only(_) = failing_at(n) {
                let swept = folder.left().is_empty() || failed.starts_with("Remove");
                assert!(swept, "{at}: {:?}", folder.left());
            }
            check(result, &at);
            failed_at.push(failed);
        }
    }
    assert!(failed_at.len() > 4, "hardly any operation was seen to fail: {failed_at:?}");
    failed_at
}

/// Lets each operation of a writer fail. The file is the old one or the new one, as the error says.
fn each_write(name: &str, write: impl Fn(&Path) -> Result<(), FileError>) {
    let folder = Folder::new(&format!("faults-{name}"));
    let file = folder.file("file");
    write(&file).unwrap();
    let new = fs::read(&file).unwrap();
    for before in [None, Some(b"before".to_vec())] {
        let prepare = || before.iter().for_each(|bytes| fs::write(&file, bytes).unwrap());
        let failed = each(
            &folder,
            prepare,
            || write(&file),
            |result: Result<(), FileError>, at| {
                let is_new = result.as_ref().map_or_else(|error| error.fault.is_written(), |()| true);
                let expected = if is_new { Some(&new) } else { before.as_ref() };
                assert_eq!(fs::read(&file).ok().as_ref(), expected, "{at}: {result:?}");
                write(&file).unwrap();
                assert_eq!(fs::read(&file).unwrap(), new, "{at}");
                assert!(folder.left().is_empty(), "{at}: {:?}", folder.left());
            },
        );
        for operation in ["Write", "Sync(", "SyncFolder", "Rename", "Create", "SetPermissions"] {
            assert!(failed.iter().any(|failed| failed.starts_with(operation)), "{operation}: {failed:?}");
        }
    }
}

/// Lets each operation of a reader fail. It returns an error, or its usual result.
fn each_read<R: PartialEq + std::fmt::Debug, E: std::fmt::Display>(
    name: &str,
    make: impl Fn(&Path),
    read: impl Fn(&Path) -> Result<R, E>,
) {
    let folder = Folder::new(&format!("faults-{name}"));
    let file = folder.file("file");
    let prepare = || make(&file);
    prepare();
    let whole = read(&file).unwrap_or_else(|error| panic!("{error}"));
    for failing_at in [Failing::Only as fn(usize) -> Failing, Failing::From] {
        for n in 0.. {
            let (result, failed) = failing(failing_at(n), || read(&file));
            let Some(failed) = failed else {
                assert!(n > 0, "nothing was read");
                break;
            };
            match result {
                Ok(read) => assert_eq!(read, whole, "{failed}"),
                Err(error) => assert!(error.to_string().contains("file"), "{failed}: {error}"),
            }
        }
    }
}

fn of_file(error: Error) -> FileError {
    match error {
        Error::File(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn parameters_are_written() {
    let parameters = Parameters::create(&nets::cost()).unwrap();
    each_write("save", |path| parameters.save(path).map_err(of_file));
    each_write("pdiparams", |path| parameters.save_pdiparams(path).map_err(of_file));
}

#[test]
fn pictures_are_drawn() {
    let mut curve = Curve::new(["cost"]);
    curve.add([1.0]);
    each_write("curve", |path| curve.save(path));
    each_write("grid", |path| grid(path, &Array3::ones((2, 3, 3)), 2));
}

#[test]
fn parameters_are_read() {
    let net = nets::cost();
    let parameters = Parameters::create_with_seed(&net, 3).unwrap();
    let values = |parameters: &Parameters| parameters.get::<f32>("line.w").unwrap();
    let load = |path: &Path| {
        let mut loaded = Parameters::create(&net).unwrap();
        let before = values(&loaded);
        let result = loaded.load(path, Load::Strict);
        if result.is_err() {
            assert_eq!(values(&loaded), before);
        }
        result.map(|_| values(&loaded))
    };
    each_read("load", |path| parameters.save(path).unwrap(), load);
    let load = |path: &Path| {
        let mut loaded = Parameters::create(&net).unwrap();
        let before = values(&loaded);
        let result = loaded.load_pdiparams(path);
        if result.is_err() {
            assert_eq!(values(&loaded), before);
        }
        result.map(|()| values(&loaded))
    };
    each_read("load_pdiparams", |path| parameters.save_pdiparams(path).unwrap(), load);
    each_read(
        "verify",
        |path| parameters.save(path).unwrap(),
        |path| Ok::<_, FileError>(verify(path)?.to_string()),
    );
}

#[test]
fn data_are_read() {
    let row = "0.00632 18.00 2.310 0 0.5380 6.5750 65.20 4.0900 1 296.0 15.30 396.90 4.98 24.00\n";
    let make = |path: &Path| fs::write(path, row).unwrap();
    each_read("housing", make, |path| housing::read(path).map(|samples| format!("{samples:?}")));
    let folder = Folder::new("faults-mnist-file");
    let error = failing(Failing::From(0), || mnist::read(&folder.0)).0.unwrap_err();
    assert!(error.to_string().contains("mnist-file"), "{error}");
}

/// A training continues after a fault, to the same bits.
#[test]
fn a_training_goes_on() {
    let folder = Folder::new("faults-train");
    let (path, log, curve) = (folder.file("run"), folder.file("log"), folder.file("curve"));
    let options = || Options::default().checkpoint(&path).checkpoint_every(1).log(&log).curve(&curve);
    let mut whole = Run::new();
    whole.train(Options::default()).unwrap();
    let train = || {
        let mut run = Run::new();
        run.train(options()).map(|()| run)
    };
    let failed = each(
        &folder,
        || (),
        train,
        |result, at| {
            match result {
                Ok(run) => assert_eq!(run.bits(), whole.bits(), "{at}"),
                Err(error) => drop(of_file(error)),
            }
            let mut again = Run::new();
            if path.exists() {
                again.trainer.resume(&nets::cost(), &mut again.parameters, &path).unwrap();
            }
            if again.steps() < whole.steps() {
                again.train(options()).unwrap();
                assert!(folder.left().is_empty(), "{at}: {:?}", folder.left());
            }
            assert_eq!(again.bits(), whole.bits(), "{at}");
        },
    );
    for operation in ["Link", "Lock", "Truncate", "List", "Remove", "Metadata", "SyncFolder"] {
        assert!(failed.iter().any(|failed| failed.starts_with(operation)), "{operation}: {failed:?}");
    }
}

/// The system does not confirm that a name is on the disk. The training goes on.
#[test]
fn a_folder_that_cannot_be_synced_ends_no_training() {
    let folder = Folder::new("faults-folder");
    let path = folder.file("run");
    let train = || {
        let mut run = Run::new();
        run.train(Options::default().checkpoint(&path)).map(|()| run)
    };
    let mut seen = 0;
    each(
        &folder,
        || (),
        train,
        |result, at| {
            if at.starts_with("Only") && at.contains("SyncFolder") {
                let run = result.unwrap_or_else(|error| panic!("{at}: {error}"));
                assert_eq!(run.steps(), 4);
                seen += 1;
            }
        },
    );
    assert!(seen > 0);
}

/// Each operation of a save fails. The newest or the previous checkpoint is whole, and both are if there were two.
#[test]
fn checkpoints_are_kept() {
    let folder = Folder::new("faults-kept");
    let (path, net) = (folder.file("run"), nets::cost());
    let mut runs = [Run::new(), Run::new(), Run::new()];
    for (k, run) in runs.iter_mut().enumerate() {
        (0..k).for_each(|_| run.step());
    }
    let save = |run: &Run| run.trainer.save_checkpoint(&net, &run.parameters, &path);
    let steps = |path: &Path| {
        let mut run = Run::new();
        run.trainer.resume(&net, &mut run.parameters, path).unwrap();
        run.steps()
    };
    let prepare = || runs[..2].iter().for_each(|run| save(run).unwrap());
    each(
        &folder,
        prepare,
        || save(&runs[2]),
        |result, at| {
            let found = [&path, &previous(&path)].map(|path| steps(path));
            let is_written = match result.map_err(of_file) {
                Ok(()) => true,
                Err(error) => {
                    assert_eq!(
                        error.to_string().contains("was written"),
                        error.fault.is_written(),
                        "{error}"
                    );
                    error.fault.is_written()
                }
            };
            match is_written {
                true => assert!(found == [2, 1] || found == [2, 0], "{at}: {found:?}"),
                false => assert_eq!(found, [1, 0], "{at}"),
            }
            save(&runs[2]).unwrap();
            assert!(folder.left().is_empty(), "{at}: {:?}", folder.left());
        },
    );
}
