//! Does each bad spec in `fail/` give exactly the problems that it says it gives, no more and no fewer?

use kiln_codegen::spec::Specs;
use kiln_tests::spec_cases::{Case, cases, check, words};

#[test]
fn each_bad_spec_gives_exactly_its_problems() {
    let cases = cases("fail");
    assert!(cases.len() > 20, "only {} cases were found", cases.len());
    check(&cases, |files| Specs::parse(files, &words()));
}

#[test]
fn problems_come_sorted_by_file_and_place() {
    for Case { name, files, .. } in cases("fail") {
        let Err(problems) = Specs::parse(&files, &words()) else { continue };
        let places: Vec<_> = problems.iter().map(|problem| (&problem.file, problem.line, problem.column)).collect();
        assert!(places.is_sorted(), "{name}: {problems}");
    }
}
