use kiln_codegen::family::Lowering;
use kiln_codegen::ir::{interpret::*, taint, wellformed};
use kiln_codegen::spec::{Specs, read_folder};
fn main() {
    let files = read_folder(std::path::Path::new("specs")).unwrap();
    let specs = Specs::parse(&files, &kiln_codegen::vocabulary(&[])).unwrap();
    for plan in kiln_codegen::plan::plans(&specs).unwrap() {
        let lower = plan.contract.strategy(&plan.strategy.name).unwrap();
        let f = lower(plan.contract, &Lowering { name: &plan.name, arguments: &plan.arguments, parameters: plan.parameters });
        println!("{} {:?} {:?} {:?}", plan.name, wellformed::check(&f).map_err(|e| e.iter().map(|x| x.to_string()).collect::<Vec<_>>()), taint::check(&f), f.features());
        let n = f.exact.unwrap_or(13) as usize;
        if f.limb_bits == 64 {
            let r: Vec<u64> = (0..n as u64).map(|i| u64::MAX - i).collect();
            let a: Vec<u64> = (0..n as u64).map(|i| u64::MAX ^ i << 7).collect();
            let out = run(&f, &Call::new(vec![Argument::limbs64(&r), Argument::limbs64(&a), Argument::Integer(n as u64), Argument::Integer(u64::MAX)]));
            let mut e = r.clone(); let mut c = 0u128;
            for (x, y) in e.iter_mut().zip(&a) { let t = *x as u128 + *y as u128 * u64::MAX as u128 + c; *x = t as u64; c = t >> 64; }
            match out { Ok(o) => assert_eq!((o.limbs64(0), o.returned), (e, Some(c as u64))), Err(f) => println!("   {f}") }
        }
        if plan.name.contains("portable.u4") { let i = kiln_codegen::backend::rust_portable::items(&f, "x", "b"); let file: syn::File = syn::parse2(i.distinct).unwrap(); println!("{}", prettyplease::unparse(&file)); let file: syn::File = syn::parse2(i.in_place.unwrap()).unwrap(); println!("{}", prettyplease::unparse(&file)); }
    }
}
