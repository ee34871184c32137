//! Ranks from the environments of each launcher, as they were found there or are documented.

use paddle_engines::rank::{Launcher, Place, RankError, Role};

fn find(servers: usize, variables: &[(&str, &str)]) -> Result<Option<Place>, RankError> {
    Place::find(servers, |name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
    })
}

fn place(servers: usize, variables: &[(&str, &str)]) -> Place {
    find(servers, variables).unwrap().unwrap()
}

fn with(
    variables: &[(&'static str, &'static str)],
    name: &'static str,
    value: &'static str,
) -> Vec<(&'static str, &'static str)> {
    let mut changed: Vec<_> = variables.iter().copied().filter(|(known, _)| *known != name).collect();
    changed.push((name, value));
    changed
}

const KUBERNETES: [(&str, &str); 5] = [
    ("KUBERNETES_SERVICE_HOST", "10.96.0.1"),
    ("JOB_COMPLETION_INDEX", "4"),
    ("PADDLE_SIZE", "6"),
    ("PADDLE_SERVERS", "2"),
    ("PADDLE_MASTER", "mnist-0.mnist:7164"),
];

const TORCHRUN: [(&str, &str); 4] =
    [("RANK", "1"), ("WORLD_SIZE", "4"), ("MASTER_ADDR", "10.0.0.7"), ("MASTER_PORT", "29500")];

const SLURM: [(&str, &str); 4] = [
    ("SLURM_PROCID", "5"),
    ("SLURM_NTASKS", "16"),
    ("SLURM_STEP_NUM_TASKS", "8"),
    ("SLURM_STEP_NODELIST", "gpu[03-06],gpu11"),
];

#[test]
fn roles_follow_ranks() {
    let roles: Vec<Role> = (0..6)
        .map(|rank| {
            let rank = rank.to_string();
            let variables = KUBERNETES.map(|(name, value)| match name {
                "JOB_COMPLETION_INDEX" => (name, rank.as_str()),
                _ => (name, value),
            });
            place(2, &variables).role()
        })
        .collect();
    let expected = [
        Role::Master,
        Role::Server(0),
        Role::Server(1),
        Role::Trainer(0),
        Role::Trainer(1),
        Role::Trainer(2),
    ];
    assert_eq!(roles, expected);
    assert_eq!(place(2, &KUBERNETES).trainers(), 3);
}

#[test]
fn kubernetes_says_the_rank_of_an_indexed_job() {
    let expected = Place {
        launcher: Launcher::Kubernetes,
        rank: 4,
        size: 6,
        servers: 2,
        master: "mnist-0.mnist:7164".into(),
    };
    assert_eq!(place(2, &KUBERNETES), expected);
    assert_eq!(place(2, &with(&KUBERNETES, "PADDLE_RANK_OFFSET", "1")).rank, 5);
}

#[test]
fn a_pod_without_an_index_is_a_launcher() {
    assert_eq!(find(2, &KUBERNETES[..1]), Ok(None));
    // An index without Kubernetes is a leftover.
    assert_eq!(find(2, &KUBERNETES[1..]), Ok(None));
}

#[test]
fn torchrun_says_rank_size_and_address() {
    let expected =
        Place { launcher: Launcher::Torchrun, rank: 1, size: 4, servers: 2, master: "10.0.0.7:29500".into() };
    assert_eq!(place(2, &TORCHRUN), expected);
    // The agent listens there itself.
    let agent = with(&TORCHRUN, "TORCHELASTIC_USE_AGENT_STORE", "True");
    assert_eq!(place(2, &agent).master, "10.0.0.7:7164");
    assert_eq!(place(2, &with(&agent, "PADDLE_PORT", "81")).master, "10.0.0.7:81");
    assert_eq!(place(2, &with(&TORCHRUN, "MASTER_ADDR", "fd00::7")).master, "[fd00::7]:29500");
}

#[test]
fn slurm_says_the_rank_in_a_step() {
    let expected =
        Place { launcher: Launcher::Slurm, rank: 5, size: 8, servers: 2, master: "gpu03:7164".into() };
    assert_eq!(place(2, &SLURM), expected);
    assert_eq!(place(2, &with(&SLURM, "SLURM_STEP_NUM_TASKS", "")).size, 16);
}

#[test]
fn a_batch_script_of_several_tasks_has_to_use_srun() {
    let script = with(&SLURM, "SLURM_STEP_NODELIST", "");
    let Err(error) = find(2, &script) else { panic!("accepted") };
    assert!(error.to_string().contains("`srun`"), "{error}");
    assert_eq!(find(2, &with(&script, "SLURM_NTASKS", "1")), Ok(None));
}

