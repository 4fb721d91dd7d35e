//! The folder of compiled libraries.
//!
//! Laws: a library is loaded only if it is to the byte what the compiler wrote for this source, compiler and processor,
//! and nobody but the user can have written it or its folder. What is written becomes visible as a whole, after it is
//! on the disk. Each attempt has a separate folder, which is removed on every path.
//!
//! A library `KEY.so` has its source next to it, `KEY.c`: the code, what it was compiled by, and in the last line the
//! length and the hash of the library. A file that does not fit is written again.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::NativeError;

/// The folder for caches, by the values of `XDG_CACHE_HOME` and `HOME`: paths that are not absolute are ignored, as the
/// standard of these variables says.
pub(super) fn folder_of_caches(xdg: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    xdg.and_then(absolute).or_else(|| Some(home.and_then(absolute)?.join(".cache")))
}

fn file_error(path: &Path) -> impl Fn(io::Error) -> NativeError {
    let path = path.to_path_buf();
    move |e| NativeError::File { path: path.clone(), reason: e.to_string() }
}

/// The fault in the owner or the permissions of a file or folder.
#[cfg(unix)]
fn not_private(data: &fs::Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let (owner, user, mode) = (data.uid(), super::process::unix::user(), data.mode() & 0o7777);
    match () {
        () if owner != user => Some(format!("belongs to the user {owner}, and this is the user {user}")),
        () if mode & 0o022 != 0 => Some(format!("can be written by others, since its mode is {mode:o}")),
        () => None,
    }
}

#[cfg(not(unix))]
fn not_private(_: &fs::Metadata) -> Option<String> {
    None
}

/// Whether a file is there, and is one of the user alone.
///
/// # Errors
/// When it is there, and is not.
fn is_own(path: &Path) -> Result<bool, NativeError> {
    let data = match fs::symlink_metadata(path) {
        Ok(data) => data,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(file_error(path)(e)),
    };
    let fact = if data.is_file() { not_private(&data) } else { Some("is not an ordinary file".into()) };
    fact.map_or(Ok(true), |fact| Err(NativeError::Foreign { path: path.to_path_buf(), fact }))
}

