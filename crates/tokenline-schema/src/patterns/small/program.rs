//! Matches in linear time: all ways through a pattern are followed side by side, as in Pike's virtual machine.

use super::syntax::{Class, Expression};

/// A pattern as instructions.
#[derive(Debug)]
pub(super) struct Program {
    instructions: Vec<Instruction>,
    classes: Vec<Class>,
    /// Whether it matches at the start of a text or not at all.
    is_anchored: bool,
}

#[derive(Clone, Copy, Debug)]
enum Instruction {
    Take(char),
    /// Takes a character of the class at this position.
    TakeOf(u32),
    AtStart,
    AtEnd,
    /// Goes on at both positions.
    Fork(u32, u32),
    Jump(u32),
    Match,
}

/// The bytes of one instruction, and of its entries in the four lists of [`Program::matches`].
const INSTRUCTION: usize = size_of::<Instruction>() + 4 * size_of::<u32>();

impl Program {
    /// `None` if it would take more bytes.
    pub(super) fn new(expression: &Expression, classes: Vec<Class>, bytes: usize) -> Option<Self> {
        let left = bytes.checked_sub(size_of_classes(&classes))?;
        let mut compiler = Compiler { instructions: Vec::new(), left };
        compiler.add(expression)?;
        compiler.push(Instruction::Match)?;
        let instructions = compiler.instructions;
        let is_anchored = matches!(instructions.first(), Some(Instruction::AtStart));
        Some(Self { instructions, classes, is_anchored })
    }

    pub(super) fn bytes(&self) -> usize {
        self.instructions.len() * INSTRUCTION + size_of_classes(&self.classes)
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let mut run = Run { seen: vec![0; self.instructions.len()], step: 0, open: Vec::new() };
        let (mut threads, mut next) = (Vec::new(), Vec::new());
        let mut chars = text.chars();
        let mut is_start = true;
        loop {
            let is_end = chars.as_str().is_empty();
            run.step += 1;
            for at in next.drain(..) {
                if self.follow(at, is_start, is_end, &mut run, &mut threads) {
                    return true;
                }
            }
            if (is_start || !self.is_anchored) && self.follow(0, is_start, is_end, &mut run, &mut threads) {
                return true;
            }
            let Some(char) = chars.next().filter(|_| !threads.is_empty() || !self.is_anchored) else {
                return false;
            };
            is_start = false;
            for at in threads.drain(..) {
                let is_taken = match self.instructions[at as usize] {
                    Instruction::Take(taken) => taken == char,
                    Instruction::TakeOf(class) => self.classes[class as usize].contains(char),
                    _ => false,
                };
                if is_taken {
                    next.push(at + 1);
                }
            }
        }
    }

    /// Adds the instructions that take a character to which a position leads. Returns whether the pattern matches.
    fn follow(&self, at: u32, is_start: bool, is_end: bool, run: &mut Run, threads: &mut Vec<u32>) -> bool {
        run.open.push(at);
        while let Some(at) = run.open.pop() {
            if std::mem::replace(&mut run.seen[at as usize], run.step) == run.step {
                continue;
            }
            match self.instructions[at as usize] {
                Instruction::Take(_) | Instruction::TakeOf(_) => threads.push(at),
                Instruction::AtStart if is_start => run.open.push(at + 1),
                Instruction::AtEnd if is_end => run.open.push(at + 1),
                Instruction::AtStart | Instruction::AtEnd => {}
                Instruction::Fork(one, other) => run.open.extend([other, one]),
                Instruction::Jump(to) => run.open.push(to),
                Instruction::Match => return true,
            }
        }
        false
    }
}

fn size_of_classes(classes: &[Class]) -> usize {
    classes.iter().map(|class| size_of::<Class>() + class.bytes()).sum()
}

/// The state of matching.
struct Run {
    /// The last step in which each instruction was reached.
    seen: Vec<u32>,
    /// 1 more than the position in the text, in characters.
    step: u32,
    open: Vec<u32>,
}

struct Compiler {
    instructions: Vec<Instruction>,
    /// How many bytes are left.
    left: usize,
}

impl Compiler {
    fn add(&mut self, expression: &Expression) -> Option<()> {
        match expression {
            Expression::Char(char) => self.push(Instruction::Take(*char))?,
            Expression::Class(at) => self.push(Instruction::TakeOf(*at))?,
            Expression::Start => self.push(Instruction::AtStart)?,
            Expression::End => self.push(Instruction::AtEnd)?,
            Expression::Sequence(sequence) => {
                sequence.iter().try_for_each(|expression| self.add(expression))?;
            }
            Expression::Alternatives(alternatives) => self.alternatives(alternatives)?,
            Expression::Repeated { least, most, inner } => self.repeated(*least, *most, inner)?,
        }
        Some(())
    }

    fn alternatives(&mut self, alternatives: &[Expression]) -> Option<()> {
        let [rest @ .., last] = alternatives else { return Some(()) };
        let mut ends = Vec::new();
        for alternative in rest {
            let fork = self.fork()?;
            self.add(alternative)?;
            ends.push(self.here());
            self.push(Instruction::Jump(0))?;
            self.end_fork(fork);
        }
        self.add(last)?;
        for end in ends {
            self.instructions[end as usize] = Instruction::Jump(self.here());
        }
        Some(())
    }

    fn repeated(&mut self, least: u32, most: Option<u32>, inner: &Expression) -> Option<()> {
        for _ in 0..least {
            self.add(inner)?;
        }
        let first = self.here();
        let mut forks = Vec::new();
        for _ in 0..most.map_or(1, |most| most - least) {
            forks.push(self.fork()?);
            self.add(inner)?;
        }
        if most.is_none() {
            self.push(Instruction::Jump(first))?;
        }
        forks.into_iter().for_each(|fork| self.end_fork(fork));
        Some(())
    }

    /// Goes on behind this instruction, or where the fork [ends](Self::end_fork). Returns its position.
    fn fork(&mut self) -> Option<u32> {
        let at = self.here();
        self.push(Instruction::Fork(at + 1, at))?;
        Some(at)
    }

    fn end_fork(&mut self, at: u32) {
        self.instructions[at as usize] = Instruction::Fork(at + 1, self.here());
    }

    fn here(&self) -> u32 {
        self.instructions.len() as u32
    }

    fn push(&mut self, instruction: Instruction) -> Option<()> {
        self.left = self.left.checked_sub(INSTRUCTION)?;
        self.instructions.push(instruction);
        Some(())
    }
}
