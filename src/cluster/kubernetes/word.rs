//! A job in a word of a command line: `kubernetes:ranking,servers=2,trainers=4,image=registry.example/ranking`.

use super::{Action, KubernetesJob};

impl KubernetesJob {
    /// The job that a word means, without `kubernetes:`, and its number of servers. `None` if it means none.
    pub(in super::super) fn parse(word: &str) -> Option<(Self, u32)> {
        let mut parts = word.split(',');
        let (mut job, mut servers) = (Self::new(parts.next().filter(|name| !name.is_empty())?), 1);
        for part in parts {
            let count = |value: &str| value.parse().ok().filter(|&count: &u32| count > 0);
            job = match part.split_once('=') {
                Some(("servers", value)) => {
                    servers = count(value)?;
                    job
                }
                Some(("trainers", value)) => job.trainers(count(value)?),
                Some(("scale", value)) => {
                    job.action = Action::Scale(count(value)?);
                    job
                }
                Some(("image", value)) => job.image(value),
                Some(("store", value)) => job.store(value),
                Some(("credentials", value)) => job.credentials(value),
                Some(("server", value)) => job.server(value),
                Some(("namespace", value)) => job.namespace(value),
                Some(("program", value)) => job.program(value),
                Some(("cpu", value)) => {
                    job.resources.cpu = Some(value.to_string());
                    job
                }
                Some(("memory", value)) => {
                    job.resources.memory = Some(value.to_string());
                    job
                }
                None => {
                    match part {
                        "docker" => job.by_docker = true,
                        "status" => job.action = Action::Status,
                        "logs" => job.action = Action::Logs,
                        "stop" => job.action = Action::Stop,
                        _ => return None,
                    }
                    job
                }
                Some(_) => return None,
            };
        }
        Some((job, servers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_jobs() {
        let word = "ranking,servers=2,trainers=4,image=r.example/x,store=s3://b/p,credentials=k.pem,cpu=2,memory=1Gi,docker,status";
        let (job, servers) = KubernetesJob::parse(word).unwrap();
        assert_eq!((servers, job.trainers, job.by_docker, job.action), (2, 4, true, Action::Status));
        assert_eq!((job.image.as_deref(), job.store.as_deref()), (Some("r.example/x"), Some("s3://b/p")));
        let (job, _) = KubernetesJob::parse("ranking,credentials=k.pem,scale=7").unwrap();
        assert_eq!(job.action, Action::Scale(7));
        for wrong in
            ["x,scale=0", "x,scale", "", ",servers=2", "x,servers=0", "x,servers=a", "x,colour=red", "x,fly"]
        {
            assert!(KubernetesJob::parse(wrong).is_none(), "{wrong}");
        }
    }
}
