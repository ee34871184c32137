//! Checkpoints: what is read is what was committed, whichever operation fails.

mod failing;

use std::sync::Arc;

use failing::{Failing, Fault};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use paddle_engines::store::{Checkpoints, Manifest, StoreError};

fn content(version: u64, server: usize) -> String {
    format!("parameters of server {server} behind step {version}")
}

/// Both servers put their piece, and the master commits.
async fn save(checkpoints: &Checkpoints, epoch: u64, version: u64) -> Result<(), StoreError> {
    let mut pieces = Vec::new();
    for server in 0..2 {
        pieces.push(checkpoints.put(version, server, epoch, content(version, server).into()).await?);
    }
    let committer = checkpoints.claim(epoch).await?;
    committer.commit(version, pieces, format!("note {version}")).await?;
    committer.prune().await
}

async fn newest(checkpoints: &Checkpoints) -> Manifest {
    let newest = checkpoints.newest().await.unwrap().unwrap();
    assert_eq!(newest.damaged, []);
    let manifest = newest.manifest;
    for piece in &manifest.pieces {
        let found = checkpoints.get(piece).await.unwrap();
        assert_eq!(found, content(manifest.version, piece.server));
    }
    manifest
}

async fn names(store: &InMemory) -> Vec<String> {
    use futures_util::TryStreamExt;
    let mut names: Vec<String> =
        store.list(None).map_ok(|object| object.location.to_string()).try_collect().await.unwrap();
    names.sort();
    names
}

#[tokio::test]
async fn the_newest_two_are_kept() {
    let store = Arc::new(InMemory::new());
    let checkpoints = Checkpoints::on(store.clone(), "jobs/mnist");
    assert!(checkpoints.newest().await.unwrap().is_none());
    for version in [5, 10, 15] {
        save(&checkpoints, 1, version).await.unwrap();
        assert_eq!(newest(&checkpoints).await.note, format!("note {version}"));
    }
    let number = |number: u64| format!("{number:020}");
    let expected = [
        format!("jobs/mnist/ckpt/{}/0-1", number(10)),
        format!("jobs/mnist/ckpt/{}/1-1", number(10)),
        format!("jobs/mnist/ckpt/{}/0-1", number(15)),
        format!("jobs/mnist/ckpt/{}/1-1", number(15)),
        format!("jobs/mnist/claim/{}", number(1)),
        format!("jobs/mnist/manifest/{}-{}", number(1), number(10)),
        format!("jobs/mnist/manifest/{}-{}", number(1), number(15)),
    ];
    assert_eq!(names(&store).await, expected);
}

#[tokio::test]
async fn a_folder_keeps_them_too() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::in_folder(&folder.path().join("new")).unwrap();
    for version in 1..=3 {
        save(&checkpoints, 1, version).await.unwrap();
    }
    assert_eq!(newest(&checkpoints).await.version, 3);
    let address = format!("file://{}/new", folder.path().display());
    assert_eq!(newest(&Checkpoints::at(&address, []).unwrap()).await.version, 3);
}

/// A process is killed, or its store fails, at each operation of a save; with and without the effect of that operation.
#[tokio::test]
async fn a_save_that_breaks_off_leaves_a_whole_checkpoint() {
    for fault in [Fault::Before, Fault::After] {
        for later_fail in [false, true] {
            let (mut at, mut failures) = (0, 0);
            loop {
                let store = Arc::new(InMemory::new());
                let intact = Checkpoints::on(store.clone(), "");
                for version in 1..=3 {
                    save(&intact, 1, version).await.unwrap();
                }
                let failing = Arc::new(Failing::new(store.clone(), at, fault, later_fail));
                let result = save(&Checkpoints::on(failing.clone(), ""), 1, 4).await;
                let found = newest(&intact).await.version;
                assert!(found == 3 || found == 4, "{found} behind operation {at}");
                if result.is_ok() {
                    assert_eq!(found, 4);
                }
                // Another life finishes the work, and nothing is left over.
                save(&intact, 2, 5).await.unwrap();
                save(&intact, 2, 6).await.unwrap();
                assert_eq!(newest(&intact).await.version, 6);
                assert_eq!(names(&store).await.len(), 2 * 2 + 2 + 1, "behind operation {at}");
                if !failing.has_failed() {
                    break;
                }
                failures += 1;
                at += 1;
            }
            assert!(failures > 10, "only {failures} operations were made to fail");
        }
    }
}

