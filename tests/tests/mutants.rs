//! Is each faulty kernel caught by verification, quarantined, reported and never dispatched?

use kiln_runtime::detect::native;
use kiln_runtime::verify::{Options, Rejected, verify};
use kiln_tests::forms;
use kiln_tests::mutants::Mutant;

#[test]
fn the_quick_check_catches_each_mutant_that_returns() {
    for mutant in Mutant::ALL.into_iter().filter(|mutant| !mutant.kills()) {
        let kernel = forms::kernel("limb64.mul_add");
        let candidate = mutant.candidate().expect("executable memory");
        match verify(kernel, &candidate, &native(), &Options::default()) {
            Err(Rejected::Failed(report)) => {
                assert!(report.failed > 0, "{mutant:?}");
                println!("{}: {}", mutant.word(), report.summary().expect("a failure"));
            }
            Err(other) => panic!("{mutant:?} was rejected for another reason: {other:?}"),
            Ok(_) => panic!("{mutant:?} passed verification"),
        }
    }
}
