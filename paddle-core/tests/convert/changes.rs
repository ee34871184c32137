//! Random changes to programs on the wire.

use paddle_core::wire::{OpAttr, OpDesc, ProgramDesc};

/// Xorshift: the same changes on every run.
pub(crate) struct Random {
    state: u64,
    /// Numbers that no program has room for.
    large: &'static [i64],
}

impl Random {
    /// `seed` is not 0.
    pub(crate) fn new(seed: u64, large: &'static [i64]) -> Self {
        Random { state: seed, large }
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % limit.max(1) as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a mut [T]) -> Option<&'a mut T> {
        let at = self.below(from.len());
        from.get_mut(at)
    }

    pub(crate) fn number(&mut self) -> i64 {
        let near = self.below(9) as i64 - 3;
        match self.below(7) {
            0..=2 => near,
            _ => self.large[self.below(self.large.len())],
        }
    }

    /// Removes, repeats or exchanges elements of a list.
    pub(crate) fn shuffle<T: Clone>(&mut self, list: &mut Vec<T>) {
        if list.is_empty() {
            return;
        }
        let (a, b) = (self.below(list.len()), self.below(list.len()));
        match self.below(3) {
            0 => drop(list.remove(a)),
            1 => list.insert(b, list[a].clone()),
            _ => list.swap(a, b),
        }
    }

    /// Changes one thing of a program.
    pub(crate) fn change(&mut self, desc: &mut ProgramDesc) {
        if self.below(20) == 0 {
            return self.shuffle(&mut desc.blocks);
        }
        let names: Vec<String> =
            desc.blocks.iter().flat_map(|b| &b.vars).map(|var| var.name.clone()).collect();
        let name = |random: &mut Self| names.get(random.below(names.len())).cloned().unwrap_or_default();
        let Some(block) = self.pick(&mut desc.blocks) else { return };
        match self.below(12) {
            0 => self.shuffle(&mut block.ops),
            1 => self.shuffle(&mut block.vars),
            2 => {
                let number = self.number() as i32;
                let [a, b] = [&mut block.idx, &mut block.parent_idx];
                *[a, b][self.below(2)] = number;
            }
            3 => block.forward_block_idx = Some(self.number() as i32),
            4 | 5 => {
                let Some(var) = self.pick(&mut block.vars) else { return };
                if self.below(4) == 0 {
                    var.name = name(self);
                } else if self.below(6) == 0 {
                    var.persistable = Some(self.below(2) == 0);
                } else if let Some(text) = self.pick(&mut var.attrs).and_then(|attr| attr.s.as_mut()) {
                    self.text(text);
                } else if let Some(tensor) = &mut var.r#type.lod_tensor {
                    match self.below(3) {
                        0 => tensor.tensor.data_type = self.number() as i32,
                        1 => self.shuffle(&mut tensor.tensor.dims),
                        _ => {
                            let number = self.number();
                            if let Some(dim) = self.pick(&mut tensor.tensor.dims) {
                                *dim = number;
                            }
                        }
                    }
                }
            }
            _ => {
                let new = name(self);
                let kind = self.pick(&mut block.ops).map(|op| op.r#type.clone()).unwrap_or_default();
                if let Some(op) = self.pick(&mut block.ops) {
                    self.change_op(op, new, kind);
                }
            }
        }
    }

    fn change_op(&mut self, op: &mut OpDesc, name: String, kind: String) {
        let OpDesc { inputs, outputs, attrs, .. } = op;
        match self.below(8) {
            0 => op.r#type = kind,
            1 => self.shuffle(attrs),
            2..=4 => {
                let slots = [inputs, outputs][self.below(2)].as_mut_slice();
                let Some(slot) = self.pick(slots) else { return };
                match self.below(3) {
                    0 => self.shuffle(&mut slot.arguments),
                    1 => slot.arguments.push(name),
                    _ => {
                        if let Some(argument) = self.pick(&mut slot.arguments) {
                            *argument = name;
                        }
                    }
                }
            }
            _ => {
                if let Some(attr) = self.pick(attrs) {
                    self.change_attr(attr);
                }
            }
        }
    }

    fn change_attr(&mut self, attr: &mut OpAttr) {
        let number = self.number();
        match self.below(8) {
            0 => attr.r#type = self.below(18) as i32,
            1 => self.shuffle(&mut attr.longs),
            2 => self.shuffle(&mut attr.ints),
            3 => self.shuffle(&mut attr.strings),
            _ => {
                attr.i = attr.i.map(|_| number as i32);
                attr.l = attr.l.map(|_| number);
                attr.block_idx = attr.block_idx.map(|_| number as i32);
                attr.b = attr.b.map(|value| !value);
                if let Some(long) = self.pick(&mut attr.longs) {
                    *long = number;
                }
                if let Some(int) = self.pick(&mut attr.ints) {
                    *int = number as i32;
                }
                if let Some(text) = self.pick(&mut attr.strings) {
                    self.text(text);
                }
                if let Some(text) = &mut attr.s {
                    self.text(text);
                }
            }
        }
    }

    /// Replaces a character.
    fn text(&mut self, text: &mut String) {
        let mut characters: Vec<char> = text.chars().collect();
        let new = ['0', '9', '#', '@', '[', ',', ' ', '-', '(', ')', '/', '*', '_'][self.below(13)];
        match self.pick(&mut characters) {
            Some(character) => *character = new,
            None => characters.push(new),
        }
        *text = characters.into_iter().collect();
    }
}
