//! Is everything in a folder of specs that is no regular file refused, whatever its name, and is no file lost?

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use kiln_codegen::error::Problems;
use kiln_codegen::spec::{self, SourceFile};
use kiln_tests::tools::{Scratch, run};

/// Reads a folder in another thread, so that a read which never ends fails the test.
fn read(folder: &Path) -> Result<Vec<SourceFile>, Problems> {
    let (sender, receiver) = mpsc::channel();
    let folder = folder.to_owned();
    std::thread::spawn(move || sender.send(spec::read_folder(&folder)));
    receiver.recv_timeout(Duration::from_secs(20)).expect("the folder is read to its end")
}

#[test]
fn only_regular_files_are_read() {
    let scratch = Scratch::new("spec-files-kinds");
    run("mkfifo", &[&scratch.file("pipe.toml")]);
    std::os::unix::fs::symlink("/dev/zero", scratch.file("device.toml")).expect("a link");
    std::os::unix::fs::symlink("nowhere", scratch.file("dangling.toml")).expect("a link");
    std::fs::create_dir_all(scratch.file("folder.toml")).expect("a folder");
    std::fs::write(scratch.file("good.toml"), "features = []\n").expect("a file");
    std::os::unix::fs::symlink("good.toml", scratch.file("link.toml")).expect("a link");
    let problems = read(&scratch.file("")).expect_err("four are no files").to_string();
    let lines: Vec<&str> = problems.lines().map(|line| line.rsplit('/').next().expect("a name")).collect();
    assert_eq!(
        lines,
        [
            "dangling.toml: cannot be read: entity not found",
            "device.toml: is not a regular file",
            "folder.toml: is not a regular file",
            "pipe.toml: is not a regular file",
        ]
    );
    let alone = spec::read_paths(&[scratch.file("pipe.toml")]).expect_err("it is a pipe").to_string();
    assert!(alone.ends_with("pipe.toml: is not a regular file"), "{alone}");
}

#[test]
fn names_that_are_no_text_stay_apart() {
    let scratch = Scratch::new("spec-files-names");
    for (name, text) in [(&b"a\xff.toml"[..], "1"), (b"a\xfe.toml", "2")] {
        std::fs::write(scratch.file("").join(OsStr::from_bytes(name)), text).expect("a file");
    }
    let files = read(&scratch.file("")).expect("both can be read");
    let names: Vec<&str> = files.iter().map(|file| file.path.rsplit('/').next().expect("a name")).collect();
    assert_eq!(names, ["a\\xfe.toml", "a\\xff.toml"]);
    assert_eq!((&files[0].bytes[..], &files[1].bytes[..]), (&b"2"[..], &b"1"[..]));
}
