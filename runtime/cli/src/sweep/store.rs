//! The file of a sweep: lines are only ever appended, one write each, so that whatever ends the process costs at most the line
//! that was being written.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::record::{Header, Point, Record};
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
}

/// An open file.
pub struct Store {
    file: File,
    path: PathBuf,
}

impl Store {
    /// Opens a file to append to. With `resume` it may hold points already; a last line that was not finished is cut off.
    ///
    /// # Errors
    /// It exists and `resume` is not asked for, or the system refuses.
    pub fn open(path: &Path, resume: bool) -> Result<(Store, Recorded), Failure> {
        let refuse = |why: io::Error| Failure::Unwritable { path: path.to_owned(), why };
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(refuse)?;
        let length = file.metadata().map_err(refuse)?.len();
        if length > 0 && !resume {
            return Err(Failure::Exists(path.to_owned()));
        }
        let recorded = read(&mut file).map_err(refuse)?;
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
            // A pipe or a device has nothing to write out.
            Err(why) if why.kind() != io::ErrorKind::InvalidInput => {
                Err(Failure::Unwritable { path: self.path.clone(), why })
            }
            _ => Ok(()),
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
