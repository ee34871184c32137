//! Loops along sequences, and loops that rows leave one by one: gradients, all backends, independence of rows.

use std::collections::BTreeMap;

use paddle_core::ops::Program;
use paddle_core::passes::hoist::hoist;
use paddle_core::passes::map::map;
use paddle_core::passes::sink::sink;
use paddle_core::passes::split::split;
use paddle_core::plan::Backend;
use paddle_core::program::{DType, RowOrigin, RowsId, Type};
use paddle_core::text;
use paddle_kernels::differences::{Compared, Differentiated};
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::fed::{Fed, on_grid};
use crate::gradients::{Run, assert_many, check, differentiate};
use crate::host::Host;
use crate::on_every_device;
use crate::programs::assert_close;

pub(crate) const PROGRAMS: &[(&str, &str)] = &[
    (
        "a recurrent network: the last state, and all of them",
        "program {
          rows _
          tokens _.s of _
          steps _.s.steps of _.s
          rows _.1 of _ in _.s.steps
          block 0 (s: f32[_.s, 2], h0: f32[_, 3], w: f32[2, 3], u: f32[3, 3]) {
            t: f32[_.s.steps, 2] = gather_rows(s)
            end: f32[_, 3], given: f32[_.s.steps, 3] = for(t, h0, items=1) {
              block 1 on _.1 (a: f32[_.1, 2], h: f32[_.1, 3]) {
                p: f32[_.1, 3] = matmul_v2(a, w)
                q: f32[_.1, 3] = matmul_v2(h, u)
                r: f32[_.1, 3] = elementwise_add(p, q)
                n: f32[_.1, 3] = tanh(r)
                yield n, n
              }
            }
            hs: f32[_.s, 3] = scatter_rows(given)
            return end, hs
          }
        }",
    ),
    (
        "values of the rows around, whole sequences of them, two states that change places",
        "program {
          rows _
          tokens _.s of _
          tokens _.e of _
          steps _.s.steps of _.s
          rows _.1 of _ in _.s.steps
          tokens _.1.e of _.1 in _.e
          block 0 (s: f32[_.s, 2], e: f32[_.e, 2], x: f32[_, 2], h0: f32[_, 2], g0: f32[_, 2]) {
            t: f32[_.s.steps, 2] = gather_rows(s)
            h: f32[_, 2], g: f32[_, 2], given: f32[_.s.steps, 2] = for(t, h0, g0, items=1) {
              block 1 on _.1 (a: f32[_.1, 2], h1: f32[_.1, 2], g1: f32[_.1, 2]) {
                x1: f32[_.1, 2] = gather_rows(x)
                e1: f32[_.1.e, 2] = gather_rows(e)
                y1: f32[_.1.e, 2] = square(e1)
                m1: f32[_.1, 2] = sequence_pool(y1, pooltype=\"SUM\")
                p: f32[_.1, 2] = elementwise_mul(a, h1)
                q: f32[_.1, 2] = elementwise_add(p, m1)
                r: f32[_.1, 2] = elementwise_mul(q, x1)
                n: f32[_.1, 2] = tanh(r)
                yield g1, n, h1
              }
            }
            hs: f32[_.s, 2] = scatter_rows(given)
            return h, g, hs
          }
        }",
    ),
    (
        "a loop that rows leave, with what it captures, and what it gives",
        "program {
          rows _
          tokens _.ws of _
          rounds _.ws.rounds of _.ws
          rows _.1 of _ in _.ws.rounds
          rows _.2 of _ in _.ws.rounds
          block 0 (x: f32[_, 2], c: f32[_, 1], y: f32[_, 2], w: f32[2, 2]) {
            limit: f32[] = fill_constant(value=0.0)
            one: f32[] = fill_constant(value=0.75)
            end: f32[_, 2], left: f32[_, 1], given: f32[_.ws.rounds, 2] = while(x, c) {
              block 1 on _.1 (x1: f32[_.1, 2], c1: f32[_.1, 1]) {
                more: bool[_.1, 1] = greater_than(c1, limit)
                yield more
              }
              block 2 on _.2 (x2: f32[_.2, 2], c2: f32[_.2, 1]) {
                y2: f32[_.2, 2] = gather_rows(y)
                p: f32[_.2, 2] = matmul_v2(x2, w)
                q: f32[_.2, 2] = elementwise_mul(p, y2)
                n: f32[_.2, 2] = tanh(q)
                d: f32[_.2, 1] = elementwise_sub(c2, one)
                yield n, d, p
              }
            }
            ws: f32[_.ws, 2] = scatter_rows(given)
            sums: f32[_, 2] = sequence_pool(ws, pooltype=\"SQRT\")
            return end, sums, ws
          }
        }",
    ),
    (
        "a branch in a loop along sequences, and a loop that rows leave in a branch of it",
        "program {
          rows _
          tokens _.s of _
          steps _.s.steps of _.s
          rows _.1 of _ in _.s.steps
          rows _.1.2 of _.1
          rows _.1.3 of _.1
          tokens _.1.2.r of _.1.2
          rounds _.1.2.r.rounds of _.1.2.r
          rows _.1.2.4 of _.1.2 in _.1.2.r.rounds
          rows _.1.2.5 of _.1.2 in _.1.2.r.rounds
          block 0 (s: f32[_.s, 2], x: f32[_, 2], h0: f32[_, 2], w: f32[2, 2]) {
            zero: f32[] = fill_constant(value=0.0)
            small: f32[] = fill_constant(value=0.25)
            t: f32[_.s.steps, 2] = gather_rows(s)
            end: f32[_, 2], given: f32[_.s.steps, 2] = for(t, h0, items=1) {
              block 1 on _.1 (a: f32[_.1, 2], h: f32[_.1, 2]) {
                x1: f32[_.1, 2] = gather_rows(x)
                b: f32[_.1] = reduce_sum(a, axes=[1])
                cond: bool[_.1] = greater_than(b, zero)
                n: f32[_.1, 2] = if(cond) {
                  block 2 on _.1.2 {
                    a2: f32[_.1.2, 2] = gather_rows(a)
                    x2: f32[_.1.2, 2] = gather_rows(x1)
                    h2: f32[_.1.2, 2] = gather_rows(h)
                    e2: f32[_.1.2, 2] = while(a2) {
                      block 4 on _.1.2.4 (a4: f32[_.1.2.4, 2]) {
                        s4: f32[_.1.2.4, 2] = square(a4)
                        m4: f32[_.1.2.4] = reduce_sum(s4, axes=[1])
                        more: bool[_.1.2.4] = greater_than(m4, small)
                        yield more
                      }
                      block 5 on _.1.2.5 (a5: f32[_.1.2.5, 2]) {
                        x5: f32[_.1.2.5, 2] = gather_rows(x2)
                        p5: f32[_.1.2.5, 2] = elementwise_mul(a5, x5)
                        t5: f32[_.1.2.5, 2] = tanh(p5)
                        q5: f32[_.1.2.5, 2] = scale(t5, scale=0.7)
                        yield q5
                      }
                    }
                    n2: f32[_.1.2, 2] = elementwise_add(e2, h2)
                    yield n2
                  }
                  block 3 on _.1.3 {
                    h3: f32[_.1.3, 2] = gather_rows(h)
                    n3: f32[_.1.3, 2] = matmul_v2(h3, w)
                    yield n3
                  }
                }
                k: f32[_.1, 2] = tanh(n)
                yield k, n
              }
            }
            hs: f32[_.s, 2] = scatter_rows(given)
            return end, hs
          }
        }",
    ),
    (
        "a loop along sequences in a loop along others",
        "program {
          rows _
          tokens _.s of _
          tokens _.e of _
          steps _.s.steps of _.s
          rows _.1 of _ in _.s.steps
          tokens _.1.e of _.1 in _.e
          steps _.1.e.steps of _.1.e
          rows _.1.2 of _.1 in _.1.e.steps
          block 0 (s: f32[_.s, 2], e: f32[_.e, 2], h0: f32[_, 2], w: f32[2, 2]) {
            t: f32[_.s.steps, 2] = gather_rows(s)
            end: f32[_, 2], given: f32[_.s.steps, 2] = for(t, h0, items=1) {
              block 1 on _.1 (a: f32[_.1, 2], h: f32[_.1, 2]) {
                e1: f32[_.1.e, 2] = gather_rows(e)
                f1: f32[_.1.e.steps, 2] = gather_rows(e1)
                g: f32[_.1, 2], each: f32[_.1.e.steps, 2] = for(f1, h, items=1) {
                  block 2 on _.1.2 (b: f32[_.1.2, 2], k: f32[_.1.2, 2]) {
                    a2: f32[_.1.2, 2] = gather_rows(a)
                    p: f32[_.1.2, 2] = matmul_v2(k, w)
                    q: f32[_.1.2, 2] = elementwise_mul(p, b)
                    r: f32[_.1.2, 2] = elementwise_add(q, a2)
                    n: f32[_.1.2, 2] = tanh(r)
                    yield n, n
                  }
                }
                all: f32[_.1.e, 2] = scatter_rows(each)
                m: f32[_.1, 2] = sequence_pool(all, pooltype=\"SUM\")
                o: f32[_.1, 2] = elementwise_add(g, m)
                z: f32[_.1, 2] = tanh(o)
                yield z, o
              }
            }
            hs: f32[_.s, 2] = scatter_rows(given)
            return end, hs
          }
        }",
    ),
    (
        "along what a loop gave",
        "program {
          rows _
          tokens _.ws of _
          rounds _.ws.rounds of _.ws
          rows _.1 of _ in _.ws.rounds
          rows _.2 of _ in _.ws.rounds
          steps _.ws.steps of _.ws
          rows _.3 of _ in _.ws.steps
          block 0 (x: f32[_, 2], c: f32[_, 1], w: f32[2, 2]) {
            limit: f32[] = fill_constant(value=0.0)
            one: f32[] = fill_constant(value=0.5)
            left: f32[_, 1], given: f32[_.ws.rounds, 2] = while(c) {
              block 1 on _.1 (c1: f32[_.1, 1]) {
                more: bool[_.1, 1] = greater_than(c1, limit)
                yield more
              }
              block 2 on _.2 (c2: f32[_.2, 1]) {
                x2: f32[_.2, 2] = gather_rows(x)
                d: f32[_.2, 1] = elementwise_sub(c2, one)
                p: f32[_.2, 2] = elementwise_mul(x2, d)
                yield d, p
              }
            }
            ws: f32[_.ws, 2] = scatter_rows(given)
            t: f32[_.ws.steps, 2] = gather_rows(ws)
            end: f32[_, 2] = for(t, x, items=1) {
              block 3 on _.3 (a: f32[_.3, 2], h: f32[_.3, 2]) {
                p3: f32[_.3, 2] = matmul_v2(h, w)
                q3: f32[_.3, 2] = elementwise_sub(a, p3)
                n3: f32[_.3, 2] = tanh(q3)
                yield n3
              }
            }
            return end
          }
        }",
    ),
    (
        "whole sequences in branches, merged again",
        "program {
          rows _
          tokens _.s of _
          rows _.1 of _
          tokens _.1.s of _.1 in _.s
          rows _.2 of _
          tokens _.2.s of _.2 in _.s
          steps _.2.s.steps of _.2.s
          rows _.2.3 of _.2 in _.2.s.steps
          block 0 (s: f32[_.s, 2], c: f32[_], w: f32[2, 2]) {
            zero: f32[] = fill_constant(value=0.0)
            cond: bool[_] = greater_than(c, zero)
            m: f32[_, 2], z: f32[_.s, 2] = if(cond) {
              block 1 on _.1 {
                s1: f32[_.1.s, 2] = gather_rows(s)
                t1: f32[_.1.s, 2] = tanh(s1)
                m1: f32[_.1, 2] = sequence_pool(t1, pooltype=\"AVERAGE\")
                yield m1, t1
              }
              block 2 on _.2 {
                s2: f32[_.2.s, 2] = gather_rows(s)
                u2: f32[_.2.s.steps, 2] = gather_rows(s2)
                h2: f32[_.2, 2] = sequence_pool(s2, pooltype=\"LAST\")
                e2: f32[_.2, 2], g2: f32[_.2.s.steps, 2] = for(u2, h2, items=1) {
                  block 3 on _.2.3 (a: f32[_.2.3, 2], h: f32[_.2.3, 2]) {
                    p: f32[_.2.3, 2] = matmul_v2(h, w)
                    q: f32[_.2.3, 2] = elementwise_mul(a, p)
                    yield q, p
                  }
                }
                v2: f32[_.2.s, 2] = scatter_rows(g2)
                yield e2, v2
              }
            }
            return m, z
          }
        }",
    ),
];

