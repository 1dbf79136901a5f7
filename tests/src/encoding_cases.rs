//! Random instructions that fit their rows, with operands at the edges of the encodings.

use kiln_codegen::ir::wellformed::fits;
use kiln_codegen::ir::{Inst, Mem, Operand, Space};
use kiln_codegen::isa::Op;
use kiln_codegen::isa::row::{Kind, PReg, RSP, RegClass};

/// SplitMix64, Steele, Lea and Flood 2014: small, and the same on every machine.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.bits() % end
    }
    /// One of `from`.
    pub fn one<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Displacements at the edges of their encodings.
pub const DISPLACEMENTS: [i32; 13] = [0, 1, -1, 8, 126, 127, 128, -127, -128, -129, 0x1000, i32::MAX, i32::MIN];
/// Constants at the edges of 8, 31, 32 and 64 bits.
const CONSTANTS: [i64; 19] = [
    0,
    1,
    -1,
    126,
    127,
    128,
    -127,
    -128,
    -129,
    255,
    256,
    0x7fff_ffff,
    0x8000_0000,
    -0x8000_0000,
    -0x8000_0001,
    0xffff_ffff,
    0x1_0000_0000,
    i64::MAX,
    i64::MIN,
];

/// A general register that may be an index.
fn index(random: &mut Random) -> PReg {
    loop {
        let reg = PReg::gpr(random.below(16) as u8);
        if reg != RSP {
            return reg;
        }
    }
}

fn reg(random: &mut Random, class: RegClass) -> PReg {
    match class {
        RegClass::Gpr => PReg::gpr(random.below(16) as u8),
        RegClass::Xmm => PReg::xmm(random.below(16) as u8),
        RegClass::Mmx => PReg::mmx(random.below(8) as u8),
        RegClass::Portable => panic!("no CPU has a portable register"),
    }
}

fn mem(random: &mut Random) -> Mem<PReg> {
    let scale = random.one(&[1, 2, 4, 8]);
    let disp = match random.below(3) {
        0 => random.bits() as i32,
        1 => i32::from(random.bits() as i8),
        _ => random.one(&DISPLACEMENTS),
    };
    let index = (random.below(2) == 0).then(|| (index(random), scale));
    Mem { space: Space::Argument(0), base: reg(random, RegClass::Gpr), index, disp }
}

fn constant(random: &mut Random, bits: u32) -> i64 {
    let any = (random.bits().cast_signed()) >> random.below(64);
    let value = if random.below(2) == 0 { any } else { random.one(&CONSTANTS) };
    value << (64 - bits) >> (64 - bits)
}

/// A random instruction of that row.
pub fn instruction(random: &mut Random, op: Op) -> Inst<PReg> {
    let operands = op.row().operands.iter().map(|spec| match (spec.fixed, spec.kind) {
        (Some(fixed), _) => Operand::Reg(fixed),
        (None, Kind::Reg(class, _)) => Operand::Reg(reg(random, class)),
        (None, Kind::RegMem(class, _) | Kind::RegMemAligned(class, _)) if random.below(2) == 0 => {
            Operand::Reg(reg(random, class))
        }
        (None, Kind::RegMem(..) | Kind::RegMemAligned(..) | Kind::Mem(_) | Kind::MemAligned(_) | Kind::Address) => {
            Operand::Mem(mem(random))
        }
        (None, Kind::Imm8) => Operand::Imm(constant(random, 8) & 127),
        (None, Kind::Selector) => Operand::Imm(random.below(256).cast_signed()),
        (None, Kind::Imm32) => Operand::Imm(constant(random, 32)),
        (None, Kind::Imm64) => Operand::Imm(constant(random, 64)),
    });
    let inst = Inst { op, operands: operands.collect(), note: None };
    assert_eq!(fits(&inst), Ok(()), "{inst:?}");
    inst
}

/// Instructions of that row with every address: each base, index, scale and edge of displacement. None if it has no memory.
pub fn every_address(op: Op) -> impl Iterator<Item = Inst<PReg>> {
    let row = op.row();
    let place = row.operands.iter().position(|spec| spec.kind.memory().is_some() || spec.kind == Kind::Address);
    let mut random = Random(1);
    let indices = || (0..16).map(PReg::gpr).filter(|reg| *reg != RSP);
    let indices =
        move || [None].into_iter().chain(indices().flat_map(|reg| [1, 2, 4, 8].map(|scale| Some((reg, scale)))));
    let addresses = (0..16).map(PReg::gpr).flat_map(move |base| {
        indices().flat_map(move |index| DISPLACEMENTS.map(|disp| Mem { space: Space::Argument(0), base, index, disp }))
    });
    place.into_iter().flat_map(move |place| {
        let mut inst = instruction(&mut random, op);
        addresses.clone().map(move |mem| {
            inst.operands[place] = Operand::Mem(mem);
            inst.clone()
        })
    })
}
