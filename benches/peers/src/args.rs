//! The command line: words in, [`Args`] out. Does nothing.

use clap::Parser;

/// What was asked for.
#[derive(Debug, Parser)]
#[command(
    name = "kiln-peers",
    version,
    about = "Races Kiln's limb kernels against those of GMP, OpenSSL, AWS-LC and s2n-bignum, in one interleaved run.",
    after_help = "Exit status: 0 done, 1 a function failed its check, 2 wrong usage.",
    max_term_width = 100
)]
pub struct Args {
    /// Kernel to race; may be repeated; every one of the table if not given
    #[arg(long = "kernel", value_name = "KERNEL")]
    pub kernels: Vec<String>,
    /// Lengths in limbs [default: 8,16,32,64,128 for rows, 8,16,32 for products]
    #[arg(long, value_name = "N,N…", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=65536))]
    pub sizes: Vec<u64>,
    /// How often everything is raced, some time apart; the calmest time counts, for all in it
    #[arg(long, value_name = "P", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub passes: u32,
    /// Rounds that count in a pass, for each length
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(3..=100_000))]
    pub rounds: u32,
    /// Race for so long at each length, all passes together, however many rounds that is
    #[arg(long, value_name = "S", conflicts_with = "rounds", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// How often each of Kiln's finalists is placed anew, at other offsets in a page; 0: as it was linked
    #[arg(long, value_name = "K", default_value_t = 8, value_parser = clap::value_parser!(u32).range(0..=64))]
    pub placements: u32,
    /// Length of a window, in microseconds
    #[arg(long, value_name = "US", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub window: u64,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

fn seconds(word: &str) -> Result<f64, String> {
    match word.parse() {
        Ok(seconds @ 0.01..=3600.0) => Ok(seconds),
        Ok(_) | Err(_) => Err("from 0.01 to 3600 seconds".to_owned()),
    }
}
