//! Programs with branches and loops: their gradients, and their results on every backend.

use paddle_core::ops::Program;
use paddle_core::plan::Backend;
use paddle_core::program::DType;
use paddle_core::text;
use paddle_kernels::differences::{Compared, Differentiated};
use paddle_kernels::reference::Reference;

use crate::draw::Draw;
use crate::fed::{Fed, on_grid};
use crate::gradients::{Run, assert_many, check, differentiate, feeds};
use crate::host::Host;
use crate::on_every_device;

/// The programs. Inputs named `c…` are compared with 0, and inputs named `n…` are numbers of iterations.
const PROGRAMS: &[(&str, &str)] = &[
    (
        "a branch per row; both read the same values, one returns what it gathers",
        "program {
          rows _
          block 0 (x: f32[_, 3], c: f32[_, 1], s: f32[], b: f32[3]) {
            zero: f32[] = fill_constant(value=0.0)
            cond: bool[_, 1] = greater_than(c, zero)
            u: f32[_, 3], v: f32[_, 3] = if(cond) {
              block 1 on _.1 of _ {
                x1: f32[_.1, 3] = gather_rows(x)
                c1: f32[_.1, 1] = gather_rows(c)
                a1: f32[_.1, 3] = elementwise_mul(x1, c1)
                d1: f32[_.1, 3] = elementwise_mul(a1, s)
                yield d1, x1
              }
              block 2 on _.2 of _ {
                x2: f32[_.2, 3] = gather_rows(x)
                a2: f32[_.2, 3] = tanh(x2)
                d2: f32[_.2, 3] = elementwise_add(a2, b)
                e2: f32[_.2, 3] = elementwise_mul(d2, s)
                yield d2, e2
              }
            }
            return u, v
          }
        }",
    ),
    (
        "a constant as one branch's result, and sums over the rows of a branch",
        "program {
          rows _
          block 0 (x: f32[_, 2], c: f32[_], w: f32[2, 2]) {
            zero: f32[] = fill_constant(value=0.0)
            cond: bool[_] = greater_than(c, zero)
            u: f32[_, 2] = if(cond) {
              block 1 on _.1 of _ {
                x1: f32[_.1, 2] = gather_rows(x)
                m1: f32[2] = reduce_mean(x1, axes=[0])
                y1: f32[_.1, 2] = matmul_v2(x1, w)
                z1: f32[_.1, 2] = elementwise_sub(y1, m1)
                s1: f32[_.1, 2] = square(z1)
                yield s1
              }
              block 2 on _.2 of _ {
                k2: f32[_.2, 2] = fill_constant(value=0.5)
                yield k2
              }
            }
            total: f32[] = reduce_mean(u)
            return u, total
          }
        }",
    ),
    (
        "a branch in a branch",
        "program {
          rows _
          block 0 (x: f32[_, 2], c: f32[_, 1], c2: f32[_, 1], b: f32[2]) {
            zero: f32[] = fill_constant(value=0.0)
            cond: bool[_, 1] = greater_than(c, zero)
            u: f32[_, 2] = if(cond) {
              block 1 on _.1 of _ {
                x1: f32[_.1, 2] = gather_rows(x)
                c1: f32[_.1, 1] = gather_rows(c2)
                y1: f32[_.1, 2] = tanh(x1)
                cond1: bool[_.1, 1] = less_than(c1, zero)
                u1: f32[_.1, 2] = if(cond1) {
                  block 3 on _.1.3 of _.1 {
                    y3: f32[_.1.3, 2] = gather_rows(y1)
                    x3: f32[_.1.3, 2] = gather_rows(x1)
                    z3: f32[_.1.3, 2] = elementwise_mul(y3, x3)
                    w3: f32[_.1.3, 2] = elementwise_mul(z3, b)
                    yield w3
                  }
                  block 4 on _.1.4 of _.1 {
                    y4: f32[_.1.4, 2] = gather_rows(y1)
                    z4: f32[_.1.4, 2] = softmax(y4)
                    yield z4
                  }
                }
                v1: f32[_.1, 2] = elementwise_add(u1, y1)
                yield v1
              }
              block 2 on _.2 of _ {
                x2: f32[_.2, 2] = gather_rows(x)
                y2: f32[_.2, 2] = elementwise_add(x2, b)
                z2: f32[_.2, 2] = square(y2)
                yield z2
              }
            }
            return u
          }
        }",
    ),
    (
        "class ids in a branch",
        "program {
          rows _
          block 0 (x: f32[_, 3], label: i64[_, 1], c: f32[_, 1]) {
            zero: f32[] = fill_constant(value=0.0)
            cond: bool[_, 1] = greater_than(c, zero)
            u: f32[_, 1] = if(cond) {
              block 1 on _.1 of _ {
                x1: f32[_.1, 3] = gather_rows(x)
                l1: i64[_.1, 1] = gather_rows(label)
                p1: f32[_.1, 3], q1: f32[_.1, 1] = softmax_with_cross_entropy(x1, l1)
                yield q1
              }
              block 2 on _.2 of _ {
                x2: f32[_.2, 3] = gather_rows(x)
                y2: f32[_.2, 1] = reduce_sum(x2, axes=[1], keep_dim=true)
                yield y2
              }
            }
            return u
          }
        }",
    ),
    (
        "one branch for all rows",
        "program {
          rows _
          block 0 (x: f32[_, 2], c: f32[], b: f32[2]) {
            zero: f32[] = fill_constant(value=0.0)
            cond: bool[] = greater_than(c, zero)
            u: f32[_, 2], t: f32[] = if(cond) {
              block 1 {
                y1: f32[_, 2] = elementwise_mul(x, b)
                t1: f32[] = reduce_sum(y1)
                yield y1, t1
              }
              block 2 {
                y2: f32[_, 2] = tanh(x)
                t2: f32[] = elementwise_mul(c, c)
                yield y2, t2
              }
            }
            return u, t
          }
        }",
    ),
    (
        "a loop that reads values from around it",
        "program {
          rows _
          block 0 (x: f32[_, 2], w: f32[2, 2], b: f32[_, 2], n: i64[]) {
            i0: i64[] = fill_constant(value=0)
            i_end: i64[], h_end: f32[_, 2] = while(i0, x) {
              block 1 (i: i64[], h: f32[_, 2]) {
                go: bool[] = less_than(i, n)
                yield go
              }
              block 2 (j: i64[], g: f32[_, 2]) {
                p: f32[_, 2] = matmul_v2(g, w)
                q: f32[_, 2] = elementwise_add(p, b)
                r: f32[_, 2] = tanh(q)
                k: i64[] = scale(j, bias=1.0)
                yield k, r
              }
            }
            return h_end
          }
        }",
    ),
    (
        "a loop that swaps its state, keeps a part of it and ignores another",
        "program {
          rows _
          block 0 (x: f32[_, 2], y: f32[_, 2], z: f32[2], s: f32[], n: i64[]) {
            i0: i64[] = fill_constant(value=0)
            i_end: i64[], x_end: f32[_, 2], y_end: f32[_, 2], z_end: f32[2], s_end: f32[] = while(i0, x, y, z, s) {
              block 1 (i: i64[], x0: f32[_, 2], y0: f32[_, 2], z0: f32[2], s0: f32[]) {
                go: bool[] = less_than(i, n)
                yield go
              }
              block 2 (j: i64[], x1: f32[_, 2], y1: f32[_, 2], z1: f32[2], s1: f32[]) {
                p: f32[_, 2] = elementwise_mul(x1, z1)
                q: f32[] = scale(s1, scale=0.5, bias=0.25)
                k: i64[] = scale(j, bias=1.0)
                yield k, y1, p, z1, q
              }
            }
            return x_end, y_end, s_end
          }
        }",
    ),
    (
        "a branch in a loop; its rows change from iteration to iteration",
        "program {
          rows _
          block 0 (x: f32[_, 2], c: f32[_, 1], b: f32[2], n: i64[]) {
            zero: f32[] = fill_constant(value=0.0)
            i0: i64[] = fill_constant(value=0)
            i_end: i64[], h_end: f32[_, 2], d_end: f32[_, 1] = while(i0, x, c) {
              block 1 (i: i64[], h: f32[_, 2], d: f32[_, 1]) {
                go: bool[] = less_than(i, n)
                yield go
              }
              block 2 (j: i64[], g: f32[_, 2], e: f32[_, 1]) {
                cond: bool[_, 1] = greater_than(e, zero)
                u: f32[_, 2], f: f32[_, 1] = if(cond) {
                  block 3 on _.3 of _ {
                    g3: f32[_.3, 2] = gather_rows(g)
                    e3: f32[_.3, 1] = gather_rows(e)
                    p3: f32[_.3, 2] = elementwise_mul(g3, b)
                    q3: f32[_.3, 2] = elementwise_add(p3, e3)
                    r3: f32[_.3, 1] = scale(e3, scale=0.9, bias=-0.7)
                    yield q3, r3
                  }
                  block 4 on _.4 of _ {
                    g4: f32[_.4, 2] = gather_rows(g)
                    e4: f32[_.4, 1] = gather_rows(e)
                    q4: f32[_.4, 2] = tanh(g4)
                    r4: f32[_.4, 1] = scale(e4, scale=0.8, bias=0.6)
                    yield q4, r4
                  }
                }
                k: i64[] = scale(j, bias=1.0)
                yield k, u, f
              }
            }
            return h_end, d_end
          }
        }",
    ),
    (
        "a loop in a branch",
        "program {
          rows _
          block 0 (x: f32[_, 2], y: f32[_, 2], c: f32[_, 1], w: f32[2, 2], n: i64[]) {
            zero: f32[] = fill_constant(value=0.0)
            i0: i64[] = fill_constant(value=0)
            cond: bool[_, 1] = greater_than(c, zero)
            u: f32[_, 2] = if(cond) {
              block 1 on _.1 of _ {
                x1: f32[_.1, 2] = gather_rows(x)
                y1: f32[_.1, 2] = gather_rows(y)
                i_end: i64[], h_end: f32[_.1, 2] = while(i0, x1) {
                  block 3 (i: i64[], h: f32[_.1, 2]) {
                    go: bool[] = less_than(i, n)
                    yield go
                  }
                  block 4 (j: i64[], g: f32[_.1, 2]) {
                    p: f32[_.1, 2] = matmul_v2(g, w)
                    q: f32[_.1, 2] = elementwise_mul(p, y1)
                    k: i64[] = scale(j, bias=1.0)
                    yield k, q
                  }
                }
                yield h_end
              }
              block 2 on _.2 of _ {
                x2: f32[_.2, 2] = gather_rows(x)
                q2: f32[_.2, 2] = square(x2)
                yield q2
              }
            }
            return u
          }
        }",
    ),
    (
        "a loop in a loop, of as many iterations as the outer one has done",
        "program {
          rows _
          block 0 (x: f32[_, 2], w: f32[2, 2], b: f32[], n: i64[]) {
            i0: i64[] = fill_constant(value=0)
            i_end: i64[], h_end: f32[_, 2] = while(i0, x) {
              block 1 (i: i64[], h: f32[_, 2]) {
                go: bool[] = less_than(i, n)
                yield go
              }
              block 2 (j: i64[], g: f32[_, 2]) {
                j_end: i64[], g_end: f32[_, 2] = while(i0, g) {
                  block 3 (l: i64[], a: f32[_, 2]) {
                    on: bool[] = less_than(l, j)
                    yield on
                  }
                  block 4 (m: i64[], e: f32[_, 2]) {
                    p: f32[_, 2] = matmul_v2(e, w)
                    q: f32[_, 2] = tanh(p)
                    o: i64[] = scale(m, bias=1.0)
                    yield o, q
                  }
                }
                r: f32[_, 2] = elementwise_mul(g_end, b)
                s: f32[_, 2] = elementwise_add(r, g)
                k: i64[] = scale(j, bias=1.0)
                yield k, s
              }
            }
            return h_end
          }
        }",
    ),
    (
        "a loop that writes a part of its state without reading it",
        "program {
          rows _
          block 0 (x: f32[_, 2], y: f32[_, 2], n: i64[]) {
            i0: i64[] = fill_constant(value=0)
            i_end: i64[], y_end: f32[_, 2] = while(i0, y) {
              block 1 (i: i64[], a: f32[_, 2]) {
                go: bool[] = less_than(i, n)
                yield go
              }
              block 2 (j: i64[], b: f32[_, 2]) {
                p: f32[_, 2] = tanh(x)
                k: i64[] = scale(j, bias=1.0)
                yield k, p
              }
            }
            return y_end
          }
        }",
    ),
    (
        "loops in both branches of rows that both have",
        "program {
          rows _
          block 0 (x: f32[_, 2], c: f32[_, 1], w: f32[2, 2], b: f32[2], n: i64[]) {
            zero: f32[] = fill_constant(value=0.0)
            i0: i64[] = fill_constant(value=0)
            cond: bool[_, 1] = greater_than(c, zero)
            u: f32[_, 2] = if(cond) {
              block 1 on _.1 of _ {
                x1: f32[_.1, 2] = gather_rows(x)
                i1: i64[], h1: f32[_.1, 2] = while(i0, x1) {
                  block 3 (i3: i64[], h3: f32[_.1, 2]) {
                    go3: bool[] = less_than(i3, n)
                    yield go3
                  }
                  block 4 (i4: i64[], h4: f32[_.1, 2]) {
                    p4: f32[_.1, 2] = matmul_v2(h4, w)
                    q4: f32[_.1, 2] = tanh(p4)
                    k4: i64[] = scale(i4, bias=1.0)
                    yield k4, q4
                  }
                }
                yield h1
              }
              block 2 on _.2 of _ {
                x2: f32[_.2, 2] = gather_rows(x)
                i2: i64[], h2: f32[_.2, 2] = while(i0, x2) {
                  block 5 (i5: i64[], h5: f32[_.2, 2]) {
                    go5: bool[] = less_than(i5, n)
                    yield go5
                  }
                  block 6 (i6: i64[], h6: f32[_.2, 2]) {
                    p6: f32[_.2, 2] = elementwise_mul(h6, b)
                    q6: f32[_.2, 2] = softmax(p6)
                    k6: i64[] = scale(i6, bias=1.0)
                    yield k6, q6
                  }
                }
                yield h2
              }
            }
            return u
          }
        }",
    ),
    (
        "a loop that ends by what it computes",
        "program {
          rows _
          block 0 (x: f32[_, 2], b: f32[2], limit: f32[]) {
            h_end: f32[_, 2], t_end: f32[] = while(x, limit) {
              block 1 (h: f32[_, 2], t: f32[]) {
                zero: f32[] = fill_constant(value=-4.0)
                go: bool[] = greater_than(t, zero)
                yield go
              }
              block 2 (g: f32[_, 2], u: f32[]) {
                p: f32[_, 2] = elementwise_mul(g, b)
                q: f32[_, 2] = softmax(p)
                r: f32[] = scale(u, bias=-1.0)
                yield q, r
              }
            }
            return h_end, t_end
          }
        }",
    ),
    (
        "sizes that only checks make equal, in a branch and in a loop",
        "program {
          rows _ size T size U size V
          block 0 (x: f32[_, T], y: f32[_, U], w: f32[V, 2], n_end: i64[], c: f32[_, 1]) {
            zero: f32[] = fill_constant(value=0.0)
            cond: bool[_, 1] = greater_than(c, zero)
            h: f32[_, T] = if(cond) {
              block 1 on _.1 of _ {
                x1: f32[_.1, T] = gather_rows(x)
                y1: f32[_.1, U] = gather_rows(y)
                xy: f32[_.1, T] = elementwise_mul(x1, y1)
                yield xy
              }
              block 2 on _.2 of _ {
                y2: f32[_.2, U] = gather_rows(y)
                yield y2
              }
            }
            start: i64[] = fill_constant(value=0)
            i_end: i64[], s_end: f32[_, T] = while(start, h) {
              block 3 (i: i64[], s: f32[_, T]) {
                go: bool[] = less_than(i, n_end)
                yield go
              }
              block 4 (j: i64[], t: f32[_, T]) {
                one: i64[] = fill_constant(value=1)
                k: i64[] = elementwise_add(j, one)
                u: f32[_, U] = elementwise_add(y, t)
                v: f32[_, U] = tanh(u)
                yield k, v
              }
            }
            product: f32[_, 2] = matmul_v2(s_end, w)
            return product, s_end
          }
        }",
    ),
];

