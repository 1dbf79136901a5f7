//! Does a child that crashes, hangs or babbles cost its own item and no other? This program is parent and child.

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod common;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("--child") => isolated::child(),
        Some("--dies-at-once") => std::process::exit(3),
        Some("--babbles-at-once") => println!("hello"),
        Some("--hangs-at-once") => loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        },
        // Whatever arguments a test runner gives.
        _ => isolated::parent(),
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod isolated {
    use std::io::Write;
    use std::time::Duration;

    use kiln_kernels::catalogue::{Kernel, Variant};
    use kiln_runtime::candidate::Candidate;
    use kiln_runtime::detect;
    use kiln_runtime::isolate::{CannotStart, Cause, Program, Verdict, run, serve};
    use kiln_runtime::verify::{Depth, Options, verify};

    use super::common::*;

    static VARIANTS: [Variant; 6] = [PORTABLE, CRASHES, RIGHT, HANGS, WRONG_AT_9, OVER_READS];
    static KERNEL: Kernel = kernel(&VARIANTS);

    pub fn child() {
        let options = Options { guard_pages: true, depth: Depth::Full { cases: 1 }, ..Options::default() };
        let answered = serve(|items| {
            if items.first() == Some(&"a slow start") {
                // Past the limit of an item, and no item's fault.
                std::thread::sleep(LIMIT + LIMIT / 2);
            }
            move |item: &str| match item {
                "exits" => std::process::exit(0),
                "babbles" => {
                    // Past the lock of `serve`, as a kernel gone wild would.
                    let mut output = std::fs::File::options().write(true).open("/proc/self/fd/1").unwrap();
                    output.write_all(b"\xff\xfe no answer\n").unwrap();
                    String::new()
                }
                "half a line" => {
                    let mut output = std::fs::File::options().write(true).open("/proc/self/fd/1").unwrap();
                    output.write_all(b"kiln-done 0 and th").unwrap();
                    std::process::abort();
                }
                "two\tlines" => "first\nsecond".to_owned(),
                name => match KERNEL.variants.iter().find(|variant| variant.name == name) {
                    None => "unknown".to_owned(),
                    Some(variant) => match verify(&KERNEL, &Candidate::shipped(variant), &detect::native(), &options) {
                        Ok(_) => "ok".to_owned(),
                        Err(rejected) => rejected.to_string(),
                    },
                },
            }
        });
        answered.expect("the parent listens");
    }

    const LIMIT: Duration = Duration::from_millis(1500);

    fn program(argument: &str) -> Program {
        Program::this(vec![argument.into()], LIMIT).unwrap()
    }

    fn quarantined(verdict: &Verdict) -> &Cause {
        match verdict {
            Verdict::Quarantined(cause) => cause,
            Verdict::Finished(answer) => panic!("finished: {answer}"),
        }
    }

    pub fn parent() {
        // Every kind of ending, each followed by an item that must not suffer.
        let mut items: Vec<String> = KERNEL.variants.iter().map(|variant| variant.name.to_owned()).collect();
        for item in ["exits", "ok?", "babbles", "ok?", "half a line", "two\tlines"] {
            items.push(item.to_owned());
        }
        let mut seen = Vec::new();
        let verdicts = run(&program("--child"), &items, &mut |item, _| seen.push(item.to_owned())).unwrap();
        assert_eq!(seen, items);
        let finished = |text: &str| Verdict::Finished(text.to_owned());
        assert_eq!(verdicts[0], finished("ok"));
        assert_eq!(quarantined(&verdicts[1]).to_string(), "crashed with SIGSEGV");
        assert_eq!(verdicts[2], finished("ok"));
        assert_eq!(quarantined(&verdicts[3]).to_string(), "did not finish within 1500 ms");
        assert!(matches!(&verdicts[4], Verdict::Finished(text) if text.starts_with("wrong result in r at n = 9")));
        // Nothing but the guard page sees a read past the end.
        assert_eq!(quarantined(&verdicts[5]).to_string(), "crashed with SIGSEGV");
        assert_eq!(quarantined(&verdicts[6]), &Cause::Exited(Some(0)));
        assert_eq!(verdicts[7], finished("unknown"));
        assert!(matches!(quarantined(&verdicts[8]), Cause::Garbage(text) if text.ends_with("no answer")));
        assert_eq!(verdicts[9], finished("unknown"));
        assert_eq!(quarantined(&verdicts[10]).to_string(), "crashed with SIGABRT");
        assert_eq!(verdicts[11], finished("first second"));

        // A child that never gets as far as working accuses no item.
        let items = ["a".to_owned()];
        let start = |argument| run(&program(argument), &items, &mut |_, _| ()).unwrap_err();
        assert_eq!(start("--dies-at-once"), CannotStart::NotReady(Cause::Exited(Some(3))));
        assert!(matches!(start("--babbles-at-once"), CannotStart::NotReady(Cause::Garbage(_))));
        let hangs = Program { start_limit: LIMIT, ..program("--hangs-at-once") };
        assert_eq!(run(&hangs, &items, &mut |_, _| ()), Err(CannotStart::NotReady(Cause::TimedOut(LIMIT))));
        // One that gets ready for longer than an item may take.
        let slow = ["a slow start".to_owned()];
        assert_eq!(run(&program("--child"), &slow, &mut |_, _| ()).unwrap(), [finished("unknown")]);
        let nowhere = Program { path: "/nonexistent".into(), ..program("--child") };
        assert!(matches!(run(&nowhere, &items, &mut |_, _| ()), Err(CannotStart::System(_))));
        let broken = ["a\nb".to_owned()];
        assert!(matches!(run(&program("--child"), &broken, &mut |_, _| ()), Err(CannotStart::LineBreak(_))));

        // More items than a pipe holds.
        let many: Vec<String> = (0..20_000).map(|i| format!("item {i}")).collect();
        assert_eq!(run(&program("--child"), &many, &mut |_, _| ()).unwrap().len(), many.len());
        println!("isolate: ok");
    }
}
