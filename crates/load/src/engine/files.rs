//! The files that a workload sends.

use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat2};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use workload::script::{Act, Script};

use crate::LoadError;

/// Opens the files that this host sends.
pub(super) fn open_all(script: &Script) -> Result<HashMap<String, File>, LoadError> {
    let mut opened = HashMap::new();
    let sent = script.steps().filter_map(|step| match &step.act {
        Act::SendFile(files, _) => Some(files),
        _ => None,
    });
    for file in sent.flatten() {
        let host = |error: io::Error| {
            let is_linked = error.raw_os_error() == Some(libc::ELOOP);
            let advice = if is_linked { "; no symbolic link is followed, name the file itself" } else { "" };
            LoadError::host(format!("opening {}, which the workload sends", file.path), error, advice)
        };
        let open = open_unlinked(&file.path).map_err(host)?;
        let length_bytes = open.metadata().map_err(host)?.len();
        if length_bytes < file.length_bytes {
            let text = format!("{} has {length_bytes} bytes, the workload sends {}", file.path, file.length_bytes);
            return Err(LoadError::Usage(text));
        }
        opened.insert(file.path.clone(), open);
    }
    Ok(opened)
}

/// Opens a file through no symbolic link: the controller resolved the path, and whoever may write to its folder could
/// have put a link there since. `O_NONBLOCK`, because opening a FIFO would block.
fn open_unlinked(path: &str) -> io::Result<File> {
    let how = OpenHow::new().flags(OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK).resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    Ok(File::from(openat2(AT_FDCWD, path, how)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_in_the_place_of_a_file_or_of_its_folder_is_not_followed() {
        let folder = std::env::temp_dir().join(format!("whyperf-files-{}", std::process::id()));
        let real = folder.join("real");
        std::fs::create_dir_all(&real).expect("a folder");
        std::fs::write(real.join("file"), "text").expect("a file");
        symlink(real.join("file"), folder.join("link")).expect("a link to a file");
        symlink(&real, folder.join("linked")).expect("a link to a folder");
        let opened = |name: &str| {
            open_unlinked(&folder.canonicalize().expect("the folder").join(name).to_string_lossy())
                .map(|_| ())
                .map_err(|error| error.raw_os_error())
        };
        assert_eq!(opened("real/file"), Ok(()));
        assert_eq!(opened("link"), Err(Some(libc::ELOOP)));
        assert_eq!(opened("linked/file"), Err(Some(libc::ELOOP)));
        std::fs::remove_dir_all(&folder).expect("removing the folder");
    }
}
