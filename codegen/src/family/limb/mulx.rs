//! Rows times a limb with `mulx`, which leaves the flags to the carries.

use super::scale::{Combine, InRegisters, LiveGroup, Registers, Row};
use crate::family::Parameters;
use crate::ir::Builder;
use crate::ir::typed::Gpr;
use crate::isa::row::{CF, CO, RDX};
use std::collections::VecDeque;

/// How many products wait in registers between the two passes of the single carry chain.
const MULX_PASS: u32 = 8;

/// `mulx` leaves CF alone, so one carry chain runs over a whole pass of products, and a second one adds or subtracts them.
pub(super) struct Mulx {
    w: Gpr,
    carry: Gpr,
}

impl InRegisters for Mulx {
    fn new(b: &mut Builder, _: &Parameters) -> Mulx {
        Mulx { w: b.pinned(RDX), carry: b.gpr() }
    }

    fn registers(&self) -> Registers {
        Registers { w: self.w, carry: self.carry }
    }

    fn group(&self, b: &mut Builder, row: &Row, k: u32, combine: Combine) {
        for first in (0..k).step_by(MULX_PASS as usize) {
            let pass = first..k.min(first + MULX_PASS);
            b.note("products, each low half plus the high half before it");
            let mut high = self.carry;
            let mut lows = Vec::new();
            for i in pass.clone() {
                let (lo, hi) = (b.gpr(), b.gpr());
                b.mulx(hi, lo, row.a(b, i), self.w);
                if i == first {
                    b.add(lo, high)
                } else {
                    b.adc(lo, high)
                }
                if combine == Combine::Set {
                    b.store(row.r(b, i), lo);
                }
                lows.push(lo);
                high = hi;
            }
            b.adc_ri(high, 0);
            match combine {
                Combine::Set => {}
                Combine::Add => {
                    b.note("plus r");
                    for (i, lo) in pass.zip(lows) {
                        if i == first {
                            b.add(lo, row.r(b, i))
                        } else {
                            b.adc(lo, row.r(b, i))
                        }
                        b.store(row.r(b, i), lo);
                    }
                    b.note("the carry limb of this pass");
                    b.adc_ri(high, 0);
                }
                Combine::Sub => {
                    b.note("from r");
                    for (i, lo) in pass.zip(lows) {
                        let r = b.gpr();
                        b.load(r, row.r(b, i));
                        if i == first {
                            b.sub(r, lo)
                        } else {
                            b.sbb(r, lo)
                        }
                        b.store(row.r(b, i), r);
                    }
                    b.note("the borrow limb of this pass");
                    b.adc_ri(high, 0);
                }
            }
            b.mov(self.carry, high);
        }
    }
}

/// Two carry chains side by side: CF adds r, OF adds the high half of the product before.
pub(super) struct MulxAdx {
    w: Gpr,
    carry: Gpr,
    zero: Gpr,
    /// Products that are started before the chains come to the first of them.
    overlap: u32,
}

impl MulxAdx {
    /// Clears CF and OF.
    fn clear(&self, b: &mut Builder) {
        b.note("both chains start with no carry");
        b.test(self.zero, self.zero);
    }

    /// Adds the carries of both chains to the carry limb.
    fn fold(&self, b: &mut Builder) {
        b.note("both carries into the carry limb");
        b.adcx(self.carry, self.zero);
        b.adox(self.carry, self.zero);
    }

