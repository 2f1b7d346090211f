//! Decompresses the `*.json.gz` files of a folder and throws the bytes away: what of an ingest is inflate.
//!
//! `cargo run --release -p swerl-data --features ingest --example inflate -- EVENTS_DIR` prints bytes
//! and seconds, on one thread. Without the feature `ingest` another decoder is measured.

use std::env;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::time::Instant;

use flate2::bufread::MultiGzDecoder;
use swerl_data::event::gharchive::event_files;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).ok_or("usage: inflate EVENTS_DIR")?;
    let start = Instant::now();
    let mut bytes = 0;
    for path in event_files(Path::new(&folder))? {
        let mut decoder = MultiGzDecoder::new(BufReader::with_capacity(1 << 16, File::open(path)?));
        bytes += io::copy(&mut decoder, &mut io::sink())?;
    }
    println!("{bytes} {:.3}", start.elapsed().as_secs_f64());
    Ok(())
}
