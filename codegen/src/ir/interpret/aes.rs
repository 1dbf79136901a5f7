//! What the AES instructions do. Source: Intel SDM volume 2.

use super::aes_steps::{Block, decrypt, decrypt_last, encrypt, encrypt_last, inv_mix_columns, key_assist};
use super::fault::Fault;
use super::machine::Context;
use super::vector::blocks;
use crate::isa::aes::Aes;

pub(super) fn execute(op: Aes, cx: &mut Context<'_, '_>) -> Result<(), Fault> {
    match op {
        Aes::Aesenc => round(cx, encrypt),
        Aes::Aesenclast => round(cx, encrypt_last),
        Aes::Aesdec => round(cx, decrypt),
        Aes::Aesdeclast => round(cx, decrypt_last),
        Aes::Aesimc => inverse(cx),
        Aes::Aeskeygenassist => assist(cx),
    }
}

fn round(cx: &mut Context<'_, '_>, step: fn(Block, Block) -> Block) -> Result<(), Fault> {
    let lanes = blocks(cx.lanes(0)?, cx.lanes(1)?, step);
    cx.set_lanes(0, lanes)
}

pub(super) fn inverse(cx: &mut Context<'_, '_>) -> Result<(), Fault> {
    let src = cx.lanes(1)?;
    cx.set_lanes(0, blocks(src, src, |src, _| inv_mix_columns(src)))
}

pub(super) fn assist(cx: &mut Context<'_, '_>) -> Result<(), Fault> {
    let (src, constant) = (cx.lanes(1)?, cx.get(2)? as u8);
    cx.set_lanes(0, blocks(src, src, |src, _| key_assist(src, constant)))
}
