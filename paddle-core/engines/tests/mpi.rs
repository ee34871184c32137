//! Ranks over MPI. Without `mpirun` it is skipped, loudly.

use std::env;
use std::process::Command;

use bytes::Bytes;
use paddle_engines::collective::{Collective, CollectiveError, Mpi};

fn main() {
    if env::var_os("PADDLE_TEST_RANKS").is_some() {
        return in_rank();
    }
    for ranks in [1, 2, 4] {
        let mut mpirun = Command::new("mpirun");
        // It is run as root in containers.
        mpirun.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        mpirun.env("PADDLE_TEST_RANKS", ranks.to_string());
        mpirun.args(["--oversubscribe", "-n", &ranks.to_string()]).arg(env::current_exe().unwrap());
        match mpirun.output() {
            Ok(output) => {
                let [said, errors] =
                    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
                assert!(output.status.success(), "{ranks} ranks: {errors}");
                assert_eq!(said.matches("ok\n").count(), ranks, "{said}{errors}");
            }
            Err(error) => return println!("*** SKIPPED: mpirun: {error} ***"),
        }
    }
    println!("mpi: 1, 2 and 4 ranks");
}

/// Bytes that tell who has sent them to whom.
fn told(from: u32, to: u32, length: usize) -> Bytes {
    (0..length).map(|at| (at as u32 * 7 + from * 31 + to * 3) as u8).collect()
}

fn in_rank() {
    let mut way = Mpi::start().expect("it is started once");
    assert!(Mpi::start().is_none());
    let (rank, size) = (way.rank(), way.size());
    assert_eq!(size.to_string(), env::var("PADDLE_TEST_RANKS").unwrap());
    // Of each length as many to one as to the other, and to some nothing.
    for length in [0, 1, 1000, 3_000_000] {
        let length_of = |from: u32, to: u32| length * ((from + to) % 3) as usize;
        let to = (0..size).map(|to| told(rank, to, length_of(rank, to))).collect();
        let from = way.all_to_all(to).unwrap();
        let expected: Vec<_> = (0..size).map(|from| told(from, rank, length_of(from, rank))).collect();
        assert!(from == expected, "{length}");
    }
    assert_eq!(
        way.all_gather(told(rank, 0, 5)).unwrap(),
        (0..size).map(|from| told(from, 0, 5)).collect::<Vec<_>>()
    );
    // All send before any receives.
    let next = (rank + 1) % size;
    let before = (rank + size - 1) % size;
    for length in [10, 20_000_000, 0] {
        if size > 1 {
            (0..4).for_each(|_| way.send(next, told(rank, next, length)).unwrap());
            (0..4).for_each(|_| assert!(way.receive(before).unwrap() == told(before, rank, length)));
        }
    }
    assert_eq!(way.receive(size), Err(CollectiveError::NoRank { rank: size, size }));
    println!("ok");
}
