//! What is written between the braces of `kernels! { .. }`.

use proc_macro2::Span;
use std::path::PathBuf;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, LitStr, Token, bracketed};

/// A file that the call names.
pub struct File {
    /// As written; also the name in messages and in the catalogue.
    pub given: String,
    /// Where it is.
    pub absolute: PathBuf,
    /// The literal.
    pub span: Span,
}

/// The parsed call.
pub struct Input {
    /// Kernel specs.
    pub specs: Vec<File>,
    /// CPU files.
    pub cpus: Vec<File>,
    /// The call, for errors of the specs themselves.
    pub span: Span,
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> syn::Result<Input> {
        let root = std::env::var_os("CARGO_MANIFEST_DIR")
            .map(PathBuf::from)
            .ok_or_else(|| input.error("CARGO_MANIFEST_DIR is not set: kernels! needs cargo"))?;
        let (mut specs, mut cpus) = (Vec::new(), Vec::new());
        let span = input.span();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            input.parse::<Token![:]>()?;
            let list;
            bracketed!(list in input);
            let files = Punctuated::<LitStr, Token![,]>::parse_terminated(&list)?;
            let files = files.iter().map(|literal| {
                let path = literal.value();
                // Messages and banners name a file from the root of its workspace, wherever that is.
                let given = path.trim_start_matches("../").to_owned();
                File { absolute: root.join(&path), given, span: literal.span() }
            });
            match key.to_string().as_str() {
                "specs" => specs.extend(files),
                "cpus" => cpus.extend(files),
                other => {
                    return Err(syn::Error::new(key.span(), format!("unknown key `{other}`; valid are specs, cpus")));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        if specs.is_empty() {
            return Err(syn::Error::new(span, "`specs` names no file"));
        }
        Ok(Input { specs, cpus, span })
    }
}