#[test]
fn mpirun_on_one_host_needs_no_address() {
    let variables =
        [("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "4")];
    let expected =
        Place { launcher: Launcher::OpenMpi, rank: 2, size: 4, servers: 1, master: "127.0.0.1:7164".into() };
    assert_eq!(place(1, &variables), expected);

    let several = with(&variables, "OMPI_COMM_WORLD_LOCAL_SIZE", "2");
    let Err(error) = find(1, &several) else { panic!("accepted") };
    assert!(error.to_string().contains("MASTER_ADDR"), "{error}");
    assert_eq!(place(1, &with(&several, "MASTER_ADDR", "n1")).master, "n1:7164");
    assert_eq!(place(1, &with(&several, "SLURM_JOB_NODELIST", "n[7-9]")).master, "n7:7164");
}

#[test]
fn pmi_says_rank_and_size() {
    let variables = [("PMI_RANK", "0"), ("PMI_SIZE", "3"), ("MPI_LOCALNRANKS", "3")];
    let found = place(1, &variables);
    assert_eq!((found.launcher, found.rank, found.size), (Launcher::Pmi, 0, 3));
}

#[test]
fn the_innermost_launcher_is_asked_first() {
    let mpi = [("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "4"), ("MASTER_ADDR", "n1")];
    let nested = [&mpi[..], &SLURM[..], &KUBERNETES[..]].concat();
    assert_eq!(place(2, &nested).launcher, Launcher::OpenMpi);
    assert_eq!(place(2, &[&nested[..], &TORCHRUN[..]].concat()).launcher, Launcher::Torchrun);
}

#[test]
fn each_wrong_variable_is_named() {
    // What is set, what to, for how many servers, and what the error says.
    type Case = (&'static [(&'static str, &'static str)], &'static str, &'static str, usize, &'static str);
    let cases: [Case; 14] = [
        (
            &KUBERNETES,
            "JOB_COMPLETION_INDEX",
            "four",
            2,
            "JOB_COMPLETION_INDEX is `four`; expected a whole number",
        ),
        (
            &KUBERNETES,
            "JOB_COMPLETION_INDEX",
            "-1",
            2,
            "JOB_COMPLETION_INDEX is `-1`; expected a whole number",
        ),
        (
            &KUBERNETES,
            "JOB_COMPLETION_INDEX",
            "6",
            2,
            "JOB_COMPLETION_INDEX is `6`, which does not fit: expected less than PADDLE_SIZE, which is 6",
        ),
        (
            &KUBERNETES,
            "PADDLE_SERVERS",
            "3",
            2,
            "PADDLE_SERVERS is `3`, which does not fit: expected 2, as in the program",
        ),
        (&KUBERNETES, "PADDLE_SIZE", "3", 2, "PADDLE_SIZE is `3`, which does not fit: expected 4 or more"),
        (&KUBERNETES, "PADDLE_SIZE", "", 2, "PADDLE_SIZE is not set, but JOB_COMPLETION_INDEX is"),
        (&KUBERNETES, "PADDLE_MASTER", "mnist-0", 2, "PADDLE_MASTER is `mnist-0`; expected `host:port`"),
        (
            &KUBERNETES,
            "PADDLE_RANK_OFFSET",
            "99999999999999999999",
            2,
            "PADDLE_RANK_OFFSET is `99999999999999999999`",
        ),
        (
            &TORCHRUN,
            "RANK",
            "4",
            2,
            "RANK is `4`, which does not fit: expected less than WORLD_SIZE, which is 4",
        ),
        (&TORCHRUN, "WORLD_SIZE", "", 2, "WORLD_SIZE is not set, but RANK is"),
        (&TORCHRUN, "MASTER_ADDR", "", 2, "MASTER_ADDR is not set, but RANK is"),
        (&TORCHRUN, "MASTER_PORT", "0", 2, "MASTER_PORT is `0`; expected a port"),
        (&TORCHRUN, "PADDLE_PORT", "http", 3, "WORLD_SIZE is `4`, which does not fit: expected 5 or more"),
        (&SLURM, "SLURM_STEP_NODELIST", "gpu[03", 2, "SLURM_STEP_NODELIST is `gpu[03`; expected hosts"),
    ];
    for (variables, name, value, servers, message) in cases {
        let changed: Vec<_> =
            variables.iter().copied().filter(|(known, _)| *known != name).chain([(name, value)]).collect();
        let error = find(servers, &changed).expect_err(message).to_string();
        assert!(error.starts_with(message), "{error}\n{message}");
    }
}
