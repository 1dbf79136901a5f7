//! Encodes BMI2 and ADX.

use super::operands::{imm, reg, reg_mem};
use super::{direct, either, memory};
use crate::ir::Operand;
use crate::isa::bmi2_adx::Bmi2Adx;
use crate::isa::row::PReg;
use dynasmrt::DynasmApi;

/// `op r64, r/m64, r64`.
macro_rules! shift {
    ($op:ident, $operands:expr) => {{
        let (dst, count) = (reg(&$operands[0]), reg(&$operands[2]));
        either!([$op Rq(dst),] Rq QWORD reg_mem(&$operands[1]), Rq(count))
    }};
}

/// `op r64, r/m64`.
macro_rules! binary {
    ($op:ident, $operands:expr) => {{
        let dst = reg(&$operands[0]);
        either!([$op Rq(dst),] Rq QWORD reg_mem(&$operands[1]))
    }};
}

/// The bytes of one instruction, as dynasm makes them but for its address.
pub(super) fn encode(op: Bmi2Adx, operands: &[Operand<PReg>]) -> Vec<u8> {
    match op {
        Bmi2Adx::Mulx => {
            let (hi, lo) = (reg(&operands[0]), reg(&operands[1]));
            either!([mulx Rq(hi), Rq(lo),] Rq QWORD reg_mem(&operands[2]))
        }
        Bmi2Adx::Rorx => {
            let (dst, count): (u8, i8) = (reg(&operands[0]), imm(&operands[2]));
            either!([rorx Rq(dst),] Rq QWORD reg_mem(&operands[1]), BYTE count)
        }
        Bmi2Adx::Shlx => shift!(shlx, operands),
        Bmi2Adx::Shrx => shift!(shrx, operands),
        Bmi2Adx::Adcx => binary!(adcx, operands),
        Bmi2Adx::Adox => binary!(adox, operands),
    }
}
