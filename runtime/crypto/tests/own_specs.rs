//! Whether `kiln::tune` knows the kernels of the operator's folder, as a first use does.

use std::path::Path;
use std::process::Command;

use kiln_kernels::limb::LIMB64_MUL_ADD;

const OWN: &str = "limb64.mul_add/mul.u3";

/// The test runs itself again with the overrides: a process reads them once.
#[test]
#[cfg_attr(not(all(target_arch = "x86_64", unix)), ignore = "kernels are made at run time on x86-64 Unix alone")]
fn a_variant_of_the_folder_takes_part() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own_specs");
    if std::env::var_os("KILN_SPECS").is_none_or(|set| set != folder.as_os_str()) {
        std::fs::create_dir_all(folder.join("kernels")).expect("a folder");
        let strategy = "name = \"mul\"";
        let (start, own) = LIMB64_MUL_ADD.spec_text.split_once(strategy).expect("the strategy mul");
        let own = own.replacen("unroll = [", "unroll = [3, ", 1);
        std::fs::write(folder.join("kernels/row.toml"), format!("{start}{strategy}{own}")).expect("a file");
        let output = Command::new(std::env::current_exe().expect("this program"))
            .env("KILN_SPECS", &folder)
            .env("KILN_FORCE", OWN.replacen('/', "=", 1))
            .env_remove("KILN_MACHINE_CODE")
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let decided = kiln::tune(Some(std::time::Duration::from_millis(1)));
    for case in &decided["limb64.mul_add"] {
        assert_eq!(case.chosen, OWN, "{:?}", case.notes);
    }
}
