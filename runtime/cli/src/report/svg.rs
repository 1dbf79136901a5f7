//! Writes SVG: shapes and text with classes. Colours are the style sheet's business.

use std::fmt::{self, Write as _};

/// Text fit for HTML and SVG, also in attributes. Characters that XML does not have become a replacement.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(character),
            _ if kiln_codegen::error::is_unseen(character) || matches!(character, '\u{fffe}' | '\u{ffff}') => {
                safe.push('\u{fffd}');
            }
            _ => safe.push(character),
        }
    }
    safe
}

/// A coordinate: tenths are enough.
struct At(f64);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() as i64;
        match tenths % 10 {
            0 => write!(f, "{}", tenths / 10),
            rest => write!(f, "{}{}.{}", if tenths < 0 { "-" } else { "" }, (tenths / 10).abs(), rest.abs()),
        }
    }
}

/// Which end of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The beginning.
    Start,
    /// The middle.
    Middle,
    /// The end.
    End,
}

/// A picture that is being drawn.
#[derive(Debug)]
pub struct Svg {
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    /// An empty picture.
    pub fn new(width: f64, height: f64) -> Svg {
        Svg { width, height, body: String::new() }
    }

    /// Makes it higher.
    pub fn grow(&mut self, more: f64) {
        self.height += more;
    }

    fn push(&mut self, arguments: fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.body.write_fmt(arguments);
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (At(from.0), At(from.1), At(to.0), At(to.1));
        self.push(format_args!("<path class=\"{class}\" d=\"M{x1} {y1}L{x2} {y2}\"/>"));
    }

    /// Straight lines from one to the next; `closed` makes an area.
    pub fn path(&mut self, class: &str, points: &[(f64, f64)], closed: bool) {
        let mut d = String::new();
        for (index, (x, y)) in points.iter().enumerate() {
            let _ = write!(d, "{}{} {}", if index == 0 { 'M' } else { 'L' }, At(*x), At(*y));
        }
        self.push(format_args!("<path class=\"{class}\" d=\"{d}{}\"/>", if closed { "Z" } else { "" }));
    }

    /// A rectangle with a text that is shown on request. `style` is what no class can say.
    pub fn rect(&mut self, class: &str, style: &str, corner: (f64, f64), size: (f64, f64), title: &str) {
        let (x, y, w, h) = (At(corner.0), At(corner.1), At(size.0.max(0.3)), At(size.1));
        let style = if style.is_empty() { String::new() } else { format!(" style=\"{style}\"") };
        self.push(format_args!("<rect class=\"{class}\"{style} x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\""));
        self.titled("rect", title);
    }

    /// Text.
    pub fn text(&mut self, class: &str, anchor: Anchor, at: (f64, f64), text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y, text) = (At(at.0), At(at.1), escape(text));
        self.push(format_args!("<text class=\"{class}\"{anchor} x=\"{x}\" y=\"{y}\">{text}</text>"));
    }

    /// Text that reads from below.
    pub fn upright(&mut self, class: &str, at: (f64, f64), text: &str) {
        let (x, y, text) = (At(at.0), At(at.1), escape(text));
        self.push(format_args!(
            "<text class=\"{class}\" text-anchor=\"middle\" transform=\"translate({x} {y})rotate(-90)\">{text}</text>"
        ));
    }

    /// A mark whose shape depends on `shape`, with a text that is shown on request.
    pub fn mark(&mut self, class: &str, shape: usize, at: (f64, f64), size: f64, title: &str) {
        let (x, y) = at;
        let r = size;
        let polygon = |points: &[(f64, f64)]| {
            let mut d = String::new();
            for (index, (dx, dy)) in points.iter().enumerate() {
                let _ = write!(d, "{}{} {}", if index == 0 { 'M' } else { 'L' }, At(x + dx * r), At(y + dy * r));
            }
            d + "Z"
        };
        let d = match shape % 6 {
            0 => {
                let (x, y, r, across) = (At(x - r), At(y), At(r), At(2.0 * r));
                format!("M{x} {y}a{r} {r} 0 1 0 {across} 0a{r} {r} 0 1 0 -{across} 0Z")
            }
            1 => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            2 => polygon(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
            3 => polygon(&[(0.0, -1.2), (1.15, 0.9), (-1.15, 0.9)]),
            4 => polygon(&[(0.0, 1.2), (1.15, -0.9), (-1.15, -0.9)]),
            _ => polygon(&[
                (-0.4, -1.2),
                (0.4, -1.2),
                (0.4, -0.4),
                (1.2, -0.4),
                (1.2, 0.4),
                (0.4, 0.4),
                (0.4, 1.2),
                (-0.4, 1.2),
                (-0.4, 0.4),
                (-1.2, 0.4),
                (-1.2, -0.4),
                (-0.4, -0.4),
            ]),
        };
        self.push(format_args!("<path class=\"{class}\" d=\"{d}\""));
        self.titled("path", title);
    }

    fn titled(&mut self, element: &str, title: &str) {
        if title.is_empty() {
            self.push(format_args!("/>"));
        } else {
            self.push(format_args!("><title>{}</title></{element}>", escape(title)));
        }
    }

    /// Begins a group.
    pub fn open(&mut self, class: &str) {
        self.push(format_args!("<g class=\"{class}\">"));
    }

    /// Ends a group.
    pub fn close(&mut self) {
        self.body.push_str("</g>");
    }

    /// The picture, with what it shows for those who do not see it. It is as wide as its place.
    pub fn finish(self, label: &str) -> String {
        let (width, height, label) = (At(self.width), At(self.height), escape(label));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\">{}</svg>",
            self.body
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(
            escape("<a b='c' d=\"e\">&\u{1b}\u{202e}"),
            "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn coordinates_have_tenths() {
        let text = [0.0, 1.0, 1.04, -0.26, 12.96, -3.0, f64::NAN].map(|number| At(number).to_string());
        assert_eq!(text, ["0", "1", "1", "-0.3", "13", "-3", "0"]);
    }

    #[test]
    fn groups_are_closed_and_titles_are_inside() {
        let mut svg = Svg::new(10.0, 5.5);
        svg.open("s0");
        (0..7).for_each(|shape| svg.mark("pt", shape, (1.0, 2.0), 3.0, "<x>"));
        svg.rect("box", "", (0.0, 0.0), (1.0, 1.0), "");
        svg.close();
        let text = svg.finish("what & why");
        assert!(
            text.starts_with("<svg xmlns=")
                && text.contains("viewBox=\"0 0 10 5.5\"")
                && text.contains("what &amp; why")
        );
        assert_eq!(text.matches("<title>&lt;x&gt;</title></path>").count(), 7);
        assert_eq!(text.matches("<g ").count(), text.matches("</g>").count());
    }
}
