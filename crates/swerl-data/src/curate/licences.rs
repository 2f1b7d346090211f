//! The licences of a tree, read once per licence text.

use std::collections::{BTreeSet, HashMap};

use crate::context::text_of;
use crate::error::DataError;
use crate::filter::licence::{NONE, UNKNOWN, identify, is_licence_file};
use crate::git::objects::{ObjectKind, Objects};
use crate::ids::ObjectId;

/// A longer file is no licence, in bytes.
const LONGEST: u64 = 262_144;

/// Licence texts seen so far.
#[derive(Debug, Default)]
pub(super) struct Licences {
    /// Only looked up, never iterated.
    known: HashMap<ObjectId, &'static str>,
}

impl Licences {
    /// The SPDX identifiers of the licence files at the root of a tree; [`NONE`] alone if there is
    /// no such file.
    pub(super) fn of_tree(
        &mut self,
        objects: &mut Objects,
        root: ObjectId,
    ) -> Result<BTreeSet<String>, DataError> {
        let mut found = BTreeSet::new();
        let Some(entries) = objects.tree(root)? else { return Ok([NONE.to_owned()].into()) };
        for entry in entries.iter().filter(|entry| entry.is_file()) {
            let Ok(name) = std::str::from_utf8(&entry.name) else { continue };
            if is_licence_file(name) {
                found.insert(self.of_blob(objects, entry.id)?.to_owned());
            }
        }
        // A file that is not understood beside one that is says nothing.
        if found.len() > 1 {
            found.remove(UNKNOWN);
        }
        if found.is_empty() {
            found.insert(NONE.to_owned());
        }
        Ok(found)
    }

    fn of_blob(&mut self, objects: &mut Objects, id: ObjectId) -> Result<&'static str, DataError> {
        if let Some(name) = self.known.get(&id) {
            return Ok(name);
        }
        let info = objects.info(&[id])?.pop().flatten();
        let readable = info.is_some_and(|(kind, size)| kind == ObjectKind::Blob && size <= LONGEST);
        let object = if readable { objects.read(&[id])?.pop().flatten() } else { None };
        let text = object.and_then(|(_, bytes)| text_of(bytes).ok());
        let name = text.map_or(UNKNOWN, |text| identify(&text));
        self.known.insert(id, name);
        Ok(name)
    }
}