/// Lengths of sequences, of which some, none or few are empty.
fn lengths(rows: usize, kind: usize, draw: &mut Draw) -> Vec<usize> {
    (0..rows).map(|_| if kind == 1 { 0 } else { draw.below(5) }).collect()
}

fn offsets(lengths: &[usize]) -> Vec<i64> {
    let mut end = 0;
    let ends = lengths.iter().map(|&length| {
        end += length as i64;
        end
    });
    std::iter::once(0).chain(ends.collect::<Vec<_>>()).collect()
}

/// Values for the inputs of a program, in which the names of conditions start with `c`.
fn feeds(program: &Program, rows: usize, kind: usize, draw: &mut Draw) -> Vec<Fed> {
    // Values of the same tokens share their offsets.
    let mut known: BTreeMap<RowsId, Vec<i64>> = BTreeMap::new();
    let mut feed = |name: &str, ty: &Type| {
        let space = ty.rows.map(|rows| program.row_space(rows));
        let tokens = ty.rows.filter(|&rows| program.row_space(rows).origin == RowOrigin::Tokens);
        let offsets = tokens
            .map(|tokens| known.entry(tokens).or_insert_with(|| offsets(&lengths(rows, kind, draw))).clone());
        let offsets: Vec<Vec<i64>> = offsets.into_iter().collect();
        let leading = match (offsets.last(), space) {
            (Some(offsets), _) => Some(*offsets.last().unwrap() as usize),
            (None, Some(_)) => Some(rows),
            (None, None) => None,
        };
        let dims = ty.dims.iter().map(|dim| dim.constant().unwrap() as usize);
        let shape: Vec<usize> = leading.into_iter().chain(dims).collect();
        let count = shape.iter().product();
        let range = if name.starts_with('c') { (-1.0, 3.0) } else { (-1.5, 1.5) };
        let values = match ty.dtype {
            DType::F32 => on_grid(draw, count, range),
            dtype => draw.elements(dtype, count, (0.0, 3.0)),
        };
        Fed { values, shape, offsets }
    };
    program.inputs().iter().map(|&var| feed(&program.var(var).name, program.ty(var))).collect()
}

