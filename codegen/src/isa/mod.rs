//! The instruction table: one row an instruction, one file an extension. Knows no kernel and no encoding.

/// Declares the rows of one extension: the enum of its operations, their [`row::Row`]s, and a typed method of
/// [`crate::ir::Builder`] for each. Fields of a row: variant, builder method, mnemonic, operands (name, access, kind and,
/// behind `@`, the only register allowed), flags read, written, left undefined, features, class.
macro_rules! rows {
    ($(#[$meta:meta])* $set:ident, $arm:ident {
        $( $variant:ident $method:ident $mnemonic:literal
           ( $( $operand:ident : $access:ident $kind:ident $(@ $fixed:ident)? ),* )
           $reads:ident $writes:ident $undefined:ident $feature:ident $class:ident ; )*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[expect(missing_docs, reason = "a variant is its row")]
        pub enum $set { $( $variant ),* }

        impl $set {
            /// Every operation of this extension, in the order of the table.
            pub const ALL: &'static [$set] = &[ $( $set::$variant ),* ];

            /// The row of this operation.
            pub fn row(self) -> &'static $crate::isa::row::Row {
                match self {
                    $( $set::$variant => {
                        const ROW: $crate::isa::row::Row = $crate::isa::row::Row {
                            mnemonic: $mnemonic,
                            operands: &[ $( $crate::isa::row::OperandSpec {
                                name: stringify!($operand),
                                access: $crate::isa::row::Access::$access,
                                kind: $crate::isa::kinds::$kind,
                                fixed: rows!(@fixed $($fixed)?),
                            } ),* ],
                            flags: $crate::isa::row::FlagUse {
                                reads: $crate::isa::row::$reads,
                                writes: $crate::isa::row::$writes,
                                undefined: $crate::isa::row::$undefined,
                            },
                            features: $crate::isa::needs::$feature,
                            class: $crate::isa::row::Class::$class,
                        };
                        &ROW
                    } )*
                }
            }
        }

        impl $crate::ir::Builder {
            $(
                #[doc = concat!("Emits `", $mnemonic, "`: ", stringify!($($operand: $access $kind $(@ $fixed)?),*), ".")]
                pub fn $method(&mut self $(, $operand: impl Into<$crate::ir::typed::$kind>)*) {
                    self.push($crate::isa::Op::$arm($set::$variant), vec![ $( $operand.into().into() ),* ]);
                }
            )*
        }
    };
    (@fixed) => { None };
    (@fixed $fixed:ident) => { Some($crate::isa::row::$fixed) };
}

pub mod aes;
pub mod avx;
pub mod avx2;
pub mod base;
pub mod bmi2_adx;
pub mod feature;
pub mod mmx_sse2;
pub mod portable;
pub mod row;
pub mod sse2;
pub mod ssse3_sse41;
pub mod vaes;

/// The words for operand kinds in the rows.
#[expect(non_upper_case_globals, reason = "the words of the table")]
pub(crate) mod kinds {
    use super::row::{Kind, RegClass, Width};
    pub const r8: Kind = Kind::Reg(RegClass::Gpr, Width::W8);
    pub const r32: Kind = Kind::Reg(RegClass::Gpr, Width::W32);
    pub const r64: Kind = Kind::Reg(RegClass::Gpr, Width::W64);
    pub const rm32: Kind = Kind::RegMem(RegClass::Gpr, Width::W32);
    pub const rm64: Kind = Kind::RegMem(RegClass::Gpr, Width::W64);
    pub const m8: Kind = Kind::Mem(Width::W8);
    pub const m32: Kind = Kind::Mem(Width::W32);
    pub const m64: Kind = Kind::Mem(Width::W64);
    pub const mm: Kind = Kind::Reg(RegClass::Mmx, Width::W64);
    pub const mmm64: Kind = Kind::RegMem(RegClass::Mmx, Width::W64);
    pub const xmm: Kind = Kind::Reg(RegClass::Xmm, Width::W128);
    pub const ymm: Kind = Kind::Reg(RegClass::Xmm, Width::W256);
    pub const xm32: Kind = Kind::RegMem(RegClass::Xmm, Width::W32);
    pub const xm64: Kind = Kind::RegMem(RegClass::Xmm, Width::W64);
    pub const xm128: Kind = Kind::RegMem(RegClass::Xmm, Width::W128);
    pub const ym256: Kind = Kind::RegMem(RegClass::Xmm, Width::W256);
    pub const xma128: Kind = Kind::RegMemAligned(RegClass::Xmm, Width::W128);
    pub const m128: Kind = Kind::Mem(Width::W128);
    pub const m256: Kind = Kind::Mem(Width::W256);
    pub const ma128: Kind = Kind::MemAligned(Width::W128);
    pub const addr: Kind = Kind::Address;
    pub const i8: Kind = Kind::Imm8;
    pub const lanes: Kind = Kind::Selector;
    pub const byte: Kind = Kind::Selector;
    pub const i32: Kind = Kind::Imm32;
    pub const i64: Kind = Kind::Imm64;
    pub const val: Kind = Kind::Reg(RegClass::Portable, Width::Limb);
    pub const mlimb: Kind = Kind::Mem(Width::Limb);
}