/// The ranges of conditions: mixed, all true, all false.
const CONDITIONS: [(f64, f64); 3] = [(-2.0, 2.0), (0.5, 2.0), (-2.0, -0.5)];

fn arbitrary(
    program: &Program,
    rows: usize,
    conditions: (f64, f64),
    iterations: i64,
    draw: &mut Draw,
) -> Vec<Fed> {
    feeds(program, rows, draw, |draw, name, ty, count| match (name.as_bytes()[0], ty.dtype) {
        (b'n', _) => Host::I64(vec![iterations]),
        (b'c', _) => on_grid(draw, count, conditions),
        (_, DType::F32) => on_grid(draw, count, (-1.5, 1.5)),
        (_, dtype) => draw.elements(dtype, count, (0.0, 3.0)),
    })
}

/// Every program, with batches of different sizes, whose rows take different branches and numbers of iterations.
fn cases() -> impl Iterator<Item = (Differentiated, Vec<Vec<Fed>>)> {
    let mut draw = Draw::new(9);
    PROGRAMS.iter().map(move |(name, source)| {
        let program = text::parse(source).unwrap_or_else(|error| panic!("{name}: {error}"));
        let differentiated = differentiate(program);
        let program = differentiated.program();
        let has =
            |initial| program.inputs().iter().any(|&input| program.var(input).name.starts_with(initial));
        let conditions = if has('c') { &CONDITIONS[..] } else { &CONDITIONS[..1] };
        let iterations: &[i64] = if has('n') { &[0, 1, 2, 5] } else { &[0] };
        let mut batches = Vec::new();
        for rows in [4, 0, 1, 6] {
            for &conditions in conditions {
                for &iterations in iterations {
                    batches.push(arbitrary(program, rows, conditions, iterations, &mut draw));
                }
            }
        }
        (differentiated, batches)
    })
}