fn cases() -> impl Iterator<Item = (Differentiated, Vec<Vec<Fed>>)> {
    let mut draw = Draw::new(11);
    PROGRAMS.iter().map(move |(name, source)| {
        let program = text::parse(source).unwrap_or_else(|error| panic!("{name}: {error}"));
        program.verify().unwrap_or_else(|error| panic!("{name}: {error}"));
        let differentiated = differentiate(program);
        let batches = [(4, 0), (1, 0), (5, 0), (0, 0), (3, 1), (7, 0)];
        let feeds = batches.map(|(rows, kind)| feeds(differentiated.program(), rows, kind, &mut draw));
        (differentiated, feeds.into())
    })
}

#[test]
fn gradients_of_loops_over_rows_are_differences() {
    let mut checked = Compared::default();
    for (differentiated, batches) in cases() {
        batches.iter().for_each(|feeds| checked.add(check(&differentiated, feeds)));
    }
    assert_many(checked, 500);
}

/// Costs and gradients in `f32` equal those in `f64` except for rounding. One executor takes batches of all sizes.
fn loops_over_rows_agree<B: Backend + Clone>(backend: &B) {
    for (differentiated, batches) in cases() {
        let program = differentiated.program();
        let (mut oracle, mut run) =
            (Run::new(Reference::double(), program), Run::new(backend.clone(), program));
        for feeds in batches {
            assert_close(&run.outputs(&feeds), &oracle.outputs(&feeds), program);
        }
    }
}