/// A builder of folders for the user alone.
fn private() -> DirBuilder {
    #[cfg_attr(not(unix), allow(unused_mut))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Takes the permissions of all others from a file.
fn make_private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// A folder of the user alone.
#[derive(Debug)]
pub(super) struct Store(PathBuf);

impl Store {
    /// The folder at this path, which is made if it is not there.
    ///
    /// # Errors
    /// When it cannot be made, belongs to another user, or can be written by others.
    pub(super) fn new(folder: &Path) -> Result<Store, NativeError> {
        // A path that begins with `-` would be an option of compilers.
        let folder = std::path::absolute(folder).map_err(file_error(folder))?;
        private().recursive(true).create(&folder).map_err(file_error(&folder))?;
        let data = fs::metadata(&folder).map_err(file_error(&folder))?;
        match not_private(&data) {
            Some(fact) => Err(NativeError::Foreign { path: folder, fact }),
            None => Ok(Store(folder)),
        }
    }

    /// The library of a source, which need not be there.
    pub(super) fn library(&self, source: &str) -> StoredLibrary {
        let mut hasher = DefaultHasher::new();
        source.hash(&mut hasher);
        let stem = format!("{:016x}", hasher.finish());
        let [record, library] = ["c", "so"].map(|extension| self.0.join(&stem).with_extension(extension));
        StoredLibrary { record, library, source: source.to_owned() }
    }

    /// A folder for one attempt to compile.
    pub(super) fn attempt(&self) -> Result<CompilerFolder, NativeError> {
        // Numbers the attempts of the process; other processes have other numbers, and other machines may not.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        self.remove_abandoned();
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = self.0.join(format!("{ATTEMPT}{}-{number}", std::process::id()));
            match private().create(&path) {
                Ok(()) => return Ok(CompilerFolder(path)),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(file_error(&path)(e)),
            }
        }
    }

    /// Removes the folders of attempts whose process was ended: those of yesterday.
    fn remove_abandoned(&self) {
        let Ok(entries) = fs::read_dir(&self.0) else { return };
        for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(ATTEMPT)) {
            let time = entry.metadata().and_then(|data| data.modified());
            if time.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > ABANDONED)) {
                // Somebody else may remove it, too.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// How the names of the folders of attempts begin, and how old one is that nobody needs.
const ATTEMPT: &str = "attempt-";
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// A folder that is removed with its contents.
pub(super) struct CompilerFolder(PathBuf);

impl CompilerFolder {
    pub(super) fn folder(&self) -> &Path {
        &self.0
    }

    /// The source. Its name is the same in all attempts, since compilers write it into libraries.
    pub(super) fn source(&self) -> PathBuf {
        self.0.join("program.c")
    }

    pub(super) fn library(&self) -> PathBuf {
        self.0.join("program.so")
    }

    /// Writes the source.
    pub(super) fn write(&self, code: &str) -> Result<(), NativeError> {
        let path = self.source();
        fs::write(&path, code).map_err(file_error(&path))
    }
}

impl Drop for CompilerFolder {
    fn drop(&mut self) {
        // What cannot be removed now is removed tomorrow.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A library and its source in the folder.
pub(super) struct StoredLibrary {
    record: PathBuf,
    library: PathBuf,
    source: String,
}

/// Length and hash of a library, as a line.
fn digest(library: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(library);
    format!("// The library has {} bytes with the hash {:016x}.\n", library.len(), hasher.finish())
}

impl StoredLibrary {
    pub(super) fn path(&self) -> &Path {
        &self.library
    }

    /// Whether the library is kept here, whole, and of this source.
    ///
    /// # Errors
    /// When files are not of the user alone, or cannot be read.
    pub(super) fn is_kept(&self) -> Result<bool, NativeError> {
        let both = is_own(&self.record)? & is_own(&self.library)?;
        if !both {
            return Ok(false);
        }
        let record = fs::read(&self.record).map_err(file_error(&self.record))?;
        let Some(stated) = record.strip_prefix(self.source.as_bytes()) else { return Ok(false) };
        let library = fs::read(&self.library).map_err(file_error(&self.library))?;
        Ok(stated == digest(&library).as_bytes())
    }

    /// Keeps the library of an attempt: files appear under their names when they are on the disk, the library first.
    pub(super) fn keep(&self, attempt: &CompilerFolder) -> Result<(), NativeError> {
        let (source, library) = (attempt.source(), attempt.library());
        let bytes = fs::read(&library).map_err(file_error(&library))?;
        let written = File::options().append(true).open(&source).and_then(|mut file| {
            file.write_all(digest(&bytes).as_bytes())?;
            file.sync_all()
        });
        written.map_err(file_error(&source))?;
        make_private(&source).map_err(file_error(&source))?;
        let on_disk = File::options().append(true).open(&library).and_then(|file| file.sync_all());
        on_disk.map_err(file_error(&library))?;
        make_private(&library).map_err(file_error(&library))?;
        fs::rename(&library, &self.library).map_err(file_error(&self.library))?;
        fs::rename(&source, &self.record).map_err(file_error(&self.record))?;
        if let Some(folder) = self.library.parent() {
            // Not all file systems have this; files that do not fit are written again.
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_for_caches_are_absolute() {
        let of = |xdg: Option<&str>, home: Option<&str>| {
            folder_of_caches(xdg.map(Into::into), home.map(Into::into)).map(|path| path.to_string_lossy().into_owned())
        };
        let root = if cfg!(windows) { "C:\\" } else { "/" };
        let (cache, home) = (format!("{root}cache"), format!("{root}home"));
        let own = Path::new(&home).join(".cache").to_string_lossy().into_owned();
        assert_eq!(of(Some(&cache), Some(&home)), Some(cache.clone()));
        assert_eq!(of(Some(&cache), None), Some(cache.clone()));
        for ignored in [None, Some(""), Some("cache"), Some("./cache")] {
            assert_eq!(of(ignored, Some(&home)), Some(own.clone()));
            assert_eq!(of(ignored, Some("")), None);
            assert_eq!(of(ignored, Some("home")), None);
            assert_eq!(of(ignored, None), None);
        }
    }

    /// A folder for one test.
    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("polygrad-store-{name}-{}", std::process::id()))
    }

    #[test]
    fn only_whole_files_of_the_source_are_kept() {
        let at = folder("whole");
        let store = Store::new(&at).expect("a folder of the user");
        let stored = store.library("int f;\n");
        assert!(!stored.is_kept().expect("it can be read"));
        let keep = || {
            let attempt = store.attempt().expect("a folder");
            attempt.write("int f;\n").expect("the source is written");
            fs::write(attempt.library(), [7; 1000]).expect("the library is written");
            stored.keep(&attempt).expect("it is kept");
        };
        keep();
        assert!(stored.is_kept().expect("it can be read"));
        assert!(!store.library("int g;\n").is_kept().expect("it can be read"));
        // Cut at every length, longer, and changed.
        for cut in [0, 1, 500, 999] {
            fs::write(&stored.library, vec![7; cut]).expect("the library is cut");
            assert!(!stored.is_kept().expect("it can be read"), "{cut}");
        }
        for changed in [vec![7; 1001], [vec![7; 999], vec![8]].concat()] {
            fs::write(&stored.library, changed).expect("the library is changed");
            assert!(!stored.is_kept().expect("it can be read"));
        }
        keep();
        let record = fs::read(&stored.record).expect("the record");
        for cut in 0..record.len() {
            fs::write(&stored.record, &record[..cut]).expect("the record is cut");
            assert!(!stored.is_kept().expect("it can be read"), "{cut}");
        }
        // The record of another source, which has the same library.
        let other = [b"int g;\n", record.strip_prefix(b"int f;\n").expect("the source is first")].concat();
        fs::write(&stored.record, other).expect("the record is changed");
        assert!(!stored.is_kept().expect("it can be read"));
        keep();
        assert!(stored.is_kept().expect("it can be read"));
        assert_eq!(fs::read_dir(&at).expect("a folder").count(), 2, "a library and its source");
        fs::remove_dir_all(&at).expect("the folder was made");
    }

    #[cfg(unix)]
    #[test]
    fn files_that_others_can_write_are_refused() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let at = folder("others");
        let store = Store::new(&at).expect("a folder of the user");
        let mode = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the mode is changed");
        };
        let stored = store.library("int f;\n");
        let attempt = store.attempt().expect("a folder");
        attempt.write("int f;\n").expect("the source is written");
        fs::write(attempt.library(), [7; 10]).expect("the library is written");
        stored.keep(&attempt).expect("it is kept");
        drop(attempt);
        for path in [&stored.library, &stored.record] {
            for strange in [0o702, 0o720, 0o777] {
                mode(path, strange);
                let fault = stored.is_kept().expect_err("others can write it");
                assert!(matches!(&fault, NativeError::Foreign { path: of, .. } if of == path), "{fault}");
            }
            mode(path, 0o700);
        }
        assert!(stored.is_kept().expect("it can be read"));
        for strange in [0o777, 0o770, 0o1777] {
            mode(&at, strange);
            let fault = Store::new(&at).expect_err("others can write there");
            assert!(fault.to_string().contains("can be written by others"), "{fault}");
        }
        mode(&at, 0o700);
        // A link may lead to a file that somebody else can write.
        let real = at.join("real.so");
        fs::rename(&stored.library, &real).expect("it is there");
        symlink(&real, &stored.library).expect("a link is made");
        assert!(matches!(stored.is_kept(), Err(NativeError::Foreign { .. })));
        // Of another user; only root can give files away.
        fs::remove_file(&stored.library).expect("the link is there");
        fs::rename(&real, &stored.library).expect("it is there");
        for path in [&stored.library, &at] {
            if std::os::unix::fs::chown(path, Some(12345), None).is_ok() {
                let fault = Store::new(&at).and_then(|_| stored.is_kept()).expect_err("it is of another user");
                assert!(fault.to_string().contains("belongs to the user 12345"), "{fault}");
                std::os::unix::fs::chown(path, Some(super::super::process::unix::user()), None)
                    .expect("it is given back");
            }
        }
        fs::remove_dir_all(&at).expect("the folder was made");
    }

    #[test]
    fn attempts_have_folders_of_their_own() {
        let at = folder("attempts");
        let store = Store::new(&at).expect("a folder of the user");
        let attempts: Vec<CompilerFolder> = std::thread::scope(|scope| {
            let make = || (0..20).map(|_| store.attempt().expect("a folder")).collect::<Vec<_>>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
        });
        let paths: std::collections::BTreeSet<&Path> = attempts.iter().map(CompilerFolder::folder).collect();
        assert_eq!(paths.len(), 80);
        // One of yesterday is removed by the next.
        let old = std::time::SystemTime::now() - 2 * ABANDONED;
        let abandoned = at.join(format!("{ATTEMPT}1-1"));
        fs::create_dir(&abandoned).expect("a folder");
        File::open(&abandoned).and_then(|folder| folder.set_modified(old)).expect("the time is changed");
        drop(store.attempt());
        assert!(!abandoned.exists() && attempts.iter().all(|attempt| attempt.folder().exists()));
        drop(attempts);
        assert_eq!(fs::read_dir(&at).expect("a folder").count(), 0);
        fs::remove_dir_all(&at).expect("the folder was made");
    }
}
