//! Compiled variants to the tokens of a catalogue. Knows the catalogue's types by path; knows no algorithm.

use crate::input::Input;
use kiln_codegen::backend::banner::banner;
use kiln_codegen::backend::{rust_naked, rust_portable};
use kiln_codegen::compile::{Compiled, Form};
use kiln_codegen::plan::symbol;
use kiln_codegen::spec::{Access, ArgumentKind, Cipher, Direction, Domain, KernelSpec, Specs, Term, Unit};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// Everything that one call of `kernels!` expands to.
pub fn catalogue(specs: &Specs, compiled: &[Compiled<'_>], input: &Input) -> TokenStream {
    let kernels = specs.kernels.iter().map(|kernel| {
        let path = &input.specs.iter().find(|file| file.given == kernel.file).expect("a file of the call").absolute;
        let path = path.to_string_lossy();
        let variants: Vec<_> = compiled.iter().filter(|variant| std::ptr::eq(variant.plan.kernel, kernel)).collect();
        kernel_items(kernel, &variants, &path)
    });
    let statics = specs.kernels.iter().map(static_name);
    let text = |files: &[crate::input::File]| {
        let texts = files.iter().map(|file| {
            let (given, path) = (&file.given, file.absolute.to_string_lossy());
            quote!(::kiln_kernels::catalogue::SpecText { path: #given, text: include_str!(#path) })
        });
        quote!(&[#(#texts),*])
    };
    let (spec_texts, cpu_texts) = (text(&input.specs), text(&input.cpus));
    let preferences = specs.cpus.iter().map(|cpu| {
        let name = &cpu.name;
        let identity = match &cpu.identify {
            None => quote!(None),
            Some(identity) => {
                let (vendor, family, models) = (&identity.vendor.value, identity.family.value, &identity.models);
                let models = models.iter().map(|model| model.to_owned());
                quote!(Some(::kiln_kernels::catalogue::CpuIdentity {
                    vendor: #vendor, family: #family, models: &[#(#models),*],
                }))
            }
        };
        let prefer = cpu.prefer.iter().map(|(kernel, variant)| {
            let variant = format!("{kernel}/{}", variant.value);
            quote!((#kernel, #variant))
        });
        quote!(::kiln_kernels::catalogue::CpuPreference { name: #name, identity: #identity, prefer: &[#(#prefer),*] })
    });
    quote! {
        #(#kernels)*
        /// Every kernel of this call.
        pub static KERNELS: &[&::kiln_kernels::catalogue::Kernel] = &[#(&#statics),*];
        /// The kernel specs, as compiled in.
        pub static SPECS: &[::kiln_kernels::catalogue::SpecText] = #spec_texts;
        /// The CPU files, as compiled in.
        pub static CPUS: &[::kiln_kernels::catalogue::SpecText] = #cpu_texts;
        /// What each CPU file prefers before anything is measured.
        pub static PREFERENCES: &[::kiln_kernels::catalogue::CpuPreference] = &[#(#preferences),*];
    }
}

fn static_name(kernel: &KernelSpec) -> Ident {
    format_ident!("{}", symbol(&kernel.kernel).to_uppercase())
}

/// One argument of the raw function: name, type, and how a safe body gets it.
struct Raw {
    name: Ident,
    ty: TokenStream,
    from_word: TokenStream,
}

fn raw_arguments(kernel: &KernelSpec, bits: u32) -> Vec<Raw> {
    let limb = format_ident!("u{bits}");
    let raw = |(index, argument): (usize, &kiln_codegen::spec::Argument)| {
        let (ty, from_word) = match argument.kind {
            ArgumentKind::Bytes { .. } if argument.access == Access::In => {
                (quote!(*const u8), quote!(words[#index].pointer.cast_const()))
            }
            ArgumentKind::Bytes { .. } => (quote!(*mut u8), quote!(words[#index].pointer)),
            ArgumentKind::Limbs { .. } if argument.access == Access::In => {
                (quote!(*const #limb), quote!(words[#index].pointer.cast::<#limb>().cast_const()))
            }
            ArgumentKind::Limbs { .. } => (quote!(*mut #limb), quote!(words[#index].pointer.cast::<#limb>())),
            ArgumentKind::Count { .. } => (quote!(usize), quote!(words[#index].integer as usize)),
            ArgumentKind::Limb => (quote!(#limb), quote!(words[#index].integer as #limb)),
        };
        Raw { name: format_ident!("{}", argument.name.value), ty, from_word }
    };
    kernel.arguments.iter().enumerate().map(raw).collect()
}

fn kernel_items(kernel: &KernelSpec, variants: &[&Compiled<'_>], path: &str) -> TokenStream {
    let first = variants.first().expect("a spec has variants");
    let contract = first.plan.contract;
    let sharing = rust_portable::sharing(&first.func.parameters);
    let bits = contract.limb_bits;
    let raw = raw_arguments(kernel, bits);
    let limb = format_ident!("u{bits}");
    let returns = contract.returns.then(|| quote!(-> #limb));
    let module = format_ident!("{}", symbol(&kernel.kernel));
    let entries = variants.iter().map(|variant| variant_item(kernel, variant, &raw, &returns));
    let variants = variants.iter().map(|variant| variant_row(variant));
    let reference = wrapper(kernel, &raw, &returns, &format_ident!("reference"), &Body::Reference(&sharing));
    let types: Vec<_> = raw.iter().map(|raw| &raw.ty).collect();
    let from_words: Vec<_> = raw.iter().map(|raw| &raw.from_word).collect();
    let names: Vec<_> = raw.iter().map(|raw| &raw.name).collect();
    let unit = match kernel.unit {
        Unit::Limb => format_ident!("Limb"),
        Unit::Block => format_ident!("Block"),
        Unit::Call => format_ident!("Call"),
    };
    let arguments = kernel.arguments.iter().map(|argument| argument_row(kernel, argument, bits));
    let cipher = kernel.cipher.as_ref().map_or(quote!(None), |cipher| {
        let cipher = cipher_row(cipher);
        quote!(Some(#cipher))
    });
    let (static_name, name, math) = (static_name(kernel), &kernel.kernel.value, &kernel.math);
    let (file, hash, sizes, gives) = (&kernel.file, &kernel.hash, &kernel.sizes, contract.returns);
    let doc = format!("`{name}`: {math}");
    let count = raw.len();
    let result = if contract.returns {
        quote!(u64::from(result))
    } else {
        quote!({
            let () = result;
            0
        })
    };
    quote! {
        #[doc = #doc]
        // SAFETY: the arguments, the variants, the reference's wrapper and `call` are all made from one contract.
        pub static #static_name: ::kiln_kernels::catalogue::Kernel = unsafe { ::kiln_kernels::catalogue::Kernel::new(
            ::kiln_kernels::catalogue::KernelParts {
            name: #name,
            math: #math,
            arguments: &[#(#arguments),*],
            returns: #gives,
            sizes: &[#(#sizes),*],
            unit: ::kiln_kernels::catalogue::Unit::#unit,
            cipher: #cipher,
            spec_file: #file,
            spec_text: include_str!(#path),
            spec_hash: #hash,
            reference: ::kiln_kernels::catalogue::Entry::new(#module::reference as *const ::core::ffi::c_void),
            variants: {
                use #module::*;
                &[#(#variants),*]
            },
            call: #module::call,
            repeat: #module::repeat,
        }) };

        #[doc = #doc]
        #[allow(clippy::all, unused_imports, missing_docs, reason = "generated")]
        pub mod #module {
            /// The type of every entry of this kernel, on targets with the System V convention.
            #[cfg(target_arch = "x86_64")]
            pub type Function = unsafe extern "sysv64" fn(#(#types),*) #returns;
            /// The type of every entry of this kernel.
            #[cfg(not(target_arch = "x86_64"))]
            pub type Function = unsafe extern "C" fn(#(#types),*) #returns;

            /// Calls an entry of this kernel.
            ///
            /// # Safety
            /// As `Kernel::call` says.
            #[inline]
            pub unsafe fn call(
                entry: ::kiln_kernels::catalogue::Entry,
                words: &[::kiln_kernels::catalogue::Word],
            ) -> u64 {
                assert_eq!(words.len(), #count, "one word an argument");
                // SAFETY: the caller vouches that the entry keeps this contract, so it is a function of this type, and
                // for what the words point at; each word is read as the contract's argument says.
                let result = unsafe {
                    let function = ::core::mem::transmute::<*const ::core::ffi::c_void, Function>(entry.address());
                    function(#(#from_words),*)
                };
                #result
            }

            /// Calls an entry of this kernel so many times.
            ///
            /// # Safety
            /// As `Kernel::repeat` says.
            pub unsafe fn repeat(
                entry: ::kiln_kernels::catalogue::Entry,
                words: &[::kiln_kernels::catalogue::Word],
                calls: u32,
            ) {
                assert_eq!(words.len(), #count, "one word an argument");
                // SAFETY: as in `call`.
                let function = unsafe { ::core::mem::transmute::<*const ::core::ffi::c_void, Function>(entry.address()) };
                // SAFETY: each word is read as the contract's argument says; the caller vouches for them.
                let (#(#names,)*) = unsafe { (#(#from_words,)*) };
                for _ in 0..calls {
                    // SAFETY: as in `call`.
                    ::core::hint::black_box(unsafe { function(#(#names),*) });
                }
            }

            #reference
            #(#entries)*
        }
    }
}

fn cipher_row(cipher: &Cipher) -> TokenStream {
    let terms = |terms: &[Term]| {
        let words = terms.iter().map(|term| match term {
            Term::In => quote!(::kiln_kernels::catalogue::Term::In),
            Term::PreviousIn => quote!(::kiln_kernels::catalogue::Term::PreviousIn),
            Term::PreviousOut => quote!(::kiln_kernels::catalogue::Term::PreviousOut),
            Term::Counter => quote!(::kiln_kernels::catalogue::Term::Counter),
        });
        quote!(&[#(#words),*])
    };
    let mode = cipher.mode.as_ref().map_or(quote!(None), |mode| {
        let (input, output) = (terms(&mode.input), terms(&mode.output));
        let (decrypts, streams) = (mode.cipher == Direction::Decrypt, mode.streams as usize);
        let counter_bits = mode.counter_bits;
        quote!(Some(::kiln_kernels::catalogue::Mode {
            input: #input, decrypts: #decrypts, output: #output, counter_bits: #counter_bits, streams: #streams,
        }))
    });
    let (key_bits, rounds) = (cipher.key_bits, cipher.rounds);
    quote!(::kiln_kernels::catalogue::Cipher { key_bits: #key_bits, rounds: #rounds, mode: #mode })
}

/// The plain reference of a kernel, and what it is told before the arguments.
fn reference_call(kernel: &KernelSpec) -> (TokenStream, TokenStream) {
    let Some(cipher) = &kernel.cipher else {
        if let Some(operation) = kernel.kernel.strip_prefix("mont.") {
            let own = format_ident!("{operation}");
            return (quote!(::kiln_kernels::reference::mont::#own), TokenStream::new());
        }
        if let Some(own) = kernel.kernel.strip_prefix(kiln_codegen::family::table::STEM) {
            // One for all numbers of entries: a read finds it by the lengths.
            let (own, entries) = own.rsplit_once("_x").unwrap_or((own, ""));
            let stores = own.starts_with("store");
            let entries = stores.then(|| entries.parse::<usize>().expect("the family knows it"));
            let entries = entries.map_or(TokenStream::new(), |entries| quote!(#entries,));
            let own = format_ident!("{own}");
            return (quote!(::kiln_kernels::reference::table::#own), entries);
        }
        let own = format_ident!("{}", symbol(&kernel.kernel));
        return (quote!(::kiln_kernels::reference::#own), TokenStream::new());
    };
    let name = kernel.kernel.value.as_str();
    let (family, operation) = name.split_once('.').unwrap_or((name, ""));
    match &cipher.mode {
        None => {
            let own = format_ident!("{operation}");
            (quote!(::kiln_kernels::reference::aes::#own), TokenStream::new())
        }
        Some(mode) => {
            let own = match (mode.chained(), family.ends_with("_sliced")) {
                (false, false) => format_ident!("blocks"),
                (true, false) => format_ident!("chain"),
                (false, true) => format_ident!("sliced_blocks"),
                (true, true) => format_ident!("sliced_chain"),
            };
            let cipher = cipher_row(cipher);
            (quote!(::kiln_kernels::reference::aes::#own), quote!(&#cipher,))
        }
    }
}

fn argument_row(kernel: &KernelSpec, argument: &kiln_codegen::spec::Argument, bits: u32) -> TokenStream {
    let index_of = |name: &str| kernel.arguments.iter().position(|other| other.name.value == name).expect("checked");
    let align = match &argument.kind {
        ArgumentKind::Bytes { align, .. } => *align as usize,
        ArgumentKind::Limbs { .. } => bits as usize / 8,
        ArgumentKind::Count { .. } | ArgumentKind::Limb => 1,
    };
    let kind = match &argument.kind {
        ArgumentKind::Limbs { length } | ArgumentKind::Bytes { length, .. } => {
            let bits = if matches!(argument.kind, ArgumentKind::Bytes { .. }) { 8 } else { bits };
            let terms = length.terms.iter().map(|(count, times)| {
                let (count, times) = (index_of(count), u64::from(*times));
                quote!((#count, #times))
            });
            let plus = u64::from(length.plus);
            quote!(Limbs {
                bits: #bits,
                length: ::kiln_kernels::catalogue::Length { terms: &[#(#terms),*], plus: #plus },
            })
        }
        ArgumentKind::Count { min, max } => quote!(Count { min: #min, max: #max }),
        ArgumentKind::Limb => quote!(Limb { bits: #bits }),
    };
    let access = match argument.access {
        Access::In => quote!(In),
        Access::Out => quote!(Out),
        Access::InOut => quote!(InOut),
        Access::Scratch => quote!(Scratch),
    };
    let may_equal = argument.may_equal.iter().map(|name| index_of(name));
    let domain = match &argument.domain {
        Domain::Any => quote!(Any),
        Domain::Normalised => quote!(Normalised),
        Domain::Below(other) => {
            let other = index_of(other);
            quote!(Below(#other))
        }
        Domain::ReciprocalOf(other) => {
            let other = index_of(other);
            quote!(ReciprocalOf(#other))
        }
        Domain::MontgomeryModulus => quote!(MontgomeryModulus),
        Domain::EntryOf(entries) => {
            let entries = u64::from(*entries);
            quote!(EntryOf(#entries))
        }
        Domain::SlicedRoundKeys => quote!(SlicedRoundKeys),
    };
    let (name, secret) = (&argument.name.value, argument.secret);
    quote!(::kiln_kernels::catalogue::Argument {
        name: #name,
        kind: ::kiln_kernels::catalogue::ArgumentKind::#kind,
        access: ::kiln_kernels::catalogue::Access::#access,
        align: #align,
        may_equal: &[#(#may_equal),*],
        domain: ::kiln_kernels::catalogue::Domain::#domain,
        secret: #secret,
    })
}

/// The name of a variant's function in its kernel's module.
fn function_name(variant: &Compiled<'_>) -> Ident {
    let own = variant.plan.name.split_once('/').map_or(variant.plan.name.as_str(), |(_, own)| own);
    format_ident!("{}", symbol(own))
}

fn variant_row(variant: &Compiled<'_>) -> TokenStream {
    let (name, strategy, startup) = (&variant.plan.name, &variant.plan.strategy.name.value, variant.plan.startup);
    let features: Vec<&str> = variant.features.names();
    let (hash, instructions, function) = (&variant.code_hash, variant.instructions, function_name(variant));
    let exact = match variant.plan.parameters.exact() {
        Some(limbs) => {
            let limbs = u64::from(limbs);
            quote!(Some(#limbs))
        }
        None => quote!(None),
    };
    let (origin, gate) = match variant.form {
        Form::Portable => (quote!(Portable), None),
        Form::Machine(_) => (quote!(Compiled), Some(quote!(#[cfg(target_arch = "x86_64")]))),
    };
    quote! {
        // SAFETY: the function was generated for this kernel's contract; its manifest is computed from its instructions.
        #gate
        unsafe { ::kiln_kernels::catalogue::Variant::new(::kiln_kernels::catalogue::VariantParts {
            name: #name,
            strategy: #strategy,
            origin: ::kiln_kernels::catalogue::Origin::#origin,
            features: &[#(#features),*],
            exact: #exact,
            startup: #startup,
            entry: ::kiln_kernels::catalogue::Entry::new(#function as *const ::core::ffi::c_void),
            code_hash: #hash,
            instructions: #instructions,
        }) }
    }
}

fn variant_item(
    kernel: &KernelSpec,
    variant: &Compiled<'_>,
    raw: &[Raw],
    returns: &Option<TokenStream>,
) -> TokenStream {
    let (name, banner) = (function_name(variant), banner(variant));
    match &variant.form {
        Form::Machine(func) => {
            let item = rust_naked::item(func, &name.to_string(), &banner);
            quote!(#[cfg(target_arch = "x86_64")] #item)
        }
        Form::Portable => {
            let safe = format!("{name}_safe");
            let items = rust_portable::items(&variant.func, &safe, &banner);
            let (distinct, in_place) = (&items.distinct, items.in_place.iter().map(|in_place| &in_place.item));
            let limb_bytes = variant.func.limb_bits as usize / 8;
            let body = Body::Safe { safe: &safe, in_place: &items.in_place, limb_bytes };
            let entry = wrapper(kernel, raw, returns, &name, &body);
            quote!(#distinct #(#in_place)* #entry)
        }
    }
}

/// What a raw entry over safe Rust calls.
enum Body<'a> {
    /// The plain reference; arguments that may share written memory go through copies when one does.
    Reference(&'a [(u8, u8)]),
    /// Generated functions.
    Safe { safe: &'a str, in_place: &'a [rust_portable::InPlace], limb_bytes: usize },
}

/// A raw entry that makes slices of its pointers and calls safe Rust.
fn wrapper(
    kernel: &KernelSpec,
    raw: &[Raw],
    returns: &Option<TokenStream>,
    name: &Ident,
    body: &Body<'_>,
) -> TokenStream {
    let ident = |name: &str| format_ident!("{name}");
    // Generated functions read bytes as limbs, references as bytes.
    let limb_bytes = match body {
        Body::Safe { limb_bytes, .. } => *limb_bytes,
        Body::Reference(_) => 1,
    };
    // Each argument of the safe call, with its index; counts are the slices' lengths.
    let passed: Vec<(u8, TokenStream)> = (0u8..)
        .zip(&kernel.arguments)
        .filter_map(|(index, argument)| {
            let own = ident(&argument.name.value);
            match &argument.kind {
                ArgumentKind::Limbs { length } | ArgumentKind::Bytes { length, .. } => {
                    let in_bytes = matches!(argument.kind, ArgumentKind::Bytes { .. });
                    let by = if in_bytes { limb_bytes } else { 1 };
                    let own = if by > 1 { quote!(#own.cast::<[u8; #by]>()) } else { quote!(#own) };
                    let terms = length.terms.iter().map(|(count, times)| {
                        let (count, times) = (ident(count), *times as usize / by);
                        if times == 1 { quote!(#count) } else { quote!(#times * #count) }
                    });
                    let plus = length.plus as usize / by;
                    let plus = (plus > 0 || length.terms.is_empty()).then_some(plus);
                    let terms = terms.chain(plus.map(|plus| quote!(#plus)));
                    let count = quote!(#(#terms)+*);
                    Some((
                        index,
                        if argument.access == Access::In {
                            quote!(unsafe { ::core::slice::from_raw_parts(#own, #count) })
                        } else {
                            quote!(unsafe { ::core::slice::from_raw_parts_mut(#own, #count) })
                        },
                    ))
                }
                ArgumentKind::Count { .. } => None,
                ArgumentKind::Limb => Some((index, quote!(#own))),
            }
        })
        .collect();
    let equal = |(reader, writer): &(u8, u8)| {
        let (reader, writer) = (&raw[usize::from(*reader)].name, &raw[usize::from(*writer)].name);
        quote!(::core::ptr::eq(#reader, #writer.cast_const()))
    };
    let all = passed.iter().map(|(_, value)| value);
    let dispatch = match body {
        Body::Reference(sharing) => {
            let (call, told) = reference_call(kernel);
            let shares = |index: u8| sharing.iter().any(|(reader, _)| *reader == index);
            let copies = passed.iter().filter(|(index, _)| shares(*index)).map(|(index, value)| {
                let name = &raw[usize::from(*index)].name;
                quote!(let #name = #value.to_vec();)
            });
            let copied = passed.iter().map(|(index, value)| {
                let name = &raw[usize::from(*index)].name;
                if shares(*index) { quote!(&#name) } else { value.clone() }
            });
            let equal = sharing.iter().map(equal);
            quote! {
                if false #(|| #equal)* {
                    #(#copies)*
                    #call(#told #(#copied),*)
                } else {
                    #call(#told #(#all),*)
                }
            }
        }
        Body::Safe { safe, in_place, .. } => {
            let call = ident(safe);
            let ways = in_place.iter().map(|way| {
                let (call, equal) = (ident(&way.ident), way.shares.iter().map(equal));
                let own = passed.iter().filter(|(index, _)| way.shares.iter().all(|(reader, _)| reader != index));
                let own = own.map(|(_, value)| value);
                quote!(if #(#equal)&&* { #call(#(#own),*) } else)
            });
            quote!(#(#ways)* { #call(#(#all),*) })
        }
    };
    let parameters: Vec<_> = raw
        .iter()
        .map(|raw| {
            let (name, ty) = (&raw.name, &raw.ty);
            quote!(#name: #ty)
        })
        .collect();
    let doc = "# Safety\nThe pointers are valid for the count, aligned, and overlap only as the contract says.";
    let function = |abi: &str, gate: TokenStream| {
        quote! {
            #[doc = #doc]
            #gate
            pub unsafe extern #abi fn #name(#(#parameters),*) #returns {
                // SAFETY: in this body every slice is made from a pointer and a count that the caller vouches for; equal
                // pointers are made into one slice, never into two.
                #dispatch
            }
        }
    };
    let x86 = function("sysv64", quote!(#[cfg(target_arch = "x86_64")]));
    let other = function("C", quote!(#[cfg(not(target_arch = "x86_64"))]));
    quote!(#x86 #other)
}
