//! The file of a sweep: lines are only ever appended, one write each, so that whatever ends the process costs at most the line
//! that was being written.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::record::{Header, Point, Record, SCHEMA};
use crate::failure::Failure;

/// Longest line that is read back: a point with the most windows is far below it.
const LONGEST: u64 = 16 << 20;

/// What a file holds already.
#[derive(Default)]
pub struct Recorded {
    /// Its points by identity, without their windows; of several with one identity the last.
    pub points: HashMap<String, Point>,
    /// Its headers.
    pub headers: Vec<Header>,
    /// Lines that are neither, with their numbers from 1.
    pub damaged: Vec<u64>,
    /// Bytes of a last line without its end.
    pub torn: u64,
    /// Whether all of it is the beginning of a header that was not finished.
    pub is_beginning: bool,
}

/// An open file.
pub struct Store {
    file: File,
    path: PathBuf,
}

impl Store {
    /// Opens a file to append to, and locks it. With `resume` it may hold points already; a last line that was not finished is
    /// cut off.
    ///
    /// # Errors
    /// It exists and `resume` is not asked for; it is no file of a sweep; another process writes to it; or the system refuses.
    pub fn open(path: &Path, resume: bool) -> Result<(Store, Recorded), Failure> {
        let refuse = |why: io::Error| Failure::Unwritable { path: path.to_owned(), why };
        let usage = |what: &str| Failure::Usage(format!("{} {what}", path.display()));
        // Before it is opened: to open a pipe may take for ever.
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return Err(usage("is no regular file, and a sweep is read again to go on"));
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(refuse)?;
        // Other errors: some file systems know no locks.
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(usage("is being written by another sweep"));
        }
        let length = file.metadata().map_err(refuse)?.len();
        if length > 0 && !resume {
            return Err(Failure::Exists(path.to_owned()));
        }
        let recorded = read(&mut file).map_err(refuse)?;
        // What was killed while it wrote its first line leaves the beginning of a header.
        if recorded.headers.is_empty() && recorded.points.is_empty() && length > 0 && !recorded.is_beginning {
            return Err(usage("is no file of a sweep: nothing in it was changed"));
        }
        file.set_len(length - recorded.torn).map_err(refuse)?;
        Ok((Store { file, path: path.to_owned() }, recorded))
    }

    /// Appends a line.
    ///
    /// # Errors
    /// The system refuses.
    pub fn append(&mut self, record: &Record) -> Result<(), Failure> {
        let line = format!("{}\n", record.line());
        self.file.write_all(line.as_bytes()).map_err(|why| Failure::Unwritable { path: self.path.clone(), why })
    }

    /// Has the system write out what was appended.
    ///
    /// # Errors
    /// The system refuses.
    pub fn sync(&self) -> Result<(), Failure> {
        match self.file.sync_data() {
            Err(why) => Err(Failure::Unwritable { path: self.path.clone(), why }),
            Ok(()) => Ok(()),
        }
    }
}

fn read(file: &mut File) -> io::Result<Recorded> {
    let mut recorded = Recorded::default();
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        number += 1;
        let length = reader.by_ref().take(LONGEST).read_until(b'\n', &mut line)? as u64;
        if length == 0 {
            return Ok(recorded);
        }
        if line.last() != Some(&b'\n') {
            if length == LONGEST {
                // Far too long: the rest of it belongs to it.
                recorded.damaged.push(number);
                while !line.is_empty() && line.last() != Some(&b'\n') {
                    line.clear();
                    reader.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
                }
                continue;
            }
            recorded.torn = length;
            let beginning = format!("{{\"schema\":\"{SCHEMA}\",\"kind\":\"header\"");
            let shared = line.len().min(beginning.len());
            recorded.is_beginning = number == 1 && line[..shared] == beginning.as_bytes()[..shared];
            return Ok(recorded);
        }
        if let Ok(header) = serde_json::from_slice::<Header>(&line) {
            recorded.headers.push(header);
        } else if let Ok(mut point) = serde_json::from_slice::<Point>(&line) {
            point.windows = Vec::new();
            recorded.points.insert(point.id.clone(), point);
        } else if !line.iter().all(u8::is_ascii_whitespace) {
            recorded.damaged.push(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"schema":"kiln.sweep/1","kind":"header","run":"00000000000000aa","cpu":{},"timer":{}}"#;
    const POINT: &str = r#"{"kind":"point","run":"00000000000000aa","id":"1","kernel":"k.m","variant":"s.u7","strategy":"s","n":64,"state":"measured","windows":[1,2]}"#;

    fn path(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("kiln-store-{name}-{}.jsonl", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    #[test]
    fn a_torn_line_is_cut_and_damaged_ones_are_counted() {
        let path = path("torn");
        let whole = format!("{HEADER}\n{POINT}\nnonsense\n\u{7f}\n\n");
        std::fs::write(&path, format!("{whole}{}", &POINT[..40])).unwrap();
        assert!(matches!(Store::open(&path, false), Err(Failure::Exists(_))));
        let (mut store, recorded) = Store::open(&path, true).unwrap();
        assert_eq!((recorded.headers.len(), recorded.points.len(), recorded.damaged), (1, 1, vec![3, 4]));
        let point: Point = serde_json::from_str(POINT).unwrap();
        store.append(&Record::from(point)).unwrap();
        store.sync().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(&whole) && text.lines().count() == 6, "{text}");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn other_files_and_files_in_use_are_left_alone() {
        let path = path("foreign");
        for text in ["int main(){\n  return 0;\n} // end", "\n", "{\"schema\":\"kiln.bench/1\""] {
            std::fs::write(&path, text).unwrap();
            assert!(matches!(Store::open(&path, true), Err(Failure::Usage(why)) if why.contains("no file of a sweep")));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        for cut in [1, 20, HEADER.len() - 1] {
            std::fs::write(&path, &HEADER[..cut]).unwrap();
            assert_eq!(Store::open(&path, true).unwrap().1.torn, cut as u64);
        }
        std::fs::write(&path, format!("{HEADER}\n")).unwrap();
        let (store, _) = Store::open(&path, true).unwrap();
        assert!(matches!(Store::open(&path, true), Err(Failure::Usage(why)) if why.contains("another sweep")));
        drop(store);
        assert!(Store::open(&path, true).is_ok());
        std::fs::remove_file(path).unwrap();
        let device = Path::new("/dev/full");
        assert!(matches!(Store::open(device, false), Err(Failure::Usage(why)) if why.contains("no regular file")));
    }

    #[test]
    fn a_new_file_is_empty() {
        let path = path("new");
        let (_, recorded) = Store::open(&path, true).unwrap();
        assert!(recorded.points.is_empty() && recorded.headers.is_empty() && recorded.torn == 0);
        assert!(Store::open(&path, false).is_ok(), "an empty file may be written to");
        std::fs::remove_file(path).unwrap();
        let nowhere = Path::new("/nonexistent/kiln.jsonl");
        assert!(matches!(Store::open(nowhere, false), Err(Failure::Unwritable { .. })));
    }
}
