//! Does generating twice, in two folders, give identical bytes?

use kiln_codegen::backend::banner::banner;
use kiln_codegen::backend::{machine, rust_naked, rust_portable};
use kiln_codegen::compile::{Form, compile};
use kiln_codegen::spec::{Specs, read_folder};
use std::path::{Path, PathBuf};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("kiln-determinism-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn copy_specs(to: &Path) {
    for kind in ["kernels", "cpus"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs").join(kind);
        std::fs::create_dir_all(to.join(kind)).expect("a folder");
        for file in std::fs::read_dir(from).expect("the specs") {
            let file = file.expect("an entry");
            std::fs::copy(file.path(), to.join(kind).join(file.file_name())).expect("a copy");
        }
    }
}

fn generate(folder: &Path) -> Vec<(String, String, Vec<u8>)> {
    let files = read_folder(folder).expect("readable");
    let specs = Specs::parse(&files, &kiln_codegen::vocabulary(&[])).expect("valid");
    let compiled = compile(&specs).expect("compiles");
    let output = compiled.iter().map(|variant| {
        let banner = banner(variant);
        let (text, bytes) = match &variant.form {
            Form::Machine(func) => {
                let item = rust_naked::item(func, "kernel", &banner).to_string();
                (item, machine::assemble(func).expect("encodes"))
            }
            Form::Portable => {
                let items = rust_portable::items(&variant.func, "kernel", &banner);
                let in_place: Vec<_> = items.in_place.iter().map(|way| way.item.to_string()).collect();
                (format!("{} {in_place:?}", items.distinct), Vec::new())
            }
        };
        (variant.plan.name.clone(), text, bytes)
    });
    output.collect()
}

#[test]
fn two_folders_one_output() {
    let (first, second) = (Folder::new("a"), Folder::new("another-name"));
    copy_specs(&first.0);
    copy_specs(&second.0);
    let (one, two) = (generate(&first.0), generate(&second.0));
    assert!(one.len() > 40, "the shipped variants");
    assert_eq!(one, two);
}