/// The words for features in the rows.
#[expect(non_upper_case_globals, reason = "the words of the table")]
pub(crate) mod needs {
    use super::feature::{Feature, FeatureSet};
    pub const base: FeatureSet = FeatureSet::EMPTY;
    pub const mmx: FeatureSet = FeatureSet::of(&[Feature::Mmx]);
    pub const sse2: FeatureSet = FeatureSet::of(&[Feature::Sse2]);
    pub const ssse3: FeatureSet = FeatureSet::of(&[Feature::Ssse3]);
    pub const sse41: FeatureSet = FeatureSet::of(&[Feature::Sse41]);
    pub const aes: FeatureSet = FeatureSet::of(&[Feature::Aes]);
    pub const avx: FeatureSet = FeatureSet::of(&[Feature::Avx]);
    pub const avx2: FeatureSet = FeatureSet::of(&[Feature::Avx2]);
    pub const aes_avx: FeatureSet = FeatureSet::of(&[Feature::Aes, Feature::Avx]);
    pub const vaes_avx: FeatureSet = FeatureSet::of(&[Feature::Vaes, Feature::Avx]);
    pub const bmi2: FeatureSet = FeatureSet::of(&[Feature::Bmi2]);
    pub const adx: FeatureSet = FeatureSet::of(&[Feature::Adx]);
}

/// What a vector instruction does to the bits of a register above those that it writes. A function keeps to one: where
/// both meet, some CPUs lose dozens of cycles to save those bits, others make each legacy instruction wait for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VectorEncoding {
    /// Keeps them.
    Legacy,
    /// Clears them.
    Vex,
}

/// An operation of any extension.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Op {
    /// The baseline of x86-64.
    Base(base::Base),
    /// MMX registers, with the SSE2 instructions on them.
    MmxSse2(mmx_sse2::MmxSse2),
    /// SSE2 integers on the xmm registers.
    Sse2(sse2::Sse2),
    /// SSSE3 and SSE4.1 on the xmm registers.
    Ssse3Sse41(ssse3_sse41::Ssse3Sse41),
    /// AES on the xmm registers.
    Aes(aes::Aes),
    /// AVX: VEX encodings on the xmm registers, and moves of the ymm registers.
    Avx(avx::Avx),
    /// AVX2: integers on the ymm registers.
    Avx2(avx2::Avx2),
    /// AES in VEX encodings, on the xmm and the ymm registers.
    Vaes(vaes::Vaes),
    /// BMI2 and ADX.
    Bmi2Adx(bmi2_adx::Bmi2Adx),
    /// The portable ISA.
    Portable(portable::Portable),
}

impl Op {
    /// The row of this operation.
    pub fn row(self) -> &'static row::Row {
        match self {
            Op::Base(op) => op.row(),
            Op::MmxSse2(op) => op.row(),
            Op::Sse2(op) => op.row(),
            Op::Ssse3Sse41(op) => op.row(),
            Op::Aes(op) => op.row(),
            Op::Avx(op) => op.row(),
            Op::Avx2(op) => op.row(),
            Op::Vaes(op) => op.row(),
            Op::Bmi2Adx(op) => op.row(),
            Op::Portable(op) => op.row(),
        }
    }

    /// How the operation is encoded, if it works on the xmm or ymm registers.
    pub fn vector_encoding(self) -> Option<VectorEncoding> {
        match self {
            Op::Base(_) | Op::MmxSse2(_) | Op::Bmi2Adx(_) | Op::Portable(_) => None,
            Op::Sse2(_) | Op::Ssse3Sse41(_) | Op::Aes(_) => Some(VectorEncoding::Legacy),
            Op::Avx(_) | Op::Avx2(_) | Op::Vaes(_) => Some(VectorEncoding::Vex),
        }
    }

    /// Every operation that a CPU executes, in the order of the table.
    pub fn machine() -> impl Iterator<Item = Op> {
        (base::Base::ALL.iter().map(|op| Op::Base(*op)))
            .chain(mmx_sse2::MmxSse2::ALL.iter().map(|op| Op::MmxSse2(*op)))
            .chain(sse2::Sse2::ALL.iter().map(|op| Op::Sse2(*op)))
            .chain(ssse3_sse41::Ssse3Sse41::ALL.iter().map(|op| Op::Ssse3Sse41(*op)))
            .chain(aes::Aes::ALL.iter().map(|op| Op::Aes(*op)))
            .chain(avx::Avx::ALL.iter().map(|op| Op::Avx(*op)))
            .chain(avx2::Avx2::ALL.iter().map(|op| Op::Avx2(*op)))
            .chain(vaes::Vaes::ALL.iter().map(|op| Op::Vaes(*op)))
            .chain(bmi2_adx::Bmi2Adx::ALL.iter().map(|op| Op::Bmi2Adx(*op)))
    }
}

/// The words that may stand in the `[cost]` table of a CPU file: every class and every mnemonic, sorted.
pub fn cost_keys() -> Vec<&'static str> {
    let classes = row::Class::ALL.iter().map(|class| class.word());
    let mut keys: Vec<_> = classes.chain(Op::machine().map(|op| op.row().mnemonic)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}