#[test]
fn gradients_of_branches_and_loops_are_differences() {
    let mut checked = Compared::default();
    for (differentiated, batches) in cases() {
        batches.iter().for_each(|feeds| checked.add(check(&differentiated, feeds)));
    }
    assert_many(checked, 2000);
}

/// Costs and gradients in `f32` equal those in `f64` except for rounding. One executor takes batches of all sizes.
fn branches_and_loops_agree<B: Backend + Clone>(backend: &B) {
    for (differentiated, batches) in cases() {
        let program = differentiated.program();
        let (mut oracle, mut run) =
            (Run::new(Reference::double(), program), Run::new(backend.clone(), program));
        for feeds in batches {
            assert_close(&run.outputs(&feeds), &oracle.outputs(&feeds), program);
        }
    }
}

/// Checks that values differ by at most 10⁻⁴ of the largest value of an output.
pub(crate) fn assert_close(found: &[Vec<f64>], expected: &[Vec<f64>], program: &Program) {
    assert_eq!(found.len(), expected.len());
    for (output, (found, expected)) in found.iter().zip(expected).enumerate() {
        let scale = expected.iter().fold(1.0, |max: f64, value| max.max(value.abs()));
        let near = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 1e-4 * scale;
        assert_eq!(found.len(), expected.len(), "output {output}\n{program}");
        assert!(
            found.iter().zip(expected).all(near),
            "output {output} is {found:?}, not {expected:?}\n{program}"
        );
    }
}

on_every_device!(branches_and_loops_agree);
