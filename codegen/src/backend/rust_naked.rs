//! A function to a naked Rust function: the compiled form of a machine kernel. Knows no kernel and no encoding.

use super::asm_text::{self, Style};
use crate::ir::{Func, ParameterKind, Physical};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

/// The item `pub unsafe extern "sysv64" fn ident(...)`, with `banner` as its documentation.
///
/// Its text begins with an alignment to 64 bytes. On ELF the compiler puts each naked function into a section of its own,
/// so the alignment is the section's and the entry is aligned.
///
/// # Panics
/// When a parameter has no Rust type: a fault of the family or the spec's checks.
pub fn item(func: &Func<Physical>, ident: &str, banner: &str) -> TokenStream {
    let name = identifier(ident);
    let parameters = func.parameters.iter().map(|parameter| {
        let (name, ty) = (identifier(&parameter.name), rust_type(parameter.kind));
        quote!(#name: #ty)
    });
    let returns = func.returns.map(|_| {
        let ty = unsigned(func.limb_bits);
        quote!(-> #ty)
    });
    let safety = "# Safety\n\nThe CPU has every feature that the instructions need. Each pointer is valid for as many elements as \
                  its count says, for the accesses that the signature allows; pointers overlap only as the contract says.";
    let docs = banner.lines().chain([""]).chain(safety.lines()).map(|line| match line {
        "" => String::new(),
        line => format!(" {line}"),
    });
    let text = [".p2align 6".to_owned()].into_iter().chain(asm_text::lines(func, Style::ASSEMBLER)).map(escaped);
    quote! {
        #(#[doc = #docs])*
        #[unsafe(naked)]
        pub unsafe extern "sysv64" fn #name(#(#parameters),*) #returns {
            ::core::arch::naked_asm!(#(#text),*)
        }
    }
}

/// Braces are operands in the macro's template.
fn escaped(line: String) -> String {
    line.replace('{', "{{").replace('}', "}}")
}

/// A name of the spec as a Rust identifier, raw when it is a keyword.
fn identifier(name: &str) -> Ident {
    syn::parse_str::<Ident>(name).unwrap_or_else(|_| Ident::new_raw(name, Span::call_site()))
}

fn rust_type(kind: ParameterKind) -> TokenStream {
    match kind {
        ParameterKind::Pointer { element_bytes, writes, .. } => {
            let element = unsigned(element_bytes * 8);
            if writes { quote!(*mut #element) } else { quote!(*const #element) }
        }
        ParameterKind::Count { .. } => quote!(usize),
        ParameterKind::Value { bits } => unsigned(bits),
    }
}

fn unsigned(bits: u32) -> TokenStream {
    match bits {
        8 => quote!(u8),
        32 => quote!(u32),
        64 => quote!(u64),
        _ => panic!("no Rust type of {bits} bits in a signature"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Frame, Length, Parameter};
    use crate::isa::row::{RAX, RDI, RDX, RSI};

    #[test]
    fn the_signature_follows_the_parameters() {
        let parameter = |name: &str, kind, reg| Parameter {
            name: name.into(),
            kind,
            secret: false,
            may_equal: vec![],
            align: 1,
            reg,
        };
        let pointer = |writes, element_bytes| ParameterKind::Pointer {
            element_bytes,
            length: Length::of(2),
            reads: true,
            writes,
            cursor: 0,
        };
        let func = Func::<Physical> {
            name: "test/empty".into(),
            limb_bits: 32,
            parameters: vec![
                parameter("r", pointer(true, 4), RDI),
                parameter("in", pointer(false, 8), RSI),
                parameter("n", ParameterKind::Count { min: 0, max: 9 }, RDX),
            ],
            returns: Some(RAX),
            body: vec![],
            subs: vec![],
            pool: vec![],
            frame: Frame::default(),
            exact: None,
            vregs: 0,
        };
        let text = item(&func, "empty", "Does nothing.").to_string();
        for part in [
            "#[doc = \" Does nothing.\"] #[doc = \"\"] #[doc = \" # Safety\"]",
            "#[unsafe(naked)] pub unsafe extern \"sysv64\" fn empty(r: *mut u32, r#in: *const u64, n: usize) -> u32",
            "::core::arch::naked_asm!(\".p2align 6\", \".cfi_startproc\", \"ret\", \".cfi_endproc\")",
        ] {
            let part: TokenStream = part.parse().expect("tokens");
            assert!(text.contains(&part.to_string()), "{part} in {text}");
        }
    }

    #[test]
    fn braces_are_escaped() {
        assert_eq!(escaped("mov rax, {x}".into()), "mov rax, {{x}}");
    }
}
