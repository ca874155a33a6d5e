//! A recovered image for the user to inspect.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::BlockError;
use super::foundation::Site;
use super::images::{Image, Images};
use super::record::Recording;
use super::recover::Bay;
use crate::crash::copied::copy_directory;

/// Recovers an image again and copies its tree to `tree` in a directory that exists; of one that cannot be mounted, the image
/// itself to `image`. Gives the path.
pub fn keep(
    site: Site<'_>,
    recording: &Recording,
    image: &Image,
    into: &Path,
) -> Result<PathBuf, BlockError> {
    let at = site.place("kept")?;
    let mut bay = Bay::new(at, recording)?;
    let images = Images::new(recording)?;
    let mountable = bay.ready()?;
    images.make(image, mountable.disk())?;
    if let Ok(recovery) = mountable.mount()? {
        let tree = into.join("tree");
        copy_directory(recovery.work(), &tree)?;
        return Ok(tree);
    }
    // As it was before the kernel tried.
    let mountable = bay.ready()?;
    images.make(image, mountable.disk())?;
    let path = into.join("image");
    let file = File::create_new(&path);
    let written = file.and_then(|file| mountable.disk().write_to(&file));
    written.map_err(BlockError::io(format!("write {}", path.display())))?;
    Ok(path)
}