on_every_device!(loops_over_rows_agree);

/// The feeds of one row of a batch.
fn row(program: &Program, feeds: &[Fed], row: usize) -> Vec<Fed> {
    let cut = |(fed, ty): (&Fed, &Type)| {
        let width: usize = fed.shape.iter().skip(1).product();
        let range = match (fed.offsets.last(), ty.rows) {
            (Some(offsets), _) => offsets[row] as usize..offsets[row + 1] as usize,
            (None, Some(_)) => row..row + 1,
            (None, None) => {
                return Fed { values: fed.values.clone(), shape: fed.shape.clone(), offsets: Vec::new() };
            }
        };
        let Host::F32(values) = &fed.values else { panic!("only floats are cut") };
        let values = Host::F32(values[range.start * width..range.end * width].to_vec());
        let offsets = fed.offsets.iter().map(|_| vec![0, range.len() as i64]).collect();
        let shape = std::iter::once(range.len()).chain(fed.shape[1..].iter().copied()).collect();
        Fed { values, shape, offsets }
    };
    let types = program.inputs().iter().map(|&input| program.ty(input));
    feeds.iter().zip(types).map(cut).collect()
}

/// The results of a row do not depend on the other rows.
#[test]
fn rows_of_loops_are_independent() {
    let mut draw = Draw::new(12);
    for (name, source) in PROGRAMS {
        let program = text::parse(source).unwrap();
        let mut run = Run::new(Reference::single(), &program);
        for rows in [5, 2, 8] {
            let batch = feeds(&program, rows, 0, &mut draw);
            let whole = run.outputs(&batch);
            let mut parts: Vec<Vec<f64>> = vec![Vec::new(); whole.len()];
            for at in 0..rows {
                let of_row = run.outputs(&row(&program, &batch, at));
                parts.iter_mut().zip(of_row).for_each(|(all, part)| all.extend(part));
            }
            assert_eq!(whole, parts, "{name}");
        }
    }
}

