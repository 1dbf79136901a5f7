//! What the AES instructions in VEX encodings do. Source: Intel SDM volume 2.

use super::aes::{assist, inverse};
use super::aes_steps::{decrypt, decrypt_last, encrypt, encrypt_last};
use super::fault::Fault;
use super::machine::Context;
use super::vector::{blocks, of_two};
use crate::isa::vaes::Vaes;

pub(super) fn execute(op: Vaes, cx: &mut Context<'_, '_>) -> Result<(), Fault> {
    match op {
        Vaes::VaesencX | Vaes::VaesencY => of_two(cx, |a, b| blocks(a, b, encrypt)),
        Vaes::VaesenclastX | Vaes::VaesenclastY => of_two(cx, |a, b| blocks(a, b, encrypt_last)),
        Vaes::VaesdecX | Vaes::VaesdecY => of_two(cx, |a, b| blocks(a, b, decrypt)),
        Vaes::VaesdeclastX | Vaes::VaesdeclastY => of_two(cx, |a, b| blocks(a, b, decrypt_last)),
        Vaes::Vaesimc => inverse(cx),
        Vaes::Vaeskeygenassist => assist(cx),
    }
}
