//! What AVX on xmm and AVX2 on ymm registers have in common: one table of arms for both.

/// `op vector, vector, vector/memory`.
macro_rules! three {
    ($file:ident $size:ident $op:ident, $operands:expr) => {{
        let (dst, a) = (reg(&$operands[0]), reg(&$operands[1]));
        either!([$op $file(dst), $file(a),] $file $size reg_mem(&$operands[2]))
    }};
}

/// `op vector, vector, vector/memory, byte`.
macro_rules! three_and_byte {
    ($file:ident $size:ident $op:ident, $operands:expr) => {{
        let (dst, a) = (reg(&$operands[0]), reg(&$operands[1]));
        let byte = imm::<u8>(&$operands[3]).cast_signed();
        either!([$op $file(dst), $file(a),] $file $size reg_mem(&$operands[2]), BYTE byte)
    }};
}

/// An instruction of the form of `vpclmulqdq xmm, xmm, xmm/m128, byte` that differs in the opcode: dynasm 5.1 leaves the last
/// source of `vpalignr` and `vpblendd` out of the bytes.
macro_rules! like_vpclmulqdq {
    ($opcode:literal, $operands:expr) => {
        $crate::backend::machine::compact::with_opcode(
            three_and_byte!(Rx OWORD vpclmulqdq, $operands),
            0x44,
            $opcode,
        )
    };
}

/// `op vector, vector, count`.
macro_rules! shift {
    ($file:ident $op:ident, $operands:expr) => {{
        let (dst, src): (u8, u8) = (reg(&$operands[0]), reg(&$operands[1]));
        let count: i8 = imm(&$operands[2]);
        direct!($op $file(dst), $file(src), BYTE count)
    }};
}

/// The instructions that AVX has on xmm and AVX2 on ymm registers, and the arms of those that one of them has alone.
macro_rules! on_both_widths {
    ($set:ident $file:ident $size:ident, $op:expr, $operands:expr, { $($alone:tt)* }) => {
        match $op {
            $set::Vpxor => three!($file $size vpxor, $operands),
            $set::Vpand => three!($file $size vpand, $operands),
            $set::Vpandn => three!($file $size vpandn, $operands),
            $set::Vpor => three!($file $size vpor, $operands),
            $set::Vpaddb => three!($file $size vpaddb, $operands),
            $set::Vpaddd => three!($file $size vpaddd, $operands),
            $set::Vpaddq => three!($file $size vpaddq, $operands),
            $set::Vpsubd => three!($file $size vpsubd, $operands),
            $set::Vpsubq => three!($file $size vpsubq, $operands),
            $set::Vpmuludq => three!($file $size vpmuludq, $operands),
            $set::Vpcmpeqd => three!($file $size vpcmpeqd, $operands),
            $set::Vpcmpeqq => three!($file $size vpcmpeqq, $operands),
            $set::Vpcmpgtd => three!($file $size vpcmpgtd, $operands),
            $set::Vpcmpgtq => three!($file $size vpcmpgtq, $operands),
            $set::Vpunpckldq => three!($file $size vpunpckldq, $operands),
            $set::Vpunpckhdq => three!($file $size vpunpckhdq, $operands),
            $set::Vpunpcklqdq => three!($file $size vpunpcklqdq, $operands),
            $set::Vpunpckhqdq => three!($file $size vpunpckhqdq, $operands),
            $set::Vpshufb => three!($file $size vpshufb, $operands),
            $set::Vpshufd => {
                let (dst, from) = (reg(&$operands[0]), imm::<u8>(&$operands[2]).cast_signed());
                either!([vpshufd $file(dst),] $file $size reg_mem(&$operands[1]), BYTE from)
            }
            $set::Vpsllq => shift!($file vpsllq, $operands),
            $set::Vpsrad => shift!($file vpsrad, $operands),
            $set::Vpslldq => shift!($file vpslldq, $operands),
            $set::Vpsrldq => shift!($file vpsrldq, $operands),
            $($alone)*
        }
    };
}

pub(super) use {like_vpclmulqdq, on_both_widths, shift, three, three_and_byte};
