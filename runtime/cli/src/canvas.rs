//! What text may look like on the other end: colour, characters, width. Knows no command.

use std::env;
use std::fmt::Display;
use std::io::IsTerminal;

use clap::builder::styling::{AnsiColor, Style};
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, LineStyle, Table, presets};

/// Columns where the other end is not a terminal.
const PLAIN_WIDTH: usize = 100;
/// Narrower than this, nothing fits: text is then cut by the terminal, not by us.
const LEAST_WIDTH: usize = 40;
/// Before every line of a table.
const INDENT: &str = "  ";
/// Blanks between columns: the padding, and the place of a vertical line that is not drawn.
const GAP: usize = PADDING as usize + 1;
const PADDING: u16 = 1;

/// What a piece of text is, so that colours are chosen in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    Plain,
    /// A name that the eye shall find.
    Strong,
    /// Beside the point.
    Faint,
    /// The winner, a check that passed.
    Good,
    /// Out, but not wrong.
    Notice,
    /// Wrong.
    Bad,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    heading: String,
    numeric: bool,
    rank: u8,
    cells: Vec<(Tone, String)>,
}

impl Column {
    /// A column of words.
    pub fn words(heading: impl Into<String>) -> Column {
        Column { heading: heading.into(), numeric: false, rank: 0, cells: Vec::new() }
    }

    /// A column of numbers.
    pub fn numbers(heading: impl Into<String>) -> Column {
        Column { numeric: true, ..Column::words(heading) }
    }

    /// The same column, left out when there is no room: the higher the rank, the sooner.
    #[must_use]
    pub fn rank(self, rank: u8) -> Column {
        Column { rank, ..self }
    }

    /// Adds a cell.
    pub fn push(&mut self, tone: Tone, text: impl Into<String>) {
        self.cells.push((tone, text.into()));
    }

    /// Characters of the longest cell.
    pub fn width(&self) -> usize {
        let cells = self.cells.iter().map(|(_, text)| text.chars().count());
        cells.chain([self.heading.chars().count()]).max().unwrap_or(0)
    }
}

fn cell(tone: Tone, text: &str) -> Cell {
    let cell = Cell::new(text);
    match tone {
        Tone::Plain => cell,
        Tone::Strong => cell.add_attribute(Attribute::Bold),
        Tone::Faint => cell.add_attribute(Attribute::Dim),
        Tone::Good => cell.fg(Color::Green).add_attribute(Attribute::Bold),
        Tone::Notice => cell.fg(Color::Yellow),
        Tone::Bad => cell.fg(Color::Red).add_attribute(Attribute::Bold),
    }
}

/// How results are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canvas {
    /// Whether escape sequences are understood and wanted.
    pub colour: bool,
    /// Whether characters outside ASCII are.
    pub unicode: bool,
    /// Columns.
    pub width: usize,
}

impl Canvas {
    /// For standard output as it is.
    pub fn for_stdout() -> Canvas {
        let terminal = std::io::stdout().is_terminal();
        Canvas {
            colour: terminal && colour_is_wanted(),
            unicode: locale_is_utf8(),
            width: if terminal { terminal_width() } else { PLAIN_WIDTH },
        }
    }

    /// For standard error as it is.
    pub fn for_stderr() -> Canvas {
        let terminal = std::io::stderr().is_terminal();
        Canvas { colour: terminal && colour_is_wanted(), unicode: locale_is_utf8(), width: terminal_width() }
    }

    /// No colour, ASCII, this many columns.
    #[cfg(test)]
    pub const fn plain(width: usize) -> Canvas {
        Canvas { colour: false, unicode: false, width }
    }

