//! Loops, branches and sequences in unusual combinations.

use paddle::attribute::network;

#[network]
pub mod odd {
    /// Branches on tokens, with else-if, in a loop that others stand in.
    pub fn branches(xs: Seq<Tensor<f32, 3>>, ys: Seq<Tensor<f32, 3>>, s: Tensor<f32, _>) -> Tensor<f32> {
        let mut h = zeros(3);
        let mut count = 0;
        let picked = for x in xs {
            let t = sum(x, axis = 1);
            let seen = if t > 0.5 {
                let mut m = zeros(3);
                for y in ys {
                    m = maximum(m, y * x);
                }
                m
            } else if t > -0.5 && s > 0.0 {
                count += 1;
                sequence_pool(ys, average)
            } else {
                let (a, b) = (x, tanh(h));
                a * b
            };
            h = 0.5 * h + fc(seen, 3, param = "seen");
            (h, t)
        };
        let (states, sums) = picked;
        mean(square(sequence_pool(states, sqrt))) + mean(sequence_pool(sums, max)) + 0.1 * mean(cast(count, f32))
    }

    /// A `while` in a `for`, in a branch of a `while`; each with a break of its own.
    pub fn deep(xs: Seq<f32>, n: Tensor<f32, _>) -> Tensor<f32> {
        let mut total = n;
        let mut rounds = 0.0;
        while rounds < n + 2.0 {
            rounds += 1.0;
            if rounds > 2.5 {
                break;
            }
            for x in xs {
                let mut y = x + 0.3;
                while y < 1.0 {
                    y = 1.5 * y + 0.4;
                    if y > total + 3.0 {
                        break;
                    }
                }
                if y > 2.0 {
                    continue;
                }
                total += 0.1 * y;
            }
        }
        mean(total * n)
    }

    /// What one loop gives goes through others, forth and back.
    pub fn chained(xs: Seq<Tensor<f32, 2>>) -> Tensor<f32> {
        let mut h = zeros(2);
        let forth = for x in sequence_reverse(xs) {
            h = tanh(x + h);
            h
        };
        let mut g = h;
        let back = for (x, y) in (sequence_reverse(forth), xs) {
            g = tanh(x * g + y);
            if sum(g, axis = 1) > 0.0 {
                continue;
            }
            fc(g, 2, param = "back")
        };
        let mut last = g;
        let trail = while sum(square(last), axis = 1) > 0.05 {
            last = last * 0.6;
            let near = sum(sequence_expand(last, back) * back, axis = 1);
            last + unsqueeze(sequence_pool(near, sum), 1) * 0.01
        };
        mean(sequence_pool(sequence_concat([back, trail]), sum)) + mean(last)
    }

    /// Loops over what is decided while the network is compiled, around and in those over rows.
    pub fn layers(xs: Seq<Tensor<f32, 2>>, y: Tensor<f32, _, 2>) -> Tensor<f32> {
        let mut read = xs;
        for i in 0..3 {
            let mut h = y;
            read = for x in read {
                for j in 0..2 {
                    h = tanh(fc([x, h], 2, param = "layer{i}_{j}"));
                }
                h
            };
            if i == 1 {
                read = sequence_reverse(read);
            }
        }
        mean(square(sequence_pool(read, last)))
    }

    /// A scalar loop around per-row ones, whose rows it changes.
    pub fn scalar(xs: Seq<f32>, steps: Tensor<i64>) -> Tensor<f32> {
        let mut i = 0;
        let mut w = 0.5;
        let mut kept = sequence_pool(xs, sum);
        while i < steps {
            i += 1;
            let mut s = kept;
            for x in xs {
                s = tanh(s + x * w);
            }
            kept = if s > 0.0 { s * w } else { kept - s };
            w = w * 0.9 + 0.1 * mean(kept);
        }
        mean(kept) + w
    }
}

pub(crate) fn networks() -> Vec<crate::Model> {
    vec![
        crate::model(odd::branches()),
        crate::model(odd::deep()),
        crate::model(odd::chained()),
        crate::model(odd::layers()),
        crate::model(odd::scalar()),
    ]
}
