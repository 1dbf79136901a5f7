//! The command line: words in, [`Args`] out. Does nothing.

use clap::{Parser, Subcommand};
use kiln_peers_rust_crypto::setup::Mode;

/// What was asked for.
#[derive(Debug, Parser)]
#[command(
    name = "kiln-peers",
    version,
    about = "Races Kiln against other libraries, in one interleaved run. Without a command: limbs.",
    after_help = "Exit status: 0 done, 1 a function failed its check, 2 wrong usage.",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Args {
    /// What is raced; limbs if not given.
    #[command(subcommand)]
    pub race: Option<Race>,
    /// Of the race of limbs.
    #[command(flatten)]
    pub limb: LimbArgs,
}

/// What is raced.
#[derive(Debug, Subcommand)]
pub enum Race {
    /// Rows and products of limbs: GMP, OpenSSL, AWS-LC, s2n-bignum
    Limb(LimbArgs),
    /// AES on whole buffers: OpenSSL, AWS-LC, RustCrypto
    Aes(AesArgs),
    /// RSA signatures: OpenSSL, AWS-LC, ring, graviola, RustCrypto
    Rsa(RsaArgs),
}

/// How it is measured, whatever is raced.
#[derive(Debug, clap::Args)]
pub struct Measuring {
    /// How often everything is raced, some time apart; the calmest time counts, for all in it
    #[arg(long, value_name = "P", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub passes: u32,
    /// Rounds that count in a pass, for each length
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(3..=100_000))]
    pub rounds: u32,
    /// Race for so long at each length, all passes together, however many rounds that is
    #[arg(long, value_name = "S", conflicts_with = "rounds", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Length of a window, in microseconds
    #[arg(long, value_name = "US", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub window: u64,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// A race of limbs.
#[derive(Debug, clap::Args)]
pub struct LimbArgs {
    /// Kernel to race; may be repeated; every one of the table if not given
    #[arg(long = "kernel", value_name = "KERNEL")]
    pub kernels: Vec<String>,
    /// Lengths in limbs [default: 8,16,32,64,128 for rows, 8,16,32 for products]
    #[arg(long, value_name = "N,N…", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=65536))]
    pub sizes: Vec<u64>,
    /// How often each of Kiln's finalists is placed anew, at other offsets in a page; 0: as it was linked
    #[arg(long, value_name = "K", default_value_t = 8, value_parser = clap::value_parser!(u32).range(0..=64))]
    pub placements: u32,
    /// How it is measured.
    #[command(flatten)]
    pub measuring: Measuring,
}

/// A race of AES.
#[derive(Debug, clap::Args)]
pub struct AesArgs {
    /// Modes to race: ecb-encrypt, ecb-decrypt, cbc-encrypt, cbc-decrypt, ctr, gcm-ctr (its counter of 32 bits alone)
    #[arg(long, value_name = "M,M…", value_delimiter = ',', default_values = Mode::USUAL.map(Mode::word), value_parser = mode)]
    pub modes: Vec<Mode>,
    /// Bits of the key: 128, 192, 256
    #[arg(long, value_name = "B,B…", value_delimiter = ',', default_values = ["128", "192", "256"], value_parser = bits)]
    pub bits: Vec<u32>,
    /// Lengths in bytes, whole blocks of 16
    #[arg(long, value_name = "N,N…", value_delimiter = ',', default_values = ["64", "256", "1024", "8192"], value_parser = bytes)]
    pub bytes: Vec<usize>,
    /// The output goes where the input is
    #[arg(long)]
    pub in_place: bool,
    /// How it is measured.
    #[command(flatten)]
    pub measuring: Measuring,
}

/// A race of RSA. A signature takes so long that it is measured by time alone.
#[derive(Debug, clap::Args)]
pub struct RsaArgs {
    /// Bits of the modulus: 1024, 2048, 3072, 4096
    #[arg(long, value_name = "B,B…", value_delimiter = ',', default_values = ["1024", "2048", "3072", "4096"], value_parser = modulus)]
    pub bits: Vec<u32>,
    /// How often everything is raced, some time apart; the calmest time counts, for all in it
    #[arg(long, value_name = "P", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub passes: u32,
    /// Race for so long at each size and operation, all passes together, or for the few rounds that are needed
    #[arg(long, value_name = "S", default_value_t = 6.0, value_parser = seconds)]
    pub seconds: f64,
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

fn mode(word: &str) -> Result<Mode, String> {
    let words = || Mode::ALL.map(Mode::word).join(", ");
    Mode::ALL.into_iter().find(|mode| mode.word() == word).ok_or_else(|| format!("one of {}", words()))
}

fn bits(word: &str) -> Result<u32, String> {
    match word.parse() {
        Ok(bits @ (128 | 192 | 256)) => Ok(bits),
        Ok(_) | Err(_) => Err("128, 192 or 256".to_owned()),
    }
}

fn modulus(word: &str) -> Result<u32, String> {
    match word.parse() {
        Ok(bits @ (1024 | 2048 | 3072 | 4096)) => Ok(bits),
        Ok(_) | Err(_) => Err("1024, 2048, 3072 or 4096".to_owned()),
    }
}

fn bytes(word: &str) -> Result<usize, String> {
    match word.parse() {
        Ok(bytes @ 16..=0x100_0000) if bytes % 16 == 0 => Ok(bytes),
        Ok(_) | Err(_) => Err("whole blocks of 16 bytes, at most 16 MiB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn without_a_command_limbs_are_raced() {
        let args = Args::parse_from(["kiln-peers", "--kernel", "limb64.mul", "--sizes", "8,16", "--passes", "1"]);
        assert!(args.race.is_none());
        assert_eq!((args.limb.kernels, args.limb.sizes), (vec!["limb64.mul".to_owned()], vec![8, 16]));
        let args = Args::parse_from(["kiln-peers", "limb", "--sizes", "8"]);
        assert!(matches!(args.race, Some(Race::Limb(limb)) if limb.sizes == [8]));
    }

    #[test]
    fn aes_has_its_own_words() {
        let args = Args::parse_from(["kiln-peers", "aes", "--modes", "ctr,gcm-ctr", "--bits", "256", "--in-place"]);
        let Some(Race::Aes(aes)) = args.race else { panic!("{args:?}") };
        assert_eq!((aes.modes, aes.bits, aes.in_place), (vec![Mode::Ctr, Mode::GcmCtr], vec![256], true));
        assert_eq!(aes.bytes, [64, 256, 1024, 8192]);
        for wrong in [["--bits", "64"], ["--bytes", "65"], ["--bytes", "0"], ["--modes", "xts"]] {
            assert!(Args::try_parse_from(["kiln-peers", "aes"].into_iter().chain(wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn rsa_has_its_own_words() {
        let args = Args::parse_from(["kiln-peers", "rsa", "--bits", "2048,4096", "--seconds", "1.5", "--json"]);
        let Some(Race::Rsa(rsa)) = args.race else { panic!("{args:?}") };
        assert_eq!((rsa.bits, rsa.seconds, rsa.json), (vec![2048, 4096], 1.5, true));
        for wrong in [["--bits", "512"], ["--seconds", "0"], ["--passes", "0"], ["--window", "20"]] {
            assert!(Args::try_parse_from(["kiln-peers", "rsa"].into_iter().chain(wrong)).is_err(), "{wrong:?}");
        }
    }
}