    /// Text in a tone.
    pub fn paint(&self, tone: Tone, text: impl Display) -> String {
        let style = match tone {
            Tone::Plain => return text.to_string(),
            Tone::Strong => Style::new().bold(),
            Tone::Faint => Style::new().dimmed(),
            Tone::Good => AnsiColor::Green.on_default().bold(),
            Tone::Notice => AnsiColor::Yellow.on_default(),
            Tone::Bad => AnsiColor::Red.on_default().bold(),
        };
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_string() }
    }

    /// Columns as a table, each line indented by two. What does not fit is left out from the highest rank down; if even
    /// rank 0 does not fit, long cells are wrapped.
    pub fn table(&self, columns: &[Column]) -> String {
        let room = self.width.saturating_sub(INDENT.len());
        let mut kept: Vec<&Column> = columns.iter().collect();
        let needed =
            |kept: &[&Column]| kept.iter().map(|column| column.width() + GAP).sum::<usize>().saturating_sub(GAP);
        while needed(&kept) > room {
            let worst = kept.iter().map(|column| column.rank).max().unwrap_or(0);
            if worst == 0 {
                break;
            }
            kept.retain(|column| column.rank < worst);
        }
        let mut table = Table::new();
        let line = if self.unicode { '─' } else { '-' };
        table.load_style(presets::NOTHING.header_separator(LineStyle::none().fill(line).junction(line)));
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(room).unwrap_or(u16::MAX));
        if self.colour {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        table.set_header(kept.iter().map(|column| cell(Tone::Faint, &column.heading)));
        for row in 0..kept.iter().map(|column| column.cells.len()).max().unwrap_or(0) {
            let cells = kept.iter().map(|column| column.cells.get(row));
            table.add_row(cells.map(|own| own.map_or(Cell::new(""), |(tone, text)| cell(*tone, text))));
        }
        let last = kept.len().saturating_sub(1);
        for (index, column) in kept.iter().enumerate() {
            if let Some(styled) = table.column_mut(index) {
                styled.set_padding((0, if index == last { 0 } else { PADDING }));
                if column.numeric {
                    styled.set_cell_alignment(CellAlignment::Right);
                }
            }
        }
        table.lines().map(|line| format!("{INDENT}{}\n", line.trim_end())).collect()
    }

    /// Words in lines no longer than the canvas: the first line after `first`, the others after as many blanks.
    pub fn wrapped<'a>(&self, first: &str, words: impl IntoIterator<Item = &'a str>) -> String {
        let indent = first.chars().count();
        let mut text = first.to_owned();
        let mut column = indent;
        for word in words {
            let length = word.chars().count();
            if column > indent && column + 1 + length > self.width {
                text.push('\n');
                text.push_str(&" ".repeat(indent));
                column = indent;
            }
            if column > indent {
                text.push(' ');
                column += 1;
            }
            text.push_str(word);
            column += length;
        }
        text.push('\n');
        text
    }
}

fn colour_is_wanted() -> bool {
    let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn locale_is_utf8() -> bool {
    let value = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(env::var_os).find(|value| !value.is_empty());
    value.is_some_and(|value| {
        let value = value.to_string_lossy().to_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}

fn terminal_width() -> usize {
    // comfy-table asks the terminal; it answers nothing where there is none.
    Table::new().width().map_or(PLAIN_WIDTH, |width| usize::from(width).max(LEAST_WIDTH))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        let mut name = Column::words("name");
        let mut ticks = Column::numbers("ticks").rank(1);
        let mut why = Column::words("why").rank(2);
        for (a, b, c) in [("a.u8", "1.50", "fastest"), ("long.name.u16", "12.25", "tie")] {
            name.push(Tone::Good, a);
            ticks.push(Tone::Plain, b);
            why.push(Tone::Faint, c);
        }
        vec![name, ticks, why]
    }

    #[test]
    fn a_table_is_aligned_and_has_no_blanks_at_the_end() {
        let expected = "  name           ticks  why\n  -----------------------------\n  a.u8            1.50  fastest\n  \
                        long.name.u16  12.25  tie\n";
        assert_eq!(Canvas::plain(100).table(&columns()), expected);
    }

    #[test]
    fn a_narrow_table_loses_its_least_columns() {
        let text = Canvas::plain(25).table(&columns());
        assert!(text.contains("12.25") && !text.contains("why") && text.lines().all(|line| line.len() <= 25), "{text}");
        let text = Canvas::plain(20).table(&columns());
        assert!(text.contains("long.name.u16") && !text.contains("ticks"), "{text}");
    }

    #[test]
    fn colour_only_on_request() {
        assert_eq!(Canvas::plain(80).paint(Tone::Good, "x"), "x");
        let colourful = Canvas { colour: true, ..Canvas::plain(80) };
        assert!(colourful.paint(Tone::Good, "x").starts_with('\u{1b}'));
        assert!(colourful.table(&columns()).contains('\u{1b}'));
    }

    #[test]
    fn words_are_wrapped_under_the_first() {
        assert_eq!(Canvas::plain(12).wrapped("  ab  ", ["one", "two", "three"]), "  ab  one\n      two\n      three\n");
        assert_eq!(Canvas::plain(12).wrapped("  ab  ", []), "  ab  \n");
    }
}
