//! The machine of pickles, for the instructions that make plain data.

use std::collections::BTreeMap;

use super::error::{PickleError, PickleFault};

/// The number of an object. Objects name each other by numbers, so those that contain themselves do no harm.
pub(super) type Id = usize;

/// What instructions make. Texts and bytes are those of the file.
#[derive(Debug)]
pub(super) enum Object<'a> {
    None,
    Bool(bool),
    Int(i64),
    Float,
    Text(&'a str),
    Bytes(&'a [u8]),
    /// Bytes as protocol 2 has them: a text whose characters are the bytes.
    Latin(&'a str),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    Global(Global),
    /// The type of an array's elements: its name, and the order of bytes.
    Type {
        name: &'a str,
        order: Option<&'a str>,
    },
    /// An array, and the byte where it is described.
    Array(Option<Array>),
}

/// What describes an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array {
    pub(super) offset: usize,
    /// A list of sizes.
    pub(super) shape: Id,
    pub(super) element: Id,
    /// Whether the first axis runs fastest.
    pub(super) is_columns: bool,
    pub(super) data: Id,
}

/// The names of Python's that arrays take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Global {
    Reconstruct,
    Scalar,
    NdArray,
    DType,
    Encode,
    Tuple,
    OrderedDict,
}

impl Global {
    fn named(module: &str, name: &str) -> Option<Global> {
        Some(match (module, name) {
            // NumPy 2 has other modules.
            ("numpy.core.multiarray" | "numpy._core.multiarray", "_reconstruct") => Global::Reconstruct,
            ("numpy.core.multiarray" | "numpy._core.multiarray", "scalar") => Global::Scalar,
            ("numpy", "ndarray") => Global::NdArray,
            ("numpy", "dtype") => Global::DType,
            ("_codecs", "encode") => Global::Encode,
            ("builtins" | "__builtin__", "tuple") => Global::Tuple,
            ("collections", "OrderedDict") => Global::OrderedDict,
            _ => return None,
        })
    }
}

/// The machine: what is left of the file, the stack, and the objects that instructions name again.
pub(super) struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The byte of the instruction that is running.
    instruction: usize,
    pub(super) objects: Vec<Object<'a>>,
    stack: Vec<Id>,
    /// How high the stack was at each mark.
    marks: Vec<usize>,
    memo: BTreeMap<u32, Id>,
}

type Step<T> = Result<T, PickleError>;

impl<'a> Machine<'a> {
    /// Runs a pickle, and returns the machine with the number of what it gives.
    pub(super) fn run(bytes: &'a [u8]) -> Step<(Machine<'a>, Id)> {
        if !matches!(bytes, [0x80, 2..=4, ..]) {
            return Err(PickleFault::NoPickle.at(0));
        }
        let mut machine = Machine {
            bytes,
            at: 2,
            instruction: 0,
            objects: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: BTreeMap::new(),
        };
        loop {
            machine.instruction = machine.at;
            let [code] = machine.take()?;
            if code == b'.' {
                let found = machine.pop("result")?;
                let rest = machine.bytes.len() - machine.at;
                return if rest == 0 {
                    Ok((machine, found))
                } else {
                    Err(PickleFault::Trailing.at(machine.at))
                };
            }
            machine.step(code)?;
        }
    }

    fn wrong<T>(&self, fault: PickleFault) -> Step<T> {
        Err(fault.at(self.instruction))
    }

