//! The parser: tokens → the tree of [`syntax`](super::syntax).

use std::num::NonZero;

use super::lex::{At, CHOSEN, FORMER, Lexer, RETURN, Token, UNTRAINED, YIELD};
use super::syntax::{
    AttributeText, BlockText, Call, CheckText, Declaration, Factor, Name, OperatorText, ParameterText,
    PlaceText, ProgramText, RowsText, SizeDeclaration, SizeKind, SizeText, StateText, Term, TypeText,
};
use super::{MAX_TERMS, ParseError};
use crate::ops::{Attribute, Number, Op, Program};
use crate::program::{DType, ParameterOptions, Role};

const ROLES: [Role; 4] = [Role::Forward, Role::Loss, Role::Backward, Role::Optimize];

/// Reads a whole text.
pub(super) fn syntax(text: &str) -> Result<ProgramText, ParseError> {
    let mut lexer = Lexer::new(text);
    let (token, at) = lexer.next()?;
    Parser { lexer, token, at }.program()
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The next token.
    token: Token<'a>,
    /// Where it stands.
    at: At,
}

impl<'a> Parser<'a> {
    fn advance(&mut self) -> Result<Token<'a>, ParseError> {
        let (token, at) = self.lexer.next()?;
        self.at = at;
        Ok(std::mem::replace(&mut self.token, token))
    }

    fn expected(&self, what: &str) -> ParseError {
        ParseError::new(self.at, format!("expected {what}, found {}", self.token))
    }

    fn is_mark(&self, mark: &str) -> bool {
        matches!(self.token, Token::Mark(found) if found == mark)
    }

    /// Takes a punctuation mark, if it is the next token.
    fn skip_mark(&mut self, mark: &str) -> Result<bool, ParseError> {
        let found = self.is_mark(mark);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn mark(&mut self, mark: &str) -> Result<(), ParseError> {
        if self.skip_mark(mark)? { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    /// Takes a keyword, if it is the next token.
    fn skip_word(&mut self, word: &str) -> Result<bool, ParseError> {
        let found = self.token == Token::Name(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn word(&mut self, word: &str) -> Result<(), ParseError> {
        if self.skip_word(word)? { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    /// A plain or quoted name.
    fn name(&mut self, what: &str) -> Result<Name, ParseError> {
        let at = self.at;
        let text = match &self.token {
            Token::Name(text) => (*text).to_string(),
            Token::Quoted(text) => text.clone(),
            _ => return Err(self.expected(what)),
        };
        self.advance()?;
        Ok(Name { text, at })
    }

    /// An integer ≥ 0.
    fn count(&mut self, what: &str) -> Result<u32, ParseError> {
        let Token::Number(digits) = self.token else {
            return Err(self.expected(what));
        };
        let count = digits.parse().map_err(|_| self.expected(what))?;
        self.advance()?;
        Ok(count)
    }

    /// Items separated by commas, up to a closing mark, which is taken too.
    fn list<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<T, ParseError>,
    ) -> Result<Vec<T>, ParseError> {
        let mut items = Vec::new();
        if self.skip_mark(close)? {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.skip_mark(close)? {
                return Ok(items);
            }
            if !self.skip_mark(",")? {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
        }
    }

    fn program(mut self) -> Result<ProgramText, ParseError> {
        self.word("program")?;
        self.mark("{")?;
        let (mut sizes, mut checks) = (Vec::new(), Vec::new());
        let (mut parameters, mut states) = (Vec::new(), Vec::new());
        let (mut gradients, mut taps) = (Vec::new(), Vec::new());
        let mut shards = NonZero::<u32>::MIN;
        let global = loop {
            if self.skip_word("rows")? {
                let name = self.name("the name of a row space")?;
                let kind = match self.skip_word("of")? {
                    false if self.skip_mark("=")? => SizeKind::Fixed(self.count("a number of rows")?),
                    false => SizeKind::Rows,
                    true => {
                        let parent = self.name("the name of the row space that these rows are taken from")?;
                        match self.skip_word("in")? {
                            false => SizeKind::Chosen(parent),
                            true => SizeKind::Active(parent, self.name("the name of the steps of a loop")?),
                        }
                    }
                };
                sizes.push(SizeDeclaration { name, kind });
            } else if self.skip_word("tokens")? {
                let name = self.name("the name of a row space")?;
                self.word("of")?;
                let parent = self.name("the name of the row space whose rows have these sequences")?;
                let kind = match self.skip_word("in")? {
                    false => SizeKind::Tokens(parent),
                    true => SizeKind::Part(parent, self.name("the name of the tokens of all sequences")?),
                };
                sizes.push(SizeDeclaration { name, kind });
            } else if self.skip_word("steps")? {
                let name = self.name("the name of a row space")?;
                self.word("of")?;
                let tokens = self.name("the name of the tokens that loops go along")?;
                sizes.push(SizeDeclaration { name, kind: SizeKind::Steps(tokens) });
            } else if self.skip_word("rounds")? {
                let name = self.name("the name of a row space")?;
                self.word("of")?;
                let tokens = self.name("the name of the tokens that a loop gave")?;
                sizes.push(SizeDeclaration { name, kind: SizeKind::Rounds(tokens) });
            } else if self.skip_word("size")? {
                let name = self.name("the name of a size")?;
                let outside = self.skip_word("outside")?;
                let kind = if outside { SizeKind::Outside } else { SizeKind::Fed };
                sizes.push(SizeDeclaration { name, kind });
            } else if self.skip_word("shards")? {
                let at = self.at;
                let none = || ParseError::new(at, "a batch cannot be cut into 0 shards");
                shards = NonZero::new(self.count("a number of shards")?).ok_or_else(none)?;
            } else if self.skip_word("check")? {
                checks.push(self.check()?);
            } else if self.skip_word("parameter")? {
                let value = self.declaration()?;
                self.mark("=")?;
                let initializer = self.call()?;
                let (options, place) = self.options()?;
                parameters.push(ParameterText { value, initializer, options, place });
            } else if self.skip_word("state")? {
                let slot = self.name("the slot of a state")?;
                self.word("of")?;
                let parameter = self.name("the name of the parameter that it belongs to")?;
                self.mark(":")?;
                let value = self.declaration()?;
                self.mark("=")?;
                states.push(StateText { slot, parameter, value, initializer: self.call()? });
            } else if self.skip_word("gradient")? {
                let parameter = self.name("the name of a parameter")?;
                self.mark("->")?;
                gradients.push((parameter, self.name("the name of its gradient")?));
            } else if self.skip_word("tap")? {
                let name = self.name("the name of a tap")?;
                self.mark("->")?;
                taps.push((name, self.name("the name of its value")?));
            } else if self.token == Token::Name("block") {
                break self.block(0)?;
            } else {
                return Err(self.expected(
                    "`shards`, `rows`, `tokens`, `steps`, `rounds`, `size`, `check`, `parameter`, `state`, `gradient`, `tap` or \
                     `block`",
                ));
            }
        };
        self.mark("}")?;
        if self.token != Token::End {
            return Err(self.expected("the end of the text"));
        }
        Ok(ProgramText { shards, sizes, checks, parameters, states, gradients, taps, global })
    }

    fn check(&mut self) -> Result<CheckText, ParseError> {
        let left = self.size(0)?;
        let right = if self.skip_mark(">")? {
            match self.number()? {
                Number::Int(0) => None,
                _ => return Err(self.expected("`> 0`")),
            }
        } else {
            self.mark("=")?;
            Some(self.size(0)?)
        };
        self.mark(":")?;
        let message = self.text()?;
        let mut place = None;
        if self.skip_mark("[")? {
            place = self.place()?;
            self.mark("]")?;
        }
        Ok(CheckText { left, right, message, place })
    }

    /// Text in quotes.
    fn text(&mut self) -> Result<String, ParseError> {
        match self.advance_if(|token| matches!(token, Token::Quoted(_)))? {
            Some(Token::Quoted(text)) => Ok(text),
            _ => Err(self.expected("text in quotes")),
        }
    }

    /// Takes a place, `at src/main.rs:14:17`, if it comes next.
    fn place(&mut self) -> Result<Option<PlaceText>, ParseError> {
        if !self.skip_word("at")? {
            return Ok(None);
        }
        let file = self.name("the name of a source file")?.text;
        self.mark(":")?;
        let line = self.count("a line")?;
        self.mark(":")?;
        let column = self.count("a column")?;
        let layer = match self.skip_word("in")? {
            true => Some(self.name("the name of a layer")?.text),
            false => None,
        };
        Ok(Some((file, line, column, layer)))
    }

    fn block(&mut self, depth: usize) -> Result<BlockText, ParseError> {
        let at = self.at;
        self.word("block")?;
        if depth > Program::MAX_DEPTH {
            let message = format!("blocks nest deeper than {} levels", Program::MAX_DEPTH);
            return Err(ParseError::new(at, message));
        }
        let id = self.count("the number of the block")?;
        let mut forward = None;
        if self.skip_word("of")? {
            self.word("block")?;
            let at = self.at;
            forward = Some((self.count("the number of the block that this one differentiates")?, at));
        }
        let mut rows = None;
        if self.skip_word("on")? {
            let name = self.name("the name of a row space")?;
            let parent = match self.skip_word("of")? {
                true => Some(self.name("the name of the row space that these rows are chosen from")?),
                false => None,
            };
            rows = Some(RowsText { name, parent });
        }
        let params = if self.skip_mark("(")? { self.list(")", Self::declaration)? } else { Vec::new() };
        self.mark("{")?;
        let mut operators = Vec::new();
        let last = if depth == 0 { RETURN } else { YIELD };
        loop {
            let end = self.at;
            let mut results = Vec::new();
            if self.skip_word(last)? {
                results.push(self.name("the name of a value")?);
                while self.skip_mark(",")? {
                    results.push(self.name("the name of a value")?);
                }
                self.mark("}")?;
            } else if !self.skip_mark("}")? {
                operators.push(self.operator(depth)?);
                continue;
            }
            return Ok(BlockText { at, id, forward, rows, params, operators, results, end });
        }
    }

    fn operator(&mut self, depth: usize) -> Result<OperatorText, ParseError> {
        let at = self.at;
        let mut outputs = Vec::new();
        let plain = matches!(self.token, Token::Name(_));
        let mut name = self.name("an operator or `}`")?;
        let call = if plain && self.is_mark("(") {
            self.arguments(name)?
        } else {
            loop {
                self.mark(":")?;
                outputs.push(Declaration { name, ty: self.ty()? });
                if !self.skip_mark(",")? {
                    break;
                }
                name = self.name("the name of a value")?;
            }
            self.mark("=")?;
            self.call()?
        };
        let (mut role, mut place) = (None, None);
        if self.skip_mark("[")? {
            role = ROLES.into_iter().find(|role| self.token == Token::Name(role.name()));
            if role.is_some() {
                self.advance()?;
            }
            place = self.place()?;
            if place.is_none() && role.is_none() {
                return Err(self.expected("`forward`, `loss`, `backward`, `optimize` or `at`"));
            }
            self.mark("]")?;
        }
        let mut blocks = Vec::new();
        if self.skip_mark("{")? {
            while !self.skip_mark("}")? {
                blocks.push(self.block(depth + 1)?);
            }
        }
        Ok(OperatorText { at, outputs, call, role, place, blocks })
    }

    /// The options in brackets behind a parameter.
    fn options(&mut self) -> Result<(ParameterOptions, Option<PlaceText>), ParseError> {
        let mut options = ParameterOptions::default();
        if !self.skip_mark("[")? {
            return Ok((options, None));
        }
        while !self.skip_mark("]")? {
            if self.skip_word(CHOSEN)? {
                options.chosen = true;
            } else if self.skip_word(UNTRAINED)? {
                options.trainable = false;
            } else if self.skip_word(FORMER)? {
                options.former = Some(self.name("the name of a parameter")?.text.to_string());
            } else if let Some(place) = self.place()? {
                self.mark("]")?;
                return Ok((options, Some(place)));
            } else {
                let what = "`chosen`, `untrained`, `lr`, `decay`, `clip`, `former`, `at` or `]`";
                let unknown = self.expected(what);
                let name = self.name(what)?;
                let number = options.number_mut(&name.text).ok_or(unknown)?;
                self.mark("=")?;
                *number = Some(self.number()?.as_f64());
            }
        }
        Ok((options, None))
    }

    fn declaration(&mut self) -> Result<Declaration, ParseError> {
        let name = self.name("the name of a value")?;
        self.mark(":")?;
        Ok(Declaration { name, ty: self.ty()? })
    }

    fn call(&mut self) -> Result<Call, ParseError> {
        let Token::Name(_) = self.token else {
            return Err(self.expected("the name of an operator"));
        };
        let name = self.name("the name of an operator")?;
        self.arguments(name)
    }

    fn arguments(&mut self, operator: Name) -> Result<Call, ParseError> {
        let at = operator.at;
        let Some(prototype) = Op::prototype(&operator.text).cloned() else {
            return Err(ParseError::new(at, format!("there is no operator `{}`", operator.text)));
        };
        let known = prototype.attributes();
        let (mut inputs, mut attributes) = (Vec::new(), Vec::new());
        self.mark("(")?;
        self.list(")", |parser| {
            let name = parser.name("an input or an attribute")?;
            if !parser.skip_mark("=")? {
                inputs.push(name);
                return Ok(());
            }
            let Some(&(attribute, ref like)) = known.iter().find(|(known, _)| *known == name.text) else {
                let message = format!("operator `{}` has no attribute `{}`", operator.text, name.text);
                return Err(ParseError::new(name.at, message));
            };
            if attributes.iter().any(|(given, _)| *given == attribute) {
                return Err(ParseError::new(name.at, format!("attribute `{attribute}` is given twice")));
            }
            attributes.push((attribute, parser.attribute(like)?));
            Ok(())
        })?;
        Ok(Call { at, prototype, inputs, attributes })
    }

    /// The value of an attribute, of the kind that `like` has.
    fn attribute(&mut self, like: &Attribute) -> Result<AttributeText, ParseError> {
        let ready = match like {
            Attribute::Number(_) => Attribute::Number(self.number()?),
            Attribute::Text(_) => Attribute::Text(self.text()?),
            Attribute::Program(_) => {
                let text = self.text()?;
                // An invalid definition is reported where the operator is made.
                super::parse(&text)
                    .map_or(Attribute::Text(text), |program| Attribute::Program(program.into()))
            }
            Attribute::Ints(_) => {
                self.mark("[")?;
                Attribute::Ints(self.list("]", Self::integer)?)
            }
            Attribute::Numbers(_) => {
                self.mark("[")?;
                Attribute::Numbers(self.list("]", Self::number)?)
            }
            Attribute::DType(_) => Attribute::DType(self.dtype()?),
            Attribute::Bytes(_) => match self.advance_if(|token| matches!(token, Token::Hex(_)))? {
                Some(Token::Hex(digits)) => Attribute::Bytes(self.bytes(digits)?),
                _ => return Err(self.expected("hexadecimal data, as in `0x0a1b`")),
            },
            Attribute::Dims(_) => return Ok(AttributeText::Dims(self.sizes()?)),
            Attribute::Type(_) => return Ok(AttributeText::Type(self.ty()?)),
            Attribute::Rows(_) => return Ok(AttributeText::Rows(self.name("the name of a row space")?)),
            Attribute::Types(_) => {
                self.mark("[")?;
                return Ok(AttributeText::Types(self.list("]", Self::ty)?));
            }
        };
        Ok(AttributeText::Ready(ready))
    }

    fn advance_if(&mut self, fits: impl Fn(&Token<'_>) -> bool) -> Result<Option<Token<'a>>, ParseError> {
        if fits(&self.token) { self.advance().map(Some) } else { Ok(None) }
    }

    fn bytes(&self, digits: &str) -> Result<Vec<u8>, ParseError> {
        if digits.len() % 2 == 1 {
            return Err(ParseError::new(self.at, "hexadecimal data has two digits for each byte"));
        }
        let value = |digit: u8| match digit {
            b'0'..=b'9' => digit - b'0',
            _ => digit.to_ascii_lowercase() - b'a' + 10,
        };
        Ok(digits.as_bytes().chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect())
    }

    fn number(&mut self) -> Result<Number, ParseError> {
        let at = self.at;
        let negative = self.skip_mark("-")?;
        let sign = if negative { -1.0 } else { 1.0 };
        let too_large = || ParseError::new(at, "the number is too large");
        let number = match self.token {
            Token::Name("true") if !negative => Number::Bool(true),
            Token::Name("false") if !negative => Number::Bool(false),
            Token::Name("inf") => Number::Float(sign * f64::INFINITY),
            Token::Name("NaN") if !negative => Number::Float(f64::NAN),
            Token::Number(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                Number::Int(signed(negative, text).ok_or_else(too_large)?)
            }
            Token::Number(text) => match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Number::Float(sign * value),
                _ => return Err(too_large()),
            },
            _ => return Err(self.expected("a number, `true` or `false`")),
        };
        self.advance()?;
        Ok(number)
    }

    fn integer(&mut self) -> Result<i64, ParseError> {
        let at = self.at;
        match self.number()? {
            Number::Int(value) => Ok(value),
            Number::Bool(_) | Number::Float(_) => Err(ParseError::new(at, "expected a whole number")),
        }
    }

    fn dtype(&mut self) -> Result<DType, ParseError> {
        let dtype = match self.token {
            Token::Name(name) => DType::from_name(name),
            _ => None,
        };
        let dtype =
            dtype.ok_or_else(|| self.expected("an element type (`bool`, `i32`, `i64`, `f32` or `f64`)"))?;
        self.advance()?;
        Ok(dtype)
    }

    fn ty(&mut self) -> Result<TypeText, ParseError> {
        Ok(TypeText { dtype: self.dtype()?, sizes: self.sizes()? })
    }

    fn sizes(&mut self) -> Result<Vec<SizeText>, ParseError> {
        let at = self.at;
        self.mark("[")?;
        let mut count = 0;
        self.list("]", |parser| {
            count += 1;
            check_count(count, "dimensions", at)?;
            parser.size(0)
        })
    }

    fn size(&mut self, depth: usize) -> Result<SizeText, ParseError> {
        let at = self.at;
        check_count(depth, "divisions inside one another", at)?;
        let mut terms = Vec::new();
        let mut negative = self.skip_mark("-")?;
        loop {
            terms.push(self.term(negative, depth)?);
            check_count(terms.len(), "terms", at)?;
            negative = self.is_mark("-");
            if !self.skip_mark("-")? && !self.skip_mark("+")? {
                return Ok(SizeText { terms });
            }
        }
    }

    fn term(&mut self, negative: bool, depth: usize) -> Result<Term, ParseError> {
        let at = self.at;
        let (mut coefficient, mut factors) = (if negative { -1 } else { 1 }, Vec::new());
        loop {
            match self.token {
                Token::Number(digits) => {
                    // The sign is parsed with the digits: the smallest integer has no positive counterpart.
                    let product = match coefficient {
                        -1 => signed(true, digits),
                        _ => signed(false, digits).and_then(|value| value.checked_mul(coefficient)),
                    };
                    coefficient = product.ok_or_else(|| ParseError::new(self.at, "the size is too large"))?;
                    self.advance()?;
                }
                Token::Mark("(") => factors.push(self.parenthesised(depth)?),
                _ => factors.push(Factor::Name(self.name("a size")?)),
            }
            check_count(factors.len(), "factors", at)?;
            if !self.skip_mark("*")? {
                return Ok(Term { coefficient, factors, at });
            }
        }
    }

    /// `(T)` or `((n) / (d))`.
    fn parenthesised(&mut self, depth: usize) -> Result<Factor, ParseError> {
        self.mark("(")?;
        let factor = if self.skip_mark("(")? {
            let dividend = self.size(depth + 1)?;
            self.mark(")")?;
            self.mark("/")?;
            self.mark("(")?;
            let divisor = self.size(depth + 1)?;
            self.mark(")")?;
            Factor::Quotient(dividend, divisor)
        } else {
            Factor::Parenthesised(self.name("a size")?)
        };
        self.mark(")")?;
        Ok(factor)
    }
}

/// The integer with these digits and this sign.
fn signed(negative: bool, digits: &str) -> Option<i64> {
    if negative { format!("-{digits}").parse().ok() } else { digits.parse().ok() }
}

fn check_count(count: usize, what: &str, at: At) -> Result<(), ParseError> {
    if count <= MAX_TERMS {
        return Ok(());
    }
    Err(ParseError::new(at, format!("more than {MAX_TERMS} {what}")))
}
