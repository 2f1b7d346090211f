//! `swerl score`: rows in, scores out, streaming, in order, on all cores.
//!
//! Rows are read in chunks, scored in parallel and written in order, so memory does not grow with
//! the file. A row that cannot be read is reported with its line and counted; whatever the model
//! wrote is scored and never an error.

mod lines;
mod row;
mod summary;
mod text;

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use anyhow::{Context, Result, bail};
use flate2::bufread::MultiGzDecoder;
use rayon::prelude::*;
use swerl::{
    data::{Progress, SeedExample, read_seeds},
    reward::similarity::Matcher,
};

use self::{
    lines::{Line, Lines},
    row::Seeds,
    summary::Summary,
};
use crate::{bar::Bar, cli::ScoreArgs, interrupt::Interrupt, output::Output};

/// What a gzip stream begins with.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// Runs the command.
pub(crate) fn run(args: &ScoreArgs, quiet: bool, interrupt: &Interrupt) -> Result<()> {
    keeps_its_inputs(args)?;
    let seeds = match &args.seeds {
        Some(path) => by_id(read_seeds(path)?, path)?,
        None => Seeds::new(),
    };
    let bar = Bar::bytes(quiet);
    let piped = args.rows == Path::new("-");
    let name = if piped { "standard input".into() } else { args.rows.display().to_string() };
    let unreadable = || format!("cannot read {name}");
    // Whether more may come while a row waits for its answer: from a pipe, by whatever name.
    let (input, mut size, waits): (Box<dyn Read>, u64, bool) = if piped {
        (Box::new(io::stdin()), 0, true)
    } else {
        let file = File::open(&args.rows).with_context(unreadable)?;
        let found = file.metadata().with_context(unreadable)?;
        (Box::new(file), found.len(), !found.is_file())
    };
    let mut input = BufReader::new(input);
    let reader: Box<dyn Read> = if input.fill_buf().with_context(unreadable)?.starts_with(GZIP) {
        // How far it has got is not known in bytes of the file.
        size = 0;
        Box::new(MultiGzDecoder::new(input))
    } else {
        Box::new(input)
    };
    if size > 0 {
        bar.start(size, "scoring");
    } else {
        bar.start_unknown("scoring");
    }

    let mut output = Output::open(args.out.as_deref(), interrupt)?;
    let mut summary = Summary::default();
    let mut lines = Lines::new(reader, waits);
    loop {
        let chunk = lines.chunk().with_context(|| format!("cannot read {name}"))?;
        if chunk.is_empty() {
            break;
        }
        let scored: Vec<_> = chunk
            .par_iter()
            .map_init(Matcher::new, |matcher, line| row::score(matcher, line, &seeds))
            .collect();
        for (line, result) in chunk.iter().zip(scored) {
            match result {
                Ok(None) => {}
                Ok(Some(scored)) => {
                    output.line(&scored.line)?;
                    summary.add(&scored);
                }
                Err(error) => {
                    let message = format!("{name}:{}: {error}", line.number);
                    if args.strict {
                        bail!(message);
                    }
                    summary.unreadable += 1;
                    bar.say(&format!("error: {message}"));
                }
            }
        }
        output.flush()?;
        bar.advance(chunk.iter().map(Line::size).sum());
    }
    if summary.rows == 0 && summary.unreadable == 0 {
        bail!("{name}: no rows");
    }
    output.finish()?;
    bar.finish();
    summary.print(args.json, args.out.is_some())?;
    if summary.unreadable > 0 {
        bail!(
            "{name}: {} of {} rows could not be read",
            summary.unreadable,
            summary.unreadable + summary.rows
        );
    }
    Ok(())
}

/// The scores must not take the place of what they are made from.
fn keeps_its_inputs(args: &ScoreArgs) -> Result<()> {
    let place = |path: &Path| path.canonicalize().ok();
    let Some(out) = args.out.as_deref().and_then(place) else { return Ok(()) };
    let mut inputs = [Some(&args.rows), args.seeds.as_ref()].into_iter().flatten();
    if let Some(input) = inputs.find(|input| place(input).as_ref() == Some(&out) && out.is_file()) {
        bail!("{}: --out would overwrite what is read; name another file", input.display());
    }
    Ok(())
}

fn by_id(seeds: Vec<SeedExample>, path: &Path) -> Result<Seeds> {
    let mut map = BTreeMap::new();
    for seed in seeds {
        let id = seed.id.clone();
        if map.insert(id.clone(), seed).is_some() {
            bail!("{}: the seed {id} is there twice", path.display());
        }
    }
    Ok(map)
}
