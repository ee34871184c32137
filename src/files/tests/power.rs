//! The power fails at any moment. Everything that was not synced may be lost, as a whole or in part, in any order.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::{Folder, Run, nets};
use crate::checkpoint::previous;
use crate::files::disk::script::{Change, recorded};
use crate::{Load, Parameters};

/// The content of a file, as programs see it and as it is on the disk.
#[derive(Clone, Default)]
struct Contents {
    bytes: Vec<u8>,
    at: usize,
    synced: Vec<u8>,
}

/// The fate of bytes that were not synced.
#[derive(Clone, Copy)]
enum Unsynced {
    Lost,
    Kept,
    Half,
}

/// A change of names: one that is removed, and one that is added with its file.
type Naming = (Option<PathBuf>, Option<(PathBuf, usize)>);

/// A folder on a disk.
#[derive(Default)]
struct Disk {
    files: Vec<Contents>,
    /// The file of each name, as programs see it.
    names: BTreeMap<PathBuf, usize>,
    /// The file of each name, as it is on the disk.
    synced: BTreeMap<PathBuf, usize>,
    /// The changes of names since the last sync.
    pending: Vec<Naming>,
}

impl Disk {
    fn file(&mut self, path: &Path) -> &mut Contents {
        let of = self.names[path];
        &mut self.files[of]
    }

    fn give(&mut self, taken: Option<&PathBuf>, given: Option<(&PathBuf, usize)>) {
        taken.map(|path| self.names.remove(path));
        given.map(|(path, file)| self.names.insert(path.clone(), file));
        self.pending.push((taken.cloned(), given.map(|(path, file)| (path.clone(), file))));
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Create(path) => {
                self.files.push(Contents::default());
                self.give(None, Some((path, self.files.len() - 1)));
            }
            Change::Write(path, bytes) => {
                let file = self.file(path);
                let end = file.at + bytes.len();
                file.bytes.resize(end.max(file.bytes.len()), 0);
                file.bytes[file.at..end].copy_from_slice(bytes);
                file.at = end;
            }
            // Readers seek too.
            Change::Seek(path, to) => {
                if self.names.contains_key(path) {
                    self.file(path).at = *to as usize;
                }
            }
            Change::Truncate(path) => self.file(path).bytes.clear(),
            Change::Sync(path) => {
                let file = self.file(path);
                file.synced.clone_from(&file.bytes);
            }
            Change::Link(path, second) => self.give(None, Some((second, self.names[path]))),
            Change::Rename(from, to) => self.give(Some(from), Some((to, self.names[from]))),
            Change::Remove(path) => self.give(Some(path), None),
            Change::SyncFolder => {
                self.synced.clone_from(&self.names);
                self.pending.clear();
            }
        }
    }

    /// The contents that these names may have after a loss of power.
    fn found(&self, names: &[&Path]) -> BTreeSet<Vec<Option<Vec<u8>>>> {
        let touches = |path: &PathBuf| names.contains(&path.as_path());
        let pending: Vec<_> = self
            .pending
            .iter()
            .filter(|(taken, given)| {
                taken.as_ref().is_some_and(touches) || given.as_ref().is_some_and(|(path, _)| touches(path))
            })
            .collect();
        let mut found = BTreeSet::new();
        for done in 0..1_u32 << pending.len() {
            let mut on_disk = self.synced.clone();
            for (_, (taken, given)) in pending.iter().enumerate().filter(|(k, _)| done >> k & 1 == 1) {
                taken.as_ref().map(|path| on_disk.remove(path));
                given.as_ref().map(|(path, file)| on_disk.insert(path.clone(), *file));
            }
            for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Half] {
                let bytes = |file: &usize| {
                    let Contents { bytes, synced, .. } = &self.files[*file];
                    match unsynced {
                        Unsynced::Kept => bytes.clone(),
                        Unsynced::Half if bytes != synced => bytes[..bytes.len() / 2].to_vec(),
                        Unsynced::Lost | Unsynced::Half => synced.clone(),
                    }
                };
                found.insert(names.iter().map(|&name| on_disk.get(name).map(bytes)).collect());
            }
        }
        found
    }
}

/// Replays the changes one by one, and calls `check(done)` for every state that a loss of power may leave.
fn each_loss(changes: &[Change], names: &[&Path], mut check: impl FnMut(usize)) -> usize {
    let (mut disk, mut losses) = (Disk::default(), 0);
    for done in 0..=changes.len() {
        for found in disk.found(names) {
            for (name, bytes) in names.iter().zip(found) {
                let _ = fs::remove_file(name);
                bytes.into_iter().for_each(|bytes| fs::write(name, bytes).unwrap());
            }
            check(done);
            losses += 1;
        }
        changes.get(done).into_iter().for_each(|change| disk.apply(change));
    }
    losses
}

#[test]
fn the_newest_checkpoint_or_the_one_before_it_is_there() {
    let folder = Folder::new("power-checkpoint");
    let (path, net) = (folder.file("run"), nets::cost());
    let mut run = Run::new();
    // The numbers of changes after which each save had ended.
    let (mut changes, mut saved) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        run.step();
        let (result, more) = recorded(|| run.trainer.save_checkpoint(&net, &run.parameters, &path));
        result.unwrap();
        changes.extend(more);
        saved.push(changes.len());
    }
    let losses = each_loss(&changes, &[&path, &previous(&path)], |done| {
        let (ended, begun) = (saved.iter().filter(|&&at| at <= done).count() as u64, saved.len() as u64);
        let mut found = Run::new();
        match found.trainer.resume(&net, &mut found.parameters, &path) {
            Ok(_) => {
                let newest = (ended + 1).min(begun);
                assert!((ended..=newest).contains(&found.steps()), "{} at {done}", found.steps());
                let mut expected = Run::new();
                (0..found.steps()).for_each(|_| expected.step());
                assert_eq!(found.bits(), expected.bits());
            }
            Err(error) => assert_eq!(ended, 0, "at {done}, behind {:?}: {error}", changes[done - 1]),
        }
    });
    assert!(losses > 100, "{losses}");
}

#[test]
fn parameters_are_the_old_or_the_new_ones() {
    let folder = Folder::new("power-parameters");
    let (path, net) = (folder.file("parameters"), nets::cost());
    let sets = [1, 2].map(|seed| Parameters::create_with_seed(&net, seed).unwrap());
    let weights = |parameters: &Parameters| parameters.get::<f32>("line.w").unwrap();
    let (mut changes, mut saved) = (Vec::new(), Vec::new());
    for parameters in &sets {
        let (result, more) = recorded(|| parameters.save(&path));
        result.unwrap();
        changes.extend(more);
        saved.push(changes.len());
    }
    each_loss(&changes, &[&path], |done| {
        let ended = saved.iter().filter(|&&at| at <= done).count();
        let mut found = Parameters::create(&net).unwrap();
        match found.load(&path, Load::Strict) {
            Ok(_) => {
                let of = sets.iter().position(|parameters| weights(parameters) == weights(&found)).unwrap();
                assert!((ended..=ended + 1).contains(&(of + 1)), "those of {of} at {done}");
            }
            Err(error) => {
                assert_eq!(ended, 0, "at {done}: {error}");
                assert!(!path.exists(), "at {done}: {error}");
            }
        }
    });
}
