//! Where the processes of a job run: on the loopback, or each in a network namespace of its own, where packets can be lost.

use std::net::TcpListener;
use std::process::Command;

/// Where processes run.
pub(crate) struct Site {
    /// What the names of its namespaces begin with; without namespaces all is on the loopback.
    prefix: Option<String>,
    hosts: usize,
    /// Where the master listens, and where it says how the job goes.
    ports: [u16; 2],
}

fn run(command: &str) -> Result<(), String> {
    let mut words = command.split(' ');
    let output = Command::new(words.next().unwrap()).args(words).output();
    let output = output.map_err(|error| format!("{command}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

impl Site {
    pub(crate) fn loopback() -> Self {
        // Free now; whoever takes it before the master makes the test fail, not pass.
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = listeners.map(|listener| listener.local_addr().unwrap().port());
        Site { prefix: None, hosts: 0, ports }
    }

    /// So many hosts on one bridge. It needs root and the programs `ip`, `tc` and `iptables`.
    pub(crate) fn namespaces(hosts: usize) -> Result<Self, String> {
        let prefix = format!("paddle{}-", std::process::id());
        let hub = format!("{prefix}hub");
        let site = Site { prefix: Some(prefix.clone()), hosts, ports: [7164, 9100] };
        run("iptables --version").and(run("tc -V"))?;
        run(&format!("ip netns add {hub}"))?;
        run(&format!("ip -n {hub} link add bridge type bridge"))?;
        run(&format!("ip -n {hub} link set bridge up"))?;
        for k in 0..hosts {
            let host = format!("{prefix}{k}");
            run(&format!("ip netns add {host}"))?;
            run(&format!("ip -n {host} link set lo up"))?;
            run(&format!("ip -n {hub} link add port{k} type veth peer name wire netns {host}"))?;
            run(&format!("ip -n {hub} link set port{k} master bridge up"))?;
            run(&format!("ip -n {host} address add 10.83.0.{}/24 dev wire", k + 1))?;
            run(&format!("ip -n {host} link set wire up"))?;
        }
        Ok(site)
    }

    /// A command that runs this program on a host.
    pub(crate) fn command(&self, host: usize) -> Command {
        let program = std::env::current_exe().unwrap();
        match &self.prefix {
            None => Command::new(program),
            Some(prefix) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", &format!("{prefix}{host}")]).arg(program);
                command
            }
        }
    }

    /// Where the master listens, on host 0.
    pub(crate) fn master(&self) -> (&'static str, u16) {
        (if self.prefix.is_some() { "10.83.0.1" } else { "127.0.0.1" }, self.ports[0])
    }

    /// Where the master says how the job goes.
    pub(crate) fn metrics(&self) -> String {
        format!("127.0.0.1:{}", self.ports[1])
    }

    fn on(&self, host: usize, command: &str) {
        let prefix = self.prefix.as_ref().expect("faults of the network need namespaces");
        run(&format!("ip netns exec {prefix}{host} {command}")).unwrap();
    }

    /// Drops a fraction of the packets from and to a host; all of them if it is 1.
    pub(crate) fn lose(&self, host: usize, fraction: f64) {
        let which = match fraction {
            1.0 => String::new(),
            _ => format!(" -m statistic --mode random --probability {fraction}"),
        };
        self.on(host, &format!("iptables -A INPUT -i wire{which} -j DROP"));
        self.on(host, &format!("iptables -A OUTPUT -o wire{which} -j DROP"));
    }

    /// Lets so many megabits a second through from and to a host.
    pub(crate) fn shape(&self, host: usize, megabits: f64) {
        let prefix = self.prefix.as_ref().unwrap();
        // What is sent at once is up to 64 KiB; where less may pass at once, the kernel cuts it into packets, which takes its time.
        let burst = (megabits * 1e6 / 8.0 * 0.002).max(32e3);
        let shape = format!("root tbf rate {megabits}mbit burst {burst:.0}b latency 200ms");
        self.on(host, &format!("tc qdisc add dev wire {shape}"));
        run(&format!("ip netns exec {prefix}hub tc qdisc add dev port{host} {shape}")).unwrap();
    }

    /// Ends all faults of a host's network.
    pub(crate) fn heal(&self, host: usize) {
        let Some(prefix) = &self.prefix else { return };
        self.on(host, "iptables -F");
        // Whoever is not shaped has nothing to delete.
        let _ = run(&format!("ip netns exec {prefix}{host} tc qdisc del dev wire root"));
        let _ = run(&format!("ip netns exec {prefix}hub tc qdisc del dev port{host} root"));
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let Some(prefix) = &self.prefix else { return };
        for host in (0..self.hosts).map(|k| k.to_string()).chain(["hub".to_string()]) {
            // One that was not made cannot be deleted.
            let _ = run(&format!("ip netns delete {prefix}{host}"));
        }
    }
}
