//! Recurrent layers and what goes with them, of values that they do not take.

#[paddle::attribute::network]
mod wrong {
    pub fn cost(
        x: Tensor<f32, _, 4>,
        ids: Seq<i64>,
        tokens: Seq<Tensor<f32, T, 3>>,
        beams: Tensor<f32, _, 2, 5>,
        words: Tensor<i64, _, 3>,
        scores: Tensor<f32, _, 3>,
    ) -> Tensor<f32> {
        let seen = lstm(x, 8);
        //~             ^ declared-type
        let read = gru(ids, 8);
        //~            ^^^ declared-type
        let step = gru_unit(x, x, 5);
        //~        ^^^^^^^^^^^^^^^^^ shape
        let context = attention(x, tokens, 8);
        //~                        ^^^^^^ declared-type
        let far = fc(beams, 8, axis = 3);
        //~                           ^ constant
        let all = fc(x, 8, axis = 0);
        //~                       ^ constant
        let free = parameter(T);
        //~                  ^ shape
        let (parents, next, best) = beam_search(words, scores, beams, 2, 0);
        //~                                                    ^^^^^ declared-type
        mean(x)
    }
}

fn main() {}
