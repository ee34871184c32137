//! How much of what ranks send is hidden behind what they compute, over links of a given speed.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use paddle::attribute::network;
use paddle::cluster::Cluster;
use paddle::cluster::collective::{Collective, CollectiveError};
use paddle::{Momentum, Options, Parameters, Trainer};

#[network]
pub mod networks {
    /// Six layers of four megabytes.
    pub fn layers(x: Tensor<f32, _, 1024>) -> Tensor<f32> {
        let h = fc(fc(fc(x, 1024, act = relu), 1024, act = relu), 1024, act = relu);
        mean(square(fc(fc(fc(h, 1024, act = relu), 1024, act = relu), 1024) - 0.5))
    }
}

/// One of two ranks. What it sends goes over a link of its own, one message after the other, each as long as its bytes take.
struct Slow {
    rank: u32,
    link: Sender<(Instant, Bytes)>,
    from: Receiver<Bytes>,
    /// So many bytes go over the link in a second.
    rate: f64,
    /// When the link is free again.
    free: Instant,
    /// When each message that was sent since the rank last listened is on its way.
    sent: Vec<[Instant; 2]>,
    /// How often the rank has begun to listen. Of a step it listens for sums, and then for new values.
    listened: usize,
    /// The seconds in which sums were on their way, and those before the rank listened.
    times: Sender<[f64; 2]>,
}

impl Collective for Slow {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        2
    }

    fn send(&mut self, _: u32, bytes: Bytes) -> Result<(), CollectiveError> {
        let begins = self.free.max(Instant::now());
        self.free = begins + Duration::from_secs_f64(bytes.len() as f64 / self.rate);
        self.sent.push([begins, self.free]);
        self.link.send((self.free, bytes)).unwrap();
        Ok(())
    }

    fn receive(&mut self, from: u32) -> Result<Bytes, CollectiveError> {
        let now = Instant::now();
        if !self.sent.is_empty() {
            let seconds = |[begins, ends]: [Instant; 2]| ends.saturating_duration_since(begins).as_secs_f64();
            let all = self.sent.iter().map(|&way| seconds(way)).sum();
            let hidden = self.sent.drain(..).map(|[begins, ends]| seconds([begins, ends.min(now)])).sum();
            // The two messages before the first step say that both ranks have the same parameters and plans.
            if self.listened >= 2 && self.listened.is_multiple_of(2) {
                // Nobody may want to know.
                let _ = self.times.send([all, hidden]);
            }
            self.listened += 1;
        }
        self.from.recv().map_err(|_| CollectiveError::Gone { rank: from, why: "it has ended".to_string() })
    }
}

/// Two ranks, and links of so many bytes in a second.
fn pair(rate: f64, times: &Sender<[f64; 2]>) -> [Slow; 2] {
    let link = || {
        let (link, sent) = channel::<(Instant, Bytes)>();
        let (to, from) = channel();
        thread::spawn(move || {
            for (there, bytes) in sent {
                thread::sleep(there.saturating_duration_since(Instant::now()));
                // The other rank may have ended.
                let _ = to.send(bytes);
            }
        });
        (link, from)
    };
    let ((first, at_second), (second, at_first)) = (link(), link());
    let of = |rank, link, from| {
        let (free, sent, times) = (Instant::now(), Vec::new(), times.clone());
        Slow { rank, link, from, rate, free, sent, listened: 0, times }
    };
    [of(0, first, at_first), of(1, second, at_second)]
}

/// A measurement, with `PADDLE_THREADS=1` and `--nocapture`: how much of the time in which sums are on their way has passed when a rank has
/// computed all of them.
#[test]
#[ignore = "it takes its time, and is of use only where little else runs"]
fn what_is_sent_is_hidden() {
    let net = networks::layers();
    let batch: Vec<[f32; 1024]> =
        (0..512).map(|k| std::array::from_fn(|j| ((k * j) % 13) as f32 / 13.0)).collect();
    let train = |way: Slow| {
        let mut parameters = Parameters::create_with_seed(&net, 7).unwrap();
        let mut trainer = Trainer::new(Momentum::new(0.01)).on(&Cluster::over(way));
        let options = Options::default().shards(2);
        let mut step = || trainer.step_with(&net, &mut parameters, &batch, &options).unwrap().cost();
        (0..8).map(|_| step().to_bits()).collect::<Vec<_>>()
    };
    let mut costs = Vec::new();
    for gbits in [10.0, 4.0, 2.0, 1.0, 0.5] {
        let (times, measured) = channel();
        let [first, second] = pair(gbits * 1e9 / 8.0, &times);
        drop(times);
        let [one, other] = thread::scope(|scope| {
            let other = scope.spawn(|| train(second));
            [train(first), other.join().unwrap()]
        });
        assert_eq!(one, other);
        costs.push(one);
        let [all, hidden] =
            measured.iter().fold([0.0, 0.0], |sum: [f64; 2], time| [sum[0] + time[0], sum[1] + time[1]]);
        println!(
            "{gbits} Gbit/s: {:.1} ms on the way, {:.0} % of it hidden",
            1e3 * all / 16.0,
            100.0 * hidden / all
        );
    }
    assert!(costs.iter().all(|other| *other == costs[0]), "links change no bit");
}
