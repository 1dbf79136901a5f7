//! A table, whatever it is about: as HTML that can be sorted and copied, and as Markdown.

use std::fmt::Write as _;

use kiln_codegen::error::visible;

use super::scale::{count, figure, percent};
use super::svg::escape;

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    heads: Vec<Head>,
    rows: Vec<Vec<Cell>>,
    /// Rows that were left out.
    pub left_out: usize,
}

#[derive(Clone, Debug)]
struct Head {
    text: String,
    numeric: bool,
}

/// A cell.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    text: String,
    /// What it is sorted by and copied as, if it is a number.
    number: Option<f64>,
    class: &'static str,
}

impl Cell {
    /// Nothing.
    pub fn none() -> Cell {
        Cell { text: "–".to_owned(), ..Cell::default() }
    }

    /// Words.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// Words that stand in one line.
    pub fn name(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), class: "name", ..Cell::default() }
    }

    /// A name of a variant, a file, a hash.
    pub fn code(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), class: "code", ..Cell::default() }
    }

    /// Something wrong.
    pub fn bad(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), class: "bad", ..Cell::default() }
    }

    /// A number that was measured.
    pub fn figure(number: f64) -> Cell {
        if number.is_finite() { Cell { text: figure(number), number: Some(number), class: "" } } else { Cell::none() }
    }

    /// A number that may be unknown.
    pub fn maybe(number: Option<impl Into<f64>>) -> Cell {
        number.map_or_else(Cell::none, |number| Cell::figure(number.into()))
    }

    /// A value of a parameter.
    pub fn value(number: i64) -> Cell {
        Cell { text: number.to_string(), number: Some(number as f64), class: "" }
    }

    /// A count.
    pub fn count(number: u64) -> Cell {
        Cell { text: count(number), number: Some(number as f64), class: "" }
    }

    /// A fraction.
    pub fn percent(fraction: f64) -> Cell {
        if !fraction.is_finite() {
            return Cell::none();
        }
        Cell { text: percent(fraction), number: Some(fraction), class: "" }
    }

    /// A fraction with its sign.
    pub fn change(fraction: f64) -> Cell {
        let cell = Cell::percent(fraction);
        if fraction > 0.0 { Cell { text: format!("+{}", cell.text), ..cell } } else { cell }
    }
}

impl Table {
    /// A table with these headings; those that begin with `#` are of numbers.
    pub fn new(heads: &[&str]) -> Table {
        let head = |text: &&str| match text.strip_prefix('#') {
            Some(text) => Head { text: text.to_owned(), numeric: true },
            None => Head { text: (*text).to_owned(), numeric: false },
        };
        Table { heads: heads.iter().map(head).collect(), ..Table::default() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.heads.len(), "a cell for each heading");
        self.rows.push(row);
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Keeps the first rows.
    pub fn truncate(&mut self, most: usize) {
        self.left_out += self.rows.len().saturating_sub(most);
        self.rows.truncate(most);
    }

    /// Leaves out the columns that say nothing in any row.
    #[must_use]
    pub fn without_empty_columns(mut self) -> Table {
        let empty = |column: usize| self.rows.iter().all(|row| row[column].text == "–" || row[column].text.is_empty());
        let kept: Vec<bool> = (0..self.heads.len()).map(|column| !empty(column)).collect();
        let mut index = kept.iter();
        self.heads.retain(|_| *index.next().unwrap_or(&true));
        for row in &mut self.rows {
            let mut index = kept.iter();
            row.retain(|_| *index.next().unwrap_or(&true));
        }
        self
    }

    /// As HTML. `label` is what the table is about.
    pub fn html(&self, label: &str) -> String {
        let mut html = format!("<div class=\"table\"><table aria-label=\"{}\"><thead><tr>", escape(label));
        for head in &self.heads {
            let class = if head.numeric { " class=\"n\"" } else { "" };
            let _ = write!(html, "<th scope=\"col\"{class}>{}</th>", escape(&head.text));
        }
        html.push_str("</tr></thead><tbody>\n");
        for row in &self.rows {
            html.push_str("<tr>");
            for (cell, head) in row.iter().zip(&self.heads) {
                let class = match (head.numeric, cell.class) {
                    (true, "") => " class=\"n\"".to_owned(),
                    (true, class) => format!(" class=\"n {class}\""),
                    (false, "") => String::new(),
                    (false, class) => format!(" class=\"{class}\""),
                };
                let key = cell.number.map(|number| format!(" data-k=\"{number}\"")).unwrap_or_default();
                let _ = write!(html, "<td{class}{key}>{}</td>", escape(&cell.text));
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody></table></div>\n");
        if self.left_out > 0 {
            let _ =
                writeln!(html, "<p class=\"note\">{} more rows are left out; --csv has them all.</p>", self.left_out);
        }
        html
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::from("|");
        for head in &self.heads {
            let _ = write!(text, " {} |", prose(&head.text));
        }
        text.push_str("\n|");
        for head in &self.heads {
            text.push_str(if head.numeric { "---:|" } else { "---|" });
        }
        text.push('\n');
        for row in &self.rows {
            text.push('|');
            for cell in row {
                let is_code = cell.class == "code" && !cell.text.contains('`') && !cell.text.is_empty();
                // In code a bar alone needs care.
                let _ = if is_code {
                    write!(text, " `{}` |", visible(&cell.text).replace('|', "\\|"))
                } else {
                    write!(text, " {} |", prose(&cell.text))
                };
            }
            text.push('\n');
        }
        if self.left_out > 0 {
            let _ = write!(text, "\n({} more)\n", self.left_out);
        }
        text
    }
}

/// Text fit for Markdown, also in a cell: no markup, no line's end, nothing that a terminal obeys.
pub fn prose(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '\\' | '|' | '*' | '_' | '[' | ']' => safe.extend(['\\', character]),
            '<' => safe.push_str("&lt;"),
            _ => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["who", "#ticks", "#nothing", "why"]);
        table.push(vec![Cell::code("a|b"), Cell::figure(1.5), Cell::none(), Cell::text("<x>")]);
        table.push(vec![Cell::code("c"), Cell::change(0.025), Cell::figure(f64::NAN), Cell::bad("&")]);
        table.without_empty_columns()
    }

    #[test]
    fn html_has_keys_and_no_markup_of_others() {
        let html = table().html("all \"of\" it");
        assert!(html.contains("<td class=\"n\" data-k=\"1.5\">1.500</td>") && html.contains("&lt;x&gt;"), "{html}");
        assert!(html.contains("aria-label=\"all &quot;of&quot; it\"") && !html.contains("nothing"), "{html}");
        assert!(html.contains("data-k=\"0.025\">+2.5 %"), "{html}");
    }

    #[test]
    fn markdown_keeps_its_columns() {
        let mut table = table();
        table.truncate(1);
        assert_eq!(
            table.markdown(),
            "| who | ticks | why |\n|---|---:|---|\n| `a\\|b` | 1.500 | &lt;x> |\n\n(1 more)\n"
        );
        assert!(table.html("").contains("1 more rows"));
    }
}