    fn part(&mut self, count: u64) -> Step<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        match usize::try_from(count).ok().and_then(|count| rest.get(..count)) {
            Some(part) => {
                self.at += part.len();
                Ok(part)
            }
            None => self.wrong(PickleFault::Truncated),
        }
    }

    fn take<const N: usize>(&mut self) -> Step<[u8; N]> {
        let part = self.part(N as u64)?;
        Ok(std::array::from_fn(|at| part[at]))
    }

    /// A length in front of bytes.
    fn length(&mut self, code: u8) -> Step<u64> {
        Ok(match code {
            b'C' | 0x8c => u64::from(self.take::<1>()?[0]),
            b'B' | b'X' => u64::from(u32::from_le_bytes(self.take()?)),
            _ => u64::from_le_bytes(self.take()?),
        })
    }

    fn text(&mut self, length: u64) -> Step<&'a str> {
        let part = self.part(length)?;
        std::str::from_utf8(part).or_else(|_| self.wrong(PickleFault::Text))
    }

    fn line(&mut self) -> Step<&'a str> {
        let length = self.bytes[self.at..].iter().position(|&byte| byte == b'\n');
        let Some(length) = length else { return self.wrong(PickleFault::Truncated) };
        let text = self.text(length as u64)?;
        self.at += 1;
        Ok(text)
    }

    fn push(&mut self, object: Object<'a>) {
        self.stack.push(self.objects.len());
        self.objects.push(object);
    }

    /// The uppermost object, above the last mark.
    fn pop(&mut self, wanted: &'static str) -> Step<Id> {
        if self.stack.len() <= self.marks.last().copied().unwrap_or(0) {
            return self.wrong(PickleFault::Operand(wanted));
        }
        self.stack.pop().map_or_else(|| self.wrong(PickleFault::Operand(wanted)), Ok)
    }

    fn top(&self, wanted: &'static str) -> Step<Id> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack[floor..].last() {
            Some(&top) => Ok(top),
            None => self.wrong(PickleFault::Operand(wanted)),
        }
    }

    /// All objects above the last mark, which goes.
    fn above_mark(&mut self) -> Step<Vec<Id>> {
        match self.marks.pop() {
            Some(floor) => Ok(self.stack.split_off(floor)),
            None => self.wrong(PickleFault::Operand("mark")),
        }
    }

    fn step(&mut self, code: u8) -> Step<()> {
        match code {
            // Frames say how much may be read at once.
            0x95 => drop(self.take::<8>()?),
            b'(' => self.marks.push(self.stack.len()),
            b'N' => self.push(Object::None),
            0x88 | 0x89 => self.push(Object::Bool(code == 0x88)),
            b'K' => {
                let [byte] = self.take()?;
                self.push(Object::Int(byte.into()));
            }
            b'M' => {
                let number = u16::from_le_bytes(self.take()?);
                self.push(Object::Int(number.into()));
            }
            b'J' => {
                let number = i32::from_le_bytes(self.take()?);
                self.push(Object::Int(number.into()));
            }
            0x8a => self.long()?,
            b'G' => {
                // Settings of updaters are such numbers; arrays have none.
                self.take::<8>()?;
                self.push(Object::Float);
            }
            b'X' | 0x8c | 0x8d => {
                let length = self.length(code)?;
                let text = self.text(length)?;
                self.push(Object::Text(text));
            }
            b'B' | b'C' | 0x8e => {
                let length = self.length(code)?;
                let part = self.part(length)?;
                self.push(Object::Bytes(part));
            }
            b'}' => self.push(Object::Dict(Vec::new())),
            b']' | b')' => self.push(Object::List(Vec::new())),
            b't' => {
                let items = self.above_mark()?;
                self.push(Object::List(items));
            }
            0x85..=0x87 => {
                let mut items = Vec::new();
                for _ in 0x84..code {
                    items.push(self.pop("item of a tuple")?);
                }
                items.reverse();
                self.push(Object::List(items));
            }
            b'a' => {
                let item = self.pop("item of a list")?;
                self.append(vec![item])?;
            }
            b'e' => {
                let items = self.above_mark()?;
                self.append(items)?;
            }
            b's' => {
                let value = self.pop("value of a dictionary")?;
                let key = self.pop("key of a dictionary")?;
                self.insert(&[key, value])?;
            }
            b'u' => {
                let items = self.above_mark()?;
                self.insert(&items)?;
            }
            b'0' => drop(self.pop("object")?),
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.global(module, name)?;
            }
            0x93 => {
                let (name, module) = (self.pop("name")?, self.pop("module")?);
                let (Object::Text(module), Object::Text(name)) = (&self.objects[module], &self.objects[name])
                else {
                    return self.wrong(PickleFault::Operand("text"));
                };
                let (module, name) = (*module, *name);
                self.global(module, name)?;
            }
            b'R' => self.call()?,
            b'b' => self.build()?,
            b'q' => {
                let [number] = self.take()?;
                self.keep(number.into())?;
            }
            b'r' => {
                let number = u32::from_le_bytes(self.take()?);
                self.keep(number)?;
            }
            0x94 => {
                let number = u32::try_from(self.memo.len()).unwrap_or(u32::MAX);
                self.keep(number)?;
            }
            b'h' => {
                let [number] = self.take()?;
                self.again(number.into())?;
            }
            b'j' => {
                let number = u32::from_le_bytes(self.take()?);
                self.again(number)?;
            }
            code => return self.wrong(PickleFault::Instruction(code)),
        }
        Ok(())
    }

    /// A whole number of any length, of which those of eight bytes are read.
    fn long(&mut self) -> Step<()> {
        let [length] = self.take()?;
        let part = self.part(length.into())?;
        if part.len() > 8 {
            return self.wrong(PickleFault::Operand("number of at most eight bytes"));
        }
        let sign = part.last().map_or(0, |&last| if last >= 0x80 { 0xff } else { 0 });
        let bytes = std::array::from_fn(|at| part.get(at).copied().unwrap_or(sign));
        self.push(Object::Int(i64::from_le_bytes(bytes)));
        Ok(())
    }

    fn keep(&mut self, number: u32) -> Step<()> {
        let top = self.top("object")?;
        self.memo.insert(number, top);
        Ok(())
    }

    fn again(&mut self, number: u32) -> Step<()> {
        match self.memo.get(&number) {
            Some(&id) => {
                self.stack.push(id);
                Ok(())
            }
            None => self.wrong(PickleFault::Operand("object of this number")),
        }
    }

    fn append(&mut self, items: Vec<Id>) -> Step<()> {
        let list = self.top("list")?;
        match &mut self.objects[list] {
            Object::List(list) => list.extend(items),
            _ => return self.wrong(PickleFault::Operand("list")),
        }
        Ok(())
    }

    fn insert(&mut self, items: &[Id]) -> Step<()> {
        let dict = self.top("dictionary")?;
        let (pairs, rest) = items.as_chunks::<2>();
        match &mut self.objects[dict] {
            Object::Dict(dict) if rest.is_empty() => {
                dict.extend(pairs.iter().map(|&[key, value]| (key, value)))
            }
            _ => return self.wrong(PickleFault::Operand("dictionary")),
        }
        Ok(())
    }

    fn global(&mut self, module: &str, name: &str) -> Step<()> {
        match Global::named(module, name) {
            Some(global) => {
                self.push(Object::Global(global));
                Ok(())
            }
            None => self.wrong(PickleFault::Global(format!("{module}.{name}"))),
        }
    }

    /// A call of one of the functions that arrays take.
    fn call(&mut self) -> Step<()> {
        let (arguments, function) = (self.pop("arguments")?, self.pop("function")?);
        let &Object::Global(function) = &self.objects[function] else {
            return self.wrong(PickleFault::Operand("function"));
        };
        let Object::List(arguments) = &self.objects[arguments] else {
            return self.wrong(PickleFault::Operand("arguments"));
        };
        let of = |at: usize| arguments.get(at).map(|&id| &self.objects[id]);
        let made = match (function, of(0), of(1)) {
            (Global::Reconstruct, Some(Object::Global(Global::NdArray)), _) => Object::Array(None),
            (Global::DType, Some(Object::Text(name)), _) => Object::Type { name, order: None },
            (Global::Encode, Some(Object::Text(text)), Some(Object::Text("latin1"))) => Object::Latin(text),
            (Global::OrderedDict, None, _) => Object::Dict(Vec::new()),
            (Global::Tuple, Some(Object::List(_)), None) => {
                // It is the same list.
                let list = arguments[0];
                self.stack.push(list);
                return Ok(());
            }
            (Global::Scalar, Some(Object::Type { .. }), Some(Object::Bytes(_) | Object::Latin(_))) => {
                let (element, data, shape) = (arguments[0], arguments[1], self.objects.len());
                self.objects.push(Object::List(Vec::new()));
                let offset = self.instruction;
                Object::Array(Some(Array { offset, shape, element, is_columns: false, data }))
            }
            _ => return self.wrong(PickleFault::Operand("arguments as arrays have them")),
        };
        self.push(made);
        Ok(())
    }

    /// The state of an array, `(1, shape, type, is_columns, data)`, or of a type, `(3, order, ..)`.
    fn build(&mut self) -> Step<()> {
        let state = self.pop("state")?;
        let of = self.top("object")?;
        let Object::List(state) = &self.objects[state] else {
            return self.wrong(PickleFault::Operand("state"));
        };
        let part = |at: usize| state.get(at).map(|&id| &self.objects[id]);
        let made = match (&self.objects[of], part(1), part(3)) {
            (Object::Type { name, order: None }, Some(Object::Text(order)), _) => {
                Object::Type { name, order: Some(order) }
            }
            (Object::Array(None), Some(Object::List(_)), Some(&Object::Bool(is_columns)))
                if state.len() == 5 =>
            {
                let (shape, element, data) = (state[1], state[2], state[4]);
                Object::Array(Some(Array { offset: self.instruction, shape, element, is_columns, data }))
            }
            _ => return self.wrong(PickleFault::Operand("state of an array or of its type")),
        };
        self.objects[of] = made;
        Ok(())
    }
}