    /// The limbs of a group, with the carries in the flags on both sides.
    fn chains(&self, b: &mut Builder, row: &Row, k: u32, combine: Combine) {
        let mut before = self.carry;
        let mut waiting = VecDeque::new();
        for next in 0..k + self.overlap {
            if next < k {
                // The last high half may take the carry's place once that has been used.
                let free = next + 1 == k && k > self.overlap + 1;
                let (lo, hi) = (b.gpr(), if free { self.carry } else { b.gpr() });
                b.mulx(hi, lo, row.a(b, next), self.w);
                waiting.push_back((next, lo, hi));
            }
            if next < self.overlap {
                continue;
            }
            let Some((i, lo, hi)) = waiting.pop_front() else { continue };
            match combine {
                Combine::Set => {}
                Combine::Add => b.adcx(lo, row.r(b, i)),
                Combine::Sub => {
                    let r = b.gpr();
                    b.load(r, row.r(b, i));
                    b.not(r);
                    b.adcx(lo, r);
                }
            }
            b.adox(lo, before);
            if combine == Combine::Sub {
                b.not(lo);
            }
            b.store(row.r(b, i), lo);
            before = hi;
        }
        if before != self.carry {
            b.mov(self.carry, before);
        }
    }
}

impl InRegisters for MulxAdx {
    fn new(b: &mut Builder, parameters: &Parameters) -> MulxAdx {
        let (w, carry, zero) = (b.pinned(RDX), b.gpr(), b.gpr());
        b.mov_imm32(zero, 0);
        MulxAdx { w, carry, zero, overlap: parameters.overlap }
    }

    fn registers(&self) -> Registers {
        Registers { w: self.w, carry: self.carry }
    }

    fn group(&self, b: &mut Builder, row: &Row, k: u32, combine: Combine) {
        self.clear(b);
        self.chains(b, row, k, combine);
        self.fold(b);
    }

    const LIVE: Option<LiveGroup<MulxAdx>> =
        Some(LiveGroup { flags: CO, open: MulxAdx::clear, group: MulxAdx::chains, close: MulxAdx::fold });
}

/// Differences with a borrow that stays in CF over any number of limbs, while OF adds up the products of a few limbs at a time:
/// `sbb` writes OF, so that chain begins anew with each pass.
pub(super) struct MulxSbb {
    w: Gpr,
    carry: Gpr,
}

/// Limbs of a pass: their products wait in registers.
const SBB_PASS: u32 = 4;

impl MulxSbb {
    fn open(&self, b: &mut Builder) {
        let clear = b.gpr();
        b.note("no borrow yet");
        b.xor32(clear, clear);
    }

    fn close(&self, b: &mut Builder) {
        b.note("the borrow into the carry limb");
        b.adc_ri(self.carry, 0);
    }

    fn chain(&self, b: &mut Builder, row: &Row, k: u32, combine: Combine) {
        assert!(combine == Combine::Sub, "a strategy of differences");
        for first in (0..k).step_by(SBB_PASS as usize) {
            let clear = b.gpr();
            b.note("OF := 0, and CF stays");
            b.mov_imm32(clear, 2);
            b.dec(clear);
            let pass = first..k.min(first + SBB_PASS);
            let mut high = self.carry;
            let mut lows = Vec::new();
            for i in pass.clone() {
                let (lo, hi) = (b.gpr(), b.gpr());
                b.mulx(hi, lo, row.a(b, i), self.w);
                b.adox(lo, high);
                lows.push(lo);
                high = hi;
            }
            let zero = b.gpr();
            b.mov_imm32(zero, 0);
            b.adox(high, zero);
            b.mov(self.carry, high);
            for (i, lo) in pass.zip(lows) {
                b.sbb_mr(row.r(b, i), lo);
            }
        }
    }
}

impl InRegisters for MulxSbb {
    fn new(b: &mut Builder, _: &Parameters) -> MulxSbb {
        MulxSbb { w: b.pinned(RDX), carry: b.gpr() }
    }

    fn registers(&self) -> Registers {
        Registers { w: self.w, carry: self.carry }
    }

    fn group(&self, b: &mut Builder, row: &Row, k: u32, combine: Combine) {
        self.open(b);
        self.chain(b, row, k, combine);
        self.close(b);
    }

    const LIVE: Option<LiveGroup<MulxSbb>> =
        Some(LiveGroup { flags: CF, open: MulxSbb::open, group: MulxSbb::chain, close: MulxSbb::close });
}
