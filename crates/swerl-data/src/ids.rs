//! Names of things in the world: git objects and repositories.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The name of a git object: 20 bytes (SHA-1) or 32 bytes (SHA-256).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    bytes: [u8; 32],
    len: u8,
}

/// A text that is not 40 or 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an object id of 40 or 64 hexadecimal digits")]
pub struct BadObjectId;

impl ObjectId {
    /// The id made of raw bytes; `None` unless there are 20 or 32 of them.
    #[must_use]
    pub fn from_bytes(raw: &[u8]) -> Option<Self> {
        if raw.len() != 20 && raw.len() != 32 {
            return None;
        }
        let mut bytes = [0; 32];
        bytes[..raw.len()].copy_from_slice(raw);
        Some(Self { bytes, len: u8::try_from(raw.len()).ok()? })
    }

    /// The id written as hexadecimal digits.
    ///
    /// # Errors
    /// If `hex` is not exactly 40 or 64 hexadecimal digits.
    pub fn from_hex(hex: &[u8]) -> Result<Self, BadObjectId> {
        if hex.len() != 40 && hex.len() != 64 {
            return Err(BadObjectId);
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).ok_or(BadObjectId);
        let mut bytes = [0; 32];
        for (out, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            *out = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).map_err(|_| BadObjectId)?;
        }
        Ok(Self { bytes, len: u8::try_from(hex.len() / 2).map_err(|_| BadObjectId)? })
    }

    /// The raw bytes, 20 or 32 of them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Whether all bytes are zero: git's way to say "no object".
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.bytes == [0; 32]
    }
}

impl FromStr for ObjectId {
    type Err = BadObjectId;

    fn from_str(text: &str) -> Result<Self, BadObjectId> {
        Self::from_hex(text.as_bytes())
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectId({self})")
    }
}

/// Splits `owner/name` where both parts are made of ASCII letters, digits, `.`, `_`, `-` and
/// neither is `.`, `..` or empty: safe to use as two path components.
#[must_use]
pub fn split_repository_name(name: &str) -> Option<(&str, &str)> {
    let (owner, rest) = name.split_once('/')?;
    let plain = |part: &str| {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        !part.is_empty() && part != "." && part != ".." && part.bytes().all(allowed)
    };
    (plain(owner) && plain(rest)).then_some((owner, rest))
}

/// Where the local clone of a repository is.
pub trait Repositories: Sync {
    /// The folder of the clone of `name` (`owner/name`), bare or not; `None` if there is none.
    fn locate(&self, name: &str) -> Option<PathBuf>;
}

/// Clones laid out as `FOLDER/owner/name.git` or `FOLDER/owner/name`.
#[derive(Debug, Clone)]
pub struct RepositoryFolder {
    root: PathBuf,
}

impl RepositoryFolder {
    /// Clones below `root`.
    #[must_use]
    pub fn new(root: impl AsRef<Path>) -> Self {
        Self { root: root.as_ref().to_path_buf() }
    }
}

impl Repositories for RepositoryFolder {
    fn locate(&self, name: &str) -> Option<PathBuf> {
        let (owner, rest) = split_repository_name(name)?;
        let folder = self.root.join(owner);
        let found = [folder.join(format!("{rest}.git")), folder.join(rest)];
        found.into_iter().find(|path| path.is_dir())
    }
}

impl<F: Fn(&str) -> Option<PathBuf> + Sync> Repositories for F {
    fn locate(&self, name: &str) -> Option<PathBuf> {
        self(name)
    }
}

#[cfg(test)]
mod tests {
    use super::{ObjectId, split_repository_name};

    #[test]
    fn object_ids_round_trip() {
        for text in ["0123456789abcdef0123456789abcdef01234567", &"0f".repeat(32)] {
            let id: ObjectId = text.parse().unwrap();
            assert_eq!(id.to_string(), text);
            assert_eq!(ObjectId::from_bytes(id.as_bytes()), Some(id));
        }
        assert!("0123".parse::<ObjectId>().is_err());
        assert!("g123456789abcdef0123456789abcdef01234567".parse::<ObjectId>().is_err());
        assert!("0".repeat(40).parse::<ObjectId>().unwrap().is_null());
    }

    #[test]
    fn repository_names_stay_inside_their_folder() {
        assert_eq!(split_repository_name("a-b/c.d_e"), Some(("a-b", "c.d_e")));
        for name in ["", "a", "a/", "/b", "a/b/c", "../b", "a/..", "a/.", "a/b c", "a\\x/b"] {
            assert_eq!(split_repository_name(name), None, "{name}");
        }
    }
}
