//! System V's registers, as far as kernels meet them.

use crate::isa::row::{PReg, R8, R9, RBP, RBX, RCX, RDI, RDX, RSI};

/// The integer argument registers, in order.
pub const ARGUMENTS: [PReg; 6] = [RDI, RSI, RDX, RCX, R8, R9];

/// The callee-saved registers, rsp apart.
pub const CALLEE_SAVED: [PReg; 6] = [RBX, RBP, PReg::gpr(12), PReg::gpr(13), PReg::gpr(14), PReg::gpr(15)];
