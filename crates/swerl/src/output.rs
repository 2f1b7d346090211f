//! Where results go: standard output, or a file that appears whole or not at all.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Stdout, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::interrupt::Interrupt;

/// A destination for lines.
#[derive(Debug)]
pub(crate) enum Output {
    /// Standard output.
    Stdout(BufWriter<Stdout>),
    /// A file.
    File(Aside),
    /// A device or a pipe, which cannot be replaced: `/dev/null`, `>(gzip)`.
    Stream(BufWriter<File>, PathBuf),
}

/// A file written as `NAME.tmp`; [`Output::finish`] gives it its name, dropping removes it.
#[derive(Debug)]
pub(crate) struct Aside {
    /// `None` once finished.
    writer: Option<BufWriter<File>>,
    aside: PathBuf,
    path: PathBuf,
    interrupt: Interrupt,
}

impl Output {
    /// Opens `path`, or standard output without one.
    pub(crate) fn open(path: Option<&Path>, interrupt: &Interrupt) -> Result<Self> {
        match path {
            None => Ok(Self::Stdout(BufWriter::new(io::stdout()))),
            Some(path) => match fs::metadata(path) {
                Ok(found) if found.is_dir() => bail!("{}: is a folder", cannot_write(path)),
                Ok(found) if !found.is_file() => {
                    let stream = File::options().write(true).open(path);
                    let stream = stream.with_context(|| cannot_write(path))?;
                    Ok(Self::Stream(BufWriter::new(stream), path.to_path_buf()))
                }
                // The file that a link leads to is replaced, not the link.
                Ok(_) => {
                    let path = path.canonicalize().with_context(|| cannot_write(path))?;
                    Aside::create(&path, interrupt).map(Self::File)
                }
                Err(_) => Aside::create(path, interrupt).map(Self::File),
            },
        }
    }

    /// Writes one line.
    pub(crate) fn line(&mut self, line: &str) -> Result<()> {
        match self {
            Self::Stdout(out) => writeln!(out, "{line}").context("cannot write standard output"),
            Self::Stream(out, path) => writeln!(out, "{line}").with_context(|| cannot_write(path)),
            Self::File(Aside { writer, path, .. }) => {
                let writer = writer.as_mut().expect("no line comes after finish");
                writeln!(writer, "{line}").with_context(|| cannot_write(path))
            }
        }
    }

    /// Where bytes go.
    pub(crate) fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Stdout(out) => out,
            Self::Stream(out, _) => out,
            Self::File(Aside { writer, .. }) => {
                writer.as_mut().expect("nothing comes after finish")
            }
        }
    }

    /// Shows a reader of standard output or a pipe all that was written so far.
    pub(crate) fn flush(&mut self) -> Result<()> {
        match self {
            Self::Stdout(out) => out.flush().context("cannot write standard output"),
            Self::Stream(out, path) => out.flush().with_context(|| cannot_write(path)),
            Self::File(_) => Ok(()),
        }
    }

    /// Completes the output; a file appears under its name now.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush()?;
        match self {
            Self::Stdout(_) | Self::Stream(..) => Ok(()),
            Self::File(mut file) => file.finish().with_context(|| cannot_write(&file.path)),
        }
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

impl Aside {
    fn create(path: &Path, interrupt: &Interrupt) -> Result<Self> {
        let name = path
            .file_name()
            .with_context(|| format!("{}: the path names no file", path.display()))?;
        let mut aside_name = name.to_owned();
        aside_name.push(".tmp");
        let aside = path.with_file_name(aside_name);
        let _guard = interrupt.begin(&aside);
        let file = File::create(&aside).with_context(|| cannot_write(path))?;
        Ok(Self {
            writer: Some(BufWriter::new(file)),
            aside,
            path: path.to_path_buf(),
            interrupt: interrupt.clone(),
        })
    }

    fn finish(&mut self) -> io::Result<()> {
        let mut writer = self.writer.take().expect("finish comes once");
        let _guard = self.interrupt.end();
        let written = writer
            .flush()
            .and_then(|()| writer.get_ref().sync_all())
            .and_then(|()| fs::rename(&self.aside, &self.path));
        if written.is_err() {
            // The first error is the one to report.
            let _ = fs::remove_file(&self.aside);
        }
        written
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            let _guard = self.interrupt.end();
            // The error that led here is reported; this one has no reader.
            let _ = fs::remove_file(&self.aside);
        }
    }
}

/// A line on standard output.
pub(crate) fn print_line(line: &str) -> Result<()> {
    writeln!(io::stdout(), "{line}").context("cannot write standard output")
}

/// A line on standard error. Where nobody reads it there is nobody to tell.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Whether the reader of standard output went away.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
