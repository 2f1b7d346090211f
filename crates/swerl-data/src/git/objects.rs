//! Reading objects through two long-lived `git cat-file` processes: one tells kinds and sizes,
//! so that a huge blob is refused before it is read, the other gives contents.

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::sync::Arc;

use super::{Process, Repository};
use crate::error::DataError;
use crate::ids::ObjectId;

/// Requests sent before their answers are read: few enough to fit any pipe's buffer.
const IN_FLIGHT: usize = 64;
/// Larger commits are taken for missing, in bytes: messages are short.
const LARGEST_COMMIT: u64 = 1 << 20;
/// Larger folders are taken for missing, in bytes.
const LARGEST_TREE: u64 = 64 << 20;
/// Bytes of trees kept in memory.
const CACHE_LIMIT: usize = 32 << 20;

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// A commit.
    Commit,
    /// A folder.
    Tree,
    /// A file's content.
    Blob,
    /// An annotated tag.
    Tag,
}

/// An object's kind and content.
pub type Object = (ObjectKind, Vec<u8>);

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// `0o100644`, `0o100755`, `0o040000`, `0o120000`, `0o160000`, ...
    pub mode: u32,
    /// Its name, any bytes but NUL and `/`.
    pub name: Vec<u8>,
    /// What it points to.
    pub id: ObjectId,
}

impl TreeEntry {
    /// Whether it is a folder.
    #[must_use]
    pub fn is_tree(&self) -> bool {
        self.mode == 0o040_000
    }

    /// Whether it is a regular file, executable or not.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.mode & 0o170_000 == 0o100_000
    }
}

/// A commit's fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its root folder.
    pub tree: ObjectId,
    /// `Name <address>` of its author.
    pub author: String,
    /// When it was committed, in seconds since 1970.
    pub committed: i64,
    /// Its message; bytes that are not UTF-8 are replaced.
    pub message: String,
}

/// Reads the objects of one repository.
pub struct Objects {
    repository: Repository,
    infos: Process,
    contents: Process,
    /// Only looked up, never iterated.
    trees: HashMap<ObjectId, Arc<Vec<TreeEntry>>>,
    cached: usize,
}

impl Objects {
    /// Starts the two processes.
    ///
    /// # Errors
    /// If git cannot be started.
    pub fn open(repository: &Repository) -> Result<Self, DataError> {
        Ok(Self {
            infos: repository.start(&["cat-file", "--batch-check"], None)?,
            contents: repository.start(&["cat-file", "--batch"], None)?,
            repository: repository.clone(),
            trees: HashMap::new(),
            cached: 0,
        })
    }

    /// Kind and size in bytes of each object; `None` where the repository lacks it.
    ///
    /// # Errors
    /// If git fails.
    pub fn info(&mut self, ids: &[ObjectId]) -> Result<Vec<Option<(ObjectKind, u64)>>, DataError> {
        let mut found = Vec::with_capacity(ids.len());
        for batch in ids.chunks(IN_FLIGHT) {
            self.infos.write(&request(batch))?;
            for _ in batch {
                found.push(header(&mut self.infos, &self.repository)?);
            }
        }
        Ok(found)
    }

    /// The contents of each object; `None` where the repository lacks it. Ask [`Self::info`]
    /// first: sizes are not limited here.
    ///
    /// # Errors
    /// If git fails.
    pub fn read(&mut self, ids: &[ObjectId]) -> Result<Vec<Option<Object>>, DataError> {
        self.read_up_to(ids, u64::MAX)
    }

    /// [`Self::read`] that passes over larger contents without keeping them.
    fn read_up_to(
        &mut self,
        ids: &[ObjectId],
        largest: u64,
    ) -> Result<Vec<Option<Object>>, DataError> {
        let mut found = Vec::with_capacity(ids.len());
        for batch in ids.chunks(IN_FLIGHT) {
            self.contents.write(&request(batch))?;
            for _ in batch {
                let Some((kind, size)) = header(&mut self.contents, &self.repository)? else {
                    found.push(None);
                    continue;
                };
                if size > largest {
                    let out = &mut self.contents.out;
                    let passed = std::io::copy(&mut out.take(size + 1), &mut std::io::sink());
                    passed.map_err(|source| self.contents.pipe_error(source))?;
                    found.push(None);
                    continue;
                }
                let size = usize::try_from(size).unwrap_or(usize::MAX);
                let mut bytes = vec![0; size];
                let mut end = [0];
                let read = self.contents.out.read_exact(&mut bytes);
                let read = read.and_then(|()| self.contents.out.read_exact(&mut end));
                read.map_err(|source| self.contents.pipe_error(source))?;
                found.push(Some((kind, bytes)));
            }
        }
        Ok(found)
    }

