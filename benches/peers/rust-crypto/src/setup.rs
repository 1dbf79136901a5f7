//! What a contender is set up for.

/// A block.
pub type Block = [u8; 16];

/// A mode of AES.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Blocks one by one.
    EcbEncrypt,
    /// Blocks one by one, back.
    EcbDecrypt,
    /// Each block with the ciphertext before it.
    CbcEncrypt,
    /// The same, back.
    CbcDecrypt,
    /// A counter of 128 bits.
    Ctr,
    /// A counter of 32 bits, as GCM has it.
    GcmCtr,
}

impl Mode {
    /// All of them.
    pub const ALL: [Mode; 6] =
        [Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::CbcEncrypt, Mode::CbcDecrypt, Mode::Ctr, Mode::GcmCtr];
    /// Those that are raced if none are given: GCM's counter alone is in no library's EVP.
    pub const USUAL: [Mode; 5] = [Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::CbcEncrypt, Mode::CbcDecrypt, Mode::Ctr];

    /// Its word on the command line and in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Mode::EcbEncrypt => "ecb-encrypt",
            Mode::EcbDecrypt => "ecb-decrypt",
            Mode::CbcEncrypt => "cbc-encrypt",
            Mode::CbcDecrypt => "cbc-decrypt",
            Mode::Ctr => "ctr",
            Mode::GcmCtr => "gcm-ctr",
        }
    }

    /// Whether the cipher runs backwards.
    pub const fn decrypts(self) -> bool {
        match self {
            Mode::EcbDecrypt | Mode::CbcDecrypt => true,
            Mode::EcbEncrypt | Mode::CbcEncrypt | Mode::Ctr | Mode::GcmCtr => false,
        }
    }

    /// Whether it has an `iv`.
    pub const fn chained(self) -> bool {
        match self {
            Mode::EcbEncrypt | Mode::EcbDecrypt => false,
            Mode::CbcEncrypt | Mode::CbcDecrypt | Mode::Ctr | Mode::GcmCtr => true,
        }
    }
}

/// What a contender begins with.
pub struct Setup<'a> {
    /// The mode.
    pub mode: Mode,
    /// The key: 16, 24 or 32 bytes.
    pub key: &'a [u8],
    /// The first chain or counter.
    pub iv: Block,
}
