//! What comes of rows, whoever hands them in, and whatever happens.

use std::sync::mpsc;

use super::*;

const LONG: Duration = Duration::from_secs(600);

fn doubled(rows: Vec<i32>) -> Result<Vec<i32>, String> {
    match rows.contains(&13) {
        true => Err("13 cannot be doubled".into()),
        false => Ok(rows.into_iter().map(|x| 2 * x).collect()),
    }
}

/// A batcher that computes only when it is told to, and tells the rows of each run.
fn held(limits: Limits) -> (Batcher<i32, i32>, mpsc::Sender<()>, mpsc::Receiver<Vec<i32>>) {
    let ((go, wait), (tell, told)) = (mpsc::channel(), mpsc::channel());
    let batcher = Batcher::new(limits, move |rows: Vec<i32>| {
        tell.send(rows.clone()).map_err(|error| error.to_string())?;
        wait.recv().map_err(|error| error.to_string())?;
        doubled(rows)
    });
    (batcher.unwrap(), go, told)
}

#[test]
fn what_comes_during_a_run_is_computed_together() {
    let (batcher, go, told) = held(Limits { batch: 3, wait: Duration::ZERO, queue: 10 });
    let first = batcher.submit(vec![1]).unwrap();
    assert_eq!(told.recv().unwrap(), [1]);
    // The second run has room for two of these; the rows of a request stay together, also where they are too many.
    let others = [vec![2, 3], vec![], vec![4, 5], vec![6, 7, 8, 9]].map(|rows| batcher.submit(rows).unwrap());
    assert_eq!(batcher.waiting(), 8);
    (0..4).for_each(|_| go.send(()).unwrap());
    let runs: Vec<_> = told.iter().take(3).collect();
    assert_eq!(runs, [vec![2, 3], vec![4, 5], vec![6, 7, 8, 9]]);
    assert_eq!(first.wait().unwrap(), [2]);
    let others = others.map(|other| other.wait().unwrap());
    assert_eq!(others, [vec![4, 6], vec![], vec![8, 10], vec![12, 14, 16, 18]]);
}

#[test]
fn a_full_batch_does_not_wait() {
    let batcher = Batcher::new(Limits { batch: 2, wait: LONG, queue: 10 }, doubled).unwrap();
    let (first, second) = (batcher.submit(vec![1]).unwrap(), batcher.submit(vec![2]).unwrap());
    assert_eq!((first.wait().unwrap(), second.wait().unwrap()), (vec![2], vec![4]));
}

#[test]
fn no_more_rows_wait_than_may() {
    let (batcher, go, told) = held(Limits { batch: 1, wait: Duration::ZERO, queue: 2 });
    let _first = batcher.submit(vec![1]).unwrap();
    told.recv().unwrap();
    let second = batcher.submit(vec![2, 3]).unwrap();
    assert!(matches!(batcher.submit(vec![4]), Err(BatcherError::Full { waiting: 2 })));
    assert!(batcher.submit(vec![]).is_ok());
    (0..4).for_each(|_| go.send(()).unwrap());
    assert_eq!(second.wait().unwrap(), [4, 6]);
}

#[test]
fn rows_that_nobody_wants_are_left_out() {
    let (batcher, go, told) = held(Limits { batch: 10, wait: Duration::ZERO, queue: 10 });
    let first = batcher.submit(vec![1]).unwrap();
    told.recv().unwrap();
    drop(batcher.submit(vec![2]).unwrap());
    let third = batcher.submit(vec![3]).unwrap();
    drop(batcher.submit(vec![4]).unwrap());
    (0..2).for_each(|_| go.send(()).unwrap());
    assert_eq!((first.wait().unwrap(), third.wait().unwrap()), (vec![2], vec![6]));
    assert_eq!(told.recv().unwrap(), [3]);
}

#[test]
fn all_of_a_run_that_fails_are_told() {
    let batcher = Batcher::new(Limits { batch: 2, wait: LONG, queue: 10 }, doubled).unwrap();
    let (first, second) = (batcher.submit(vec![1]).unwrap(), batcher.submit(vec![13]).unwrap());
    for answer in [first, second] {
        assert_eq!(
            answer.wait().unwrap_err().to_string(),
            "the rows cannot be computed: 13 cannot be doubled"
        );
    }
    let batcher = Batcher::new(Limits::default(), |_: Vec<i32>| Ok::<_, String>(vec![1])).unwrap();
    let error = batcher.submit(vec![1, 2]).unwrap().wait().unwrap_err();
    assert!(matches!(error, BatcherError::Results { found: 1, expected: 2 }));
}

#[test]
fn what_waits_when_it_is_closed_is_computed() {
    let batcher = Batcher::new(Limits { wait: LONG, ..Limits::default() }, doubled).unwrap();
    let answer = batcher.submit(vec![1]).unwrap();
    batcher.close();
    assert!(matches!(batcher.submit(vec![2]), Err(BatcherError::Closed)));
    drop(batcher);
    assert_eq!(answer.wait().unwrap(), [2]);
}

#[test]
fn nobody_waits_for_a_thread_that_has_panicked() {
    let compute = |rows: Vec<i32>| Ok::<_, String>(rows.into_iter().map(|x| 1 / x).collect::<Vec<_>>());
    let batcher = Batcher::new(Limits { batch: 1, wait: Duration::ZERO, queue: 10 }, compute).unwrap();
    let (first, second) = (batcher.submit(vec![0]).unwrap(), batcher.submit(vec![1]));
    assert!(matches!(first.wait(), Err(BatcherError::Closed)));
    // It was either too late to be taken, or it is told.
    assert!(matches!(second.and_then(Answer::wait), Err(BatcherError::Closed)));
}
