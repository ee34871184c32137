//! `map`: what leaves a loop along sequences, and what stays, because its results depend on the iteration.

use paddle_core::ops::{Op, Program};
use paddle_core::passes::map::map;
use paddle_core::program::BlockId;
use paddle_core::text;

/// A program with a loop along the sentences of a text. `of_text` is its body, between what it reads and its result `y`.
fn along_sentences(of_text: &str) -> Program {
    let source = format!(
        "program {{
          rows _
          tokens _.s of _
          tokens _.s.w of _.s
          steps _.s.steps of _.s
          tokens _.s.steps.w of _.s.steps in _.s.w
          rows _.1 of _ in _.s.steps
          tokens _.1.w of _.1 in _.s.steps.w
          steps _.1.w.steps of _.1.w
          rows _.1.2 of _.1 in _.1.w.steps
          block 0 (s: f32[_.s, 2], words: f32[_.s.w, 2], c: f32[_, 2], u: f32[2, 2]) {{
            t: f32[_.s.steps, 2] = gather_rows(s)
            w: f32[_.s.steps.w, 2] = gather_rows(words)
            given: f32[_.s.steps, 2] = for(t, w, items=2) {{
              block 1 on _.1 (a: f32[_.1, 2], b: f32[_.1.w, 2]) {{
                {of_text}
                yield y
              }}
            }}
            out: f32[_.s, 2] = scatter_rows(given)
            return out
          }}
        }}"
    );
    let mut program = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    program.verify().unwrap();
    map(&mut program).unwrap();
    program.verify().unwrap_or_else(|error| panic!("{error}\n{program}"));
    program
}

/// The operators that are still in the body of the loop.
fn left(program: &Program) -> Vec<&'static str> {
    let body = program.block(BlockId(1));
    body.ops.iter().map(|operator| operator.op.name()).filter(|&name| name != "gather_rows").collect()
}

const WORDS: &str = "
    i: f32[_.1.w.steps, 2] = gather_rows(b)
    y: f32[_.1, 2] = for(i, a, items=1) {
      block 2 on _.1.2 (k: f32[_.1.2, 2], h: f32[_.1.2, 2]) {
        p: f32[_.1.2, 2] = matmul_v2(h, u)
        q: f32[_.1.2, 2] = elementwise_add(p, k)
        n: f32[_.1.2, 2] = tanh(q)
        yield n
      }
    }";

#[test]
fn the_words_of_all_sentences_are_read_in_one_loop() {
    let program = along_sentences(WORDS);
    let expected = "
  block 0 (s: f32[_.s, 2], words: f32[_.s.w, 2], c: f32[_, 2], u: f32[2, 2]) {
    gather_rows: f32[_.s.w.steps, 2] = gather_rows(words)
    y: f32[_.s, 2] = for(gather_rows, s, items=1) {
      block 2 on _.s.2 (k: f32[_.s.2, 2], h: f32[_.s.2, 2]) {
        p: f32[_.s.2, 2] = matmul_v2(h, u)
        q: f32[_.s.2, 2] = elementwise_add(p, k)
        n: f32[_.s.2, 2] = tanh(q)
        yield n
      }
    }
    for() {
      block 1 on _.1 {
      }
    }
    return y
  }
";
    let text = program.to_string();
    assert!(text.contains(expected), "{text}");
}

#[test]
fn values_of_the_rows_around_are_repeated_for_their_tokens() {
    let program = along_sentences("d: f32[_.1, 2] = gather_rows(c)\ny: f32[_.1, 2] = elementwise_mul(a, d)");
    assert_eq!(left(&program), [""; 0]);
    let text = program.to_string();
    assert!(text.contains("sequence_expand_as: f32[_.s, 2] = sequence_expand_as(c, s)"), "{text}");
    assert!(text.contains("y: f32[_.s, 2] = elementwise_mul(s, sequence_expand_as)"), "{text}");
}

#[test]
fn what_depends_on_the_rows_of_an_iteration_stays() {
    let random = "y: f32[_.1, 2], mask: bool[_.1, 2] = dropout(a)";
    assert_eq!(left(&along_sentences(random)), ["dropout"]);
    let mean = "m: f32[] = reduce_mean(a)\ny: f32[_.1, 2] = elementwise_sub(a, m)";
    assert_eq!(left(&along_sentences(mean)), ["reduce_mean", "elementwise_sub"]);
    let numbers = "r: i64[_.1] = row_numbers()\ne: f32[_.1, 2] = one_hot_v2(r, depth=[2])\n\
        y: f32[_.1, 2] = elementwise_add(a, e)";
    assert_eq!(left(&along_sentences(numbers)).len(), 3);
    // So it is within the blocks of an operator,
    let within = WORDS.replace("tanh(q)", "elementwise_sub(q, m)");
    let within = within.replace("n: f32", "m: f32[] = reduce_mean(q)\nn: f32");
    assert_eq!(left(&along_sentences(&within)), ["for"]);
    // and for what reads it: the rest is computed for all sentences.
    let between =
        format!("{}\ny: f32[_.1, 2], mask: bool[_.1, 2] = dropout(z)", WORDS.replace("y: f32", "z: f32"));
    assert_eq!(left(&along_sentences(&between)), ["dropout"]);
}

#[test]
fn what_depends_on_the_state_stays() {
    let source = "program {
      rows _
      tokens _.s of _
      tokens _.s.w of _.s
      steps _.s.steps of _.s
      tokens _.s.steps.w of _.s.steps in _.s.w
      rows _.1 of _ in _.s.steps
      tokens _.1.w of _.1 in _.s.steps.w
      steps _.1.w.steps of _.1.w
      rows _.1.2 of _.1 in _.1.w.steps
      rows _.1.3 of _.1 in _.1.w.steps
      block 0 (words: f32[_.s.w, 2], h0: f32[_, 2]) {
        w: f32[_.s.steps.w, 2] = gather_rows(words)
        end: f32[_, 2] = for(w, h0, items=1) {
          block 1 on _.1 (b: f32[_.1.w, 2], h: f32[_.1, 2]) {
            i: f32[_.1.w.steps, 2] = gather_rows(b)
            zero: f32[_.1, 2] = fill_constant(value=0.0, type=f32[_.1, 2])
            read: f32[_.1, 2] = for(i, zero, items=1) {
              block 2 on _.1.2 (k: f32[_.1.2, 2], r: f32[_.1.2, 2]) {
                n: f32[_.1.2, 2] = elementwise_add(k, r)
                yield n
              }
            }
            g: f32[_.1, 2] = elementwise_mul(read, h)
            again: f32[_.1, 2] = for(i, g, items=1) {
              block 3 on _.1.3 (l: f32[_.1.3, 2], q: f32[_.1.3, 2]) {
                m: f32[_.1.3, 2] = elementwise_add(l, q)
                yield m
              }
            }
            yield again
          }
        }
        return end
      }
    }";
    let source = source.replace("fill_constant(value=0.0, type=f32[_.1, 2])", "fill_constant(value=0.0)");
    let mut program = text::parse(&source).unwrap_or_else(|error| panic!("{error}"));
    map(&mut program).unwrap();
    program.verify().unwrap_or_else(|error| panic!("{error}\n{program}"));
    let loops = |block: u32| {
        let ops = &program.blocks()[block as usize].ops;
        ops.iter().filter(|operator| matches!(operator.op, Op::For(_))).count()
    };
    assert_eq!([loops(0), loops(1)], [2, 1], "{program}");
}