/// Hoisting and sinking keep values and gradients.
#[test]
fn hoisting_and_sinking_change_no_value() {
    let mut draw = Draw::new(13);
    let mut checked = Compared::default();
    for (name, source) in PROGRAMS {
        let program = text::parse(source).unwrap();
        let plain = differentiate(program.clone());
        let mut moved = program;
        for pass in [split, map, hoist, sink] {
            pass(&mut moved).unwrap_or_else(|error| panic!("{name}: {error}"));
            moved.verify().unwrap_or_else(|error| panic!("{name}: {error}\n{moved}"));
        }
        let moved = differentiate(moved);
        let mut sunk = moved.program().clone();
        sink(&mut sunk).unwrap();
        sunk.verify().unwrap_or_else(|error| panic!("{name}: {error}\n{sunk}"));
        let mut runs = [plain.program(), &sunk].map(|program| Run::new(Reference::double(), program));
        for (rows, kind) in [(4, 0), (1, 0), (0, 0), (3, 1)] {
            let feeds = feeds(plain.program(), rows, kind, &mut draw);
            checked.add(check(&moved, &feeds));
            let [expected, found] = runs.each_mut().map(|run| run.outputs(&feeds));
            assert_close(&found, &expected, &sunk);
        }
    }
    assert_many(checked, 300);
}