    /// Each object as a commit; `None` where it is missing or something else.
    ///
    /// # Errors
    /// If git fails.
    pub fn commits(&mut self, ids: &[ObjectId]) -> Result<Vec<Option<Commit>>, DataError> {
        let objects = self.read_up_to(ids, LARGEST_COMMIT)?;
        Ok(objects
            .into_iter()
            .map(|object| match object {
                Some((ObjectKind::Commit, bytes)) => parse_commit(&bytes),
                _ => None,
            })
            .collect())
    }

    /// The entries of a folder in git's order; `None` where it is missing or no folder. Folders
    /// are kept in memory: most pull requests share most of them.
    ///
    /// # Errors
    /// If git fails.
    pub fn tree(&mut self, id: ObjectId) -> Result<Option<Arc<Vec<TreeEntry>>>, DataError> {
        if let Some(tree) = self.trees.get(&id) {
            return Ok(Some(Arc::clone(tree)));
        }
        let Some(Some((ObjectKind::Tree, bytes))) = self.read_up_to(&[id], LARGEST_TREE)?.pop()
        else {
            return Ok(None);
        };
        let Some(entries) = parse_tree(&bytes, id.as_bytes().len()) else { return Ok(None) };
        if self.cached + bytes.len() > CACHE_LIMIT {
            self.trees.clear();
            self.cached = 0;
        }
        self.cached += bytes.len();
        let entries = Arc::new(entries);
        self.trees.insert(id, Arc::clone(&entries));
        Ok(Some(entries))
    }

    /// The entry at `path` below the folder `root`; the path is taken apart at `/`.
    ///
    /// # Errors
    /// If git fails.
    pub fn entry(&mut self, root: ObjectId, path: &str) -> Result<Option<TreeEntry>, DataError> {
        let mut folder = root;
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            let Some(entries) = self.tree(folder)? else { return Ok(None) };
            let Some(entry) = entries.iter().find(|entry| entry.name == part.as_bytes()) else {
                return Ok(None);
            };
            if parts.peek().is_none() {
                return Ok(Some(entry.clone()));
            }
            if !entry.is_tree() {
                return Ok(None);
            }
            folder = entry.id;
        }
        Ok(None)
    }
}

fn request(ids: &[ObjectId]) -> Vec<u8> {
    ids.iter().flat_map(|id| format!("{id}\n").into_bytes()).collect()
}

/// Reads `<id> <kind> <size>` or `<id> missing`.
fn header(
    process: &mut Process,
    repository: &Repository,
) -> Result<Option<(ObjectKind, u64)>, DataError> {
    let mut line = Vec::new();
    let read = process.out.read_until(b'\n', &mut line);
    let read = read.map_err(|source| process.pipe_error(source))?;
    if read == 0 {
        let ended = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        return Err(process.pipe_error(ended));
    }
    let text = String::from_utf8_lossy(&line);
    let mut words = text.split_whitespace().skip(1);
    let kind = match words.next() {
        Some("missing") => return Ok(None),
        Some("commit") => ObjectKind::Commit,
        Some("tree") => ObjectKind::Tree,
        Some("blob") => ObjectKind::Blob,
        Some("tag") => ObjectKind::Tag,
        _ => return Err(repository.unexpected("cat-file", &line)),
    };
    let size = words.next().and_then(|size| size.parse().ok());
    let size = size.ok_or_else(|| repository.unexpected("cat-file", &line))?;
    Ok(Some((kind, size)))
}

fn parse_tree(mut bytes: &[u8], id_len: usize) -> Option<Vec<TreeEntry>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|&byte| byte == b' ')?;
        let nul = bytes.iter().position(|&byte| byte == 0)?;
        let mode = std::str::from_utf8(&bytes[..space]).ok()?;
        let id = bytes.get(nul + 1..nul + 1 + id_len)?;
        entries.push(TreeEntry {
            mode: u32::from_str_radix(mode, 8).ok()?,
            name: bytes.get(space + 1..nul)?.to_vec(),
            id: ObjectId::from_bytes(id)?,
        });
        bytes = &bytes[nul + 1 + id_len..];
    }
    Some(entries)
}

fn parse_commit(bytes: &[u8]) -> Option<Commit> {
    let text = String::from_utf8_lossy(bytes);
    let (head, message) = text.split_once("\n\n").unwrap_or((text.as_ref(), ""));
    let field =
        |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let author = field("author").and_then(|author| author.rfind('>').map(|end| &author[..=end]));
    let committed = field("committer")
        .and_then(|committer| committer.rsplit_once("> ")?.1.split(' ').next()?.parse().ok());
    Some(Commit {
        tree: field("tree")?.parse().ok()?,
        author: author.unwrap_or("").to_owned(),
        committed: committed.unwrap_or(0),
        message: message.to_owned(),
    })
}
