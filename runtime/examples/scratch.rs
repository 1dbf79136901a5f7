use kiln_runtime::{candidate::Candidate, verify::*};
fn main() {
    let cpu = &kiln_runtime::detect::native();
    for kernel in kiln_kernels::kernels() {
        println!("{}", kernel.name);
        for v in kernel.variants {
            let c = Candidate::shipped(v);
            let ver = match verify(kernel, &c, cpu, &Options::default()) {
                Ok(v) => v,
                Err(e) => {
                    println!("{} {e:?}", v.name);
                    continue;
                }
            };
            print!("{:44} {:5}", v.name, v.instructions);
            for &n in kernel.sizes {
                if !ver.serves(n) {
                    print!("       ");
                    continue;
                }
                let mut arena = Arena::for_timing(kernel, n, 1, None).unwrap();
                let mut best = f64::MAX;
                for _ in 0..200 {
                    let t0 = unsafe { core::arch::x86_64::_rdtsc() };
                    arena.repeat(&ver, 20);
                    let t1 = unsafe { core::arch::x86_64::_rdtsc() };
                    best = best.min((t1 - t0) as f64 / 20.0 / n as f64);
                }
                print!(" {best:6.2}");
            }
            println!();
        }
    }
}