#[tokio::test]
async fn damage_is_found_and_the_checkpoint_before_is_read() {
    let store = Arc::new(InMemory::new());
    let checkpoints = Checkpoints::on(store.clone(), "");
    save(&checkpoints, 1, 1).await.unwrap();
    save(&checkpoints, 1, 2).await.unwrap();
    let manifest = newest(&checkpoints).await;
    let piece = Path::from(manifest.pieces[1].object.as_str());

    // Of the same length.
    store.put(&piece, content(3, 1).into()).await.unwrap();
    let found = checkpoints.newest().await.unwrap().unwrap();
    assert_eq!(found.manifest.version, 1);
    assert!(
        matches!(&found.damaged[..], [StoreError::Damaged { object, .. }] if *object == manifest.pieces[1].object)
    );
    assert!(matches!(checkpoints.get(&manifest.pieces[1]).await, Err(StoreError::Damaged { .. })));

    store.delete(&piece).await.unwrap();
    let found = checkpoints.newest().await.unwrap().unwrap();
    assert_eq!(found.damaged, [StoreError::Missing { object: manifest.pieces[1].object.clone() }]);

    let manifests: Vec<String> =
        names(&store).await.into_iter().filter(|name| name.starts_with("manifest/")).collect();
    for name in manifests {
        store.put(&Path::from(name), "{}".into()).await.unwrap();
    }
    let error = checkpoints.newest().await.unwrap_err();
    assert!(matches!(error, StoreError::NoneWhole { others: 1, .. }), "{error}");
}

#[tokio::test]
async fn a_store_that_fails_is_no_reason_to_fall_back() {
    let store = Arc::new(InMemory::new());
    save(&Checkpoints::on(store.clone(), ""), 1, 1).await.unwrap();
    for at in 0..3 {
        let failing = Arc::new(Failing::new(store.clone(), at, Fault::Before, true));
        let error = Checkpoints::on(failing, "").newest().await.unwrap_err();
        assert!(matches!(error, StoreError::Failed { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_master_that_was_replaced_cannot_commit() {
    let checkpoints = Checkpoints::in_memory();
    let old = checkpoints.claim(1).await.unwrap();
    let new = checkpoints.claim(2).await.unwrap();
    let piece = checkpoints.put(1, 0, 1, content(1, 0).into()).await.unwrap();
    let fenced = StoreError::Fenced { epoch: 1, by: 2 };
    assert_eq!(old.commit(1, vec![piece.clone()], String::new()).await, Err(fenced.clone()));
    assert_eq!(checkpoints.claim(1).await.unwrap_err(), fenced);
    new.commit(1, vec![piece], String::new()).await.unwrap();
    assert_eq!(newest(&checkpoints).await.epoch, 2);
}

#[tokio::test]
async fn what_is_there_is_never_overwritten() {
    let checkpoints = Checkpoints::in_memory();
    let piece = checkpoints.put(1, 0, 1, "a".into()).await.unwrap();
    assert_eq!(checkpoints.put(1, 0, 1, "a".into()).await.unwrap(), piece);
    let conflict = StoreError::Conflict { object: piece.object.clone() };
    assert_eq!(checkpoints.put(1, 0, 1, "b".into()).await, Err(conflict));
    assert_eq!(checkpoints.get(&piece).await.unwrap(), "a");

    let committer = checkpoints.claim(1).await.unwrap();
    let mut missing = piece.clone();
    missing.object = "ckpt/1/9-9".into();
    let error = committer.commit(1, vec![missing], String::new()).await.unwrap_err();
    assert_eq!(error, StoreError::Missing { object: "ckpt/1/9-9".into() });
    assert!(checkpoints.newest().await.unwrap().is_none());
}

#[test]
fn addresses_with_secrets_are_refused_without_showing_them() {
    for address in
        ["s3://me:hunter2@bucket/x", "az://container/x?sig=hunter2", "hunter2", "s3:/hunter2\u{0}["]
    {
        let Err(error) = Checkpoints::at(address, []) else { panic!("accepted {address}") };
        let shown = format!("{error} {error:?}");
        assert!(matches!(error, StoreError::Address { .. }), "{shown}");
        assert!(!shown.contains("hunter2") || address.starts_with("s3:/h"), "{shown}");
    }
}

/// A disk of 256 kB fills up. It is skipped where file systems cannot be mounted.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_and_a_read_only_disk_are_typed_errors() {
    use std::process::Command;
    struct Mounted(tempfile::TempDir);
    impl Drop for Mounted {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
        }
    }
    let mount = |arguments: &[&str], folder: &std::path::Path| {
        Command::new("mount").args(arguments).arg(folder).output().is_ok_and(|output| output.status.success())
    };
    let folder = tempfile::tempdir().unwrap();
    if !mount(&["-t", "tmpfs", "-o", "size=256k", "none"], folder.path()) {
        eprintln!("\n*** SKIPPED: file systems cannot be mounted, so no disk was full ***\n");
        return;
    }
    let mounted = Mounted(folder);
    let checkpoints = Checkpoints::in_folder(mounted.0.path()).unwrap();
    save(&checkpoints, 1, 1).await.unwrap();
    let error = checkpoints.put(2, 0, 1, vec![1; 1 << 20].into()).await.unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert_eq!(newest(&checkpoints).await.version, 1);

    assert!(mount(&["-o", "remount,ro"], mounted.0.path()));
    let error = save(&checkpoints, 1, 2).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    assert_eq!(newest(&checkpoints).await.version, 1);
}
