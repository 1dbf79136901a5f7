//! The proc-macro `kernels!`: runs Kiln's generator inside the compiler, so that a spec file becomes compiled variants.

mod emit;
mod input;

use kiln_codegen::error::Problems;
use kiln_codegen::spec::{SourceFile, Specs};
use proc_macro2::{Span, TokenStream};

/// Turns spec files into a catalogue: one `static` of type `Kernel` for each kernel (`limb64.mul_add` becomes
/// `LIMB64_MUL_ADD`), `KERNELS`, the list of them, `SPECS` and `CPUS`, the texts, and `PREFERENCES`, what each CPU file
/// prefers. Paths are relative to the package's `Cargo.toml`. A file named `generic.toml` must be among the CPU files.
///
/// ```text
/// kiln_kernels::kernels! {
///     specs: ["specs/mul_add.toml"],
///     cpus: ["specs/generic.toml"],
/// }
/// ```
///
/// Editing a named file rebuilds the crate that holds the call, and no other that does not depend on it.
#[proc_macro]
pub fn kernels(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = match syn::parse::<input::Input>(input) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error().into(),
    };
    expand(&input).unwrap_or_else(|(span, message)| error(span, &message)).into()
}

fn error(span: Span, message: &str) -> TokenStream {
    syn::Error::new(span, message).to_compile_error()
}

fn expand(input: &input::Input) -> Result<TokenStream, (Span, String)> {
    let mut files = Vec::new();
    for file in input.specs.iter().chain(&input.cpus) {
        let bytes = std::fs::read(&file.absolute)
            .map_err(|error| (file.span, format!("cannot read {}: {error}", file.absolute.display())))?;
        files.push(SourceFile { path: file.given.clone(), bytes });
    }
    let problems = |problems: Problems| (input.span, problems.to_string());
    let specs = Specs::parse(&files, &kiln_codegen::vocabulary(&[])).map_err(problems)?;
    let compiled = kiln_codegen::compile(&specs).map_err(problems)?;
    Ok(emit::catalogue(&specs, &compiled, input))
}
