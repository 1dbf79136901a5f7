//! Does the page of `kiln report` work in a browser: no error in the console, nothing from a network, no line wider than the window,
//! tables that sort and copy, strategies that hide, marks that say their line? Needs Chromium.

use std::fs;
use std::path::Path;
use std::process::Command;

use kiln_tests::cli::{Kiln, words};
use kiln_tests::sweeps::{MACHINES, Sweep};
use kiln_tests::tools::{Scratch, found};

/// Runs in the page after its own script; leaves what failed on the root element.
const CHECKS: &str = r#"<script>
(() => {
  const failed = [];
  const check = (name, right) => { if (!right) failed.push(name); };
  const root = document.documentElement;
  check(`no wider than the window: ${root.scrollWidth} > ${innerWidth}`, root.scrollWidth <= innerWidth);
  check("nothing is loaded", performance.getEntriesByType("resource").length === 0);

  const table = document.querySelector("table[aria-label='the fastest at each length']");
  const heads = [...table.tHead.rows[0].cells];
  const column = heads.findIndex((head) => head.textContent.startsWith("ticks/"));
  const keys = () => [...table.tBodies[0].rows].map((row) => Number(row.cells[column].dataset.k));
  const sorted = [...keys()].sort((a, b) => a - b);
  check("the table is not sorted by itself", String(keys()) !== String(sorted));
  heads[column].querySelector("button").click();
  check("a click sorts", String(keys()) === String(sorted) && sorted.length > 5);
  heads[column].querySelector("button").click();
  check("another click turns it round", String(keys()) === String(sorted.reverse()));
  check("the state is told", heads[column].getAttribute("aria-sort") === "descending");
  const names = heads.findIndex((head) => head.textContent === "fastest");
  heads[names].querySelector("button").click();
  const texts = [...table.tBodies[0].rows].map((row) => row.cells[names].textContent);
  check("u8 stands before u16", texts.indexOf("mulx_adx.u8") >= 0 && texts.indexOf("mulx_adx.u8") < texts.indexOf("mulx_adx.u16"));

  let copied = "";
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { copied = text; } } });
  table.parentElement.querySelector(".copy").click();
  const lines = copied.trimEnd().split("\n").map((line) => line.split("\t"));
  check("a copy has every cell", lines.length === table.rows.length && lines.every((line) => line.length === heads.length));
  check("a copy has every digit", Number(lines[1][column]) === keys()[0]);

  const shown = (selector) => getComputedStyle(document.querySelector(selector)).display !== "none";
  const box = document.querySelector(".legend input[value='1']");
  check("all strategies are shown", shown("figure .t0") && shown("figure .t1"));
  box.click();
  check("a strategy hides", shown("figure .t0") && !shown("figure .t1"));
  box.click();
  check("and comes back", shown("figure .t1"));

  const mark = document.querySelector("svg .mark title").parentElement;
  mark.dispatchEvent(new PointerEvent("pointerover", { bubbles: true, clientX: innerWidth - 5, clientY: 5 }));
  const tip = document.getElementById("tip");
  check("a mark says its line", /ticks\/limb \[.*jsonl:\d+$/.test(tip.textContent));
  const at = tip.getBoundingClientRect();
  check("inside the window", at.left >= 0 && at.right <= innerWidth && at.top >= 0);

  let small = 0, all = 0;
  for (const text of document.querySelectorAll("figure svg text:not(.inside)")) {
    const height = text.getBoundingClientRect().height;
    if (height > 0) { all += 1; small += height < 10 && text.transform.baseVal.length === 0; }
  }
  check(`text can be read: ${small} of ${all} are small`, all > 100 && small === 0);
  root.dataset.checks = failed.length === 0 ? "all passed" : failed.join("; ");
})();
</script>
"#;

fn chromium(scratch: &Scratch, page: &Path, width: u32, more: &[&str]) -> (String, String) {
    let mut command = Command::new("chromium");
    command.args([
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--enable-logging=stderr",
        "--v=0",
    ]);
    command.arg(format!("--user-data-dir={}", scratch.file("browser").display()));
    command.arg(format!("--window-size={width},1000")).args(more).arg(format!("file://{}", page.display()));
    let output = command.output().expect("chromium runs");
    assert!(output.status.success(), "{command:?}: {}", output.status);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// The lines of the console.
fn console(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains(":CONSOLE")).collect()
}

#[test]
fn the_page_works_in_a_browser() {
    const WIDTHS: [u32; 3] = [500, 900, 1400];
    if !found(&["chromium"], 2 * WIDTHS.len()) {
        return;
    }
    let scratch = Scratch::new("report-page");
    let (a, b) = (scratch.file("a.jsonl"), scratch.file("b.jsonl"));
    fs::write(&a, Sweep::usual(1).text()).expect("the scratch directory is writable");
    let schedules = ["source", "seed1", "seed2"].map(str::to_owned).to_vec();
    let other = Sweep { machine: MACHINES[1], schedules, ..Sweep::usual(2) };
    fs::write(&b, other.text()).expect("the scratch directory is writable");
    let out = scratch.file("report.html");
    let program = env!("CARGO_BIN_EXE_kiln-under-test");
    // One machine, and two.
    for files in [vec![&a], vec![&a, &b]] {
        let mut line = words(&[&"report", &"--out", &out]);
        line.extend(files.iter().map(|path| path.as_os_str().to_owned()));
        Kiln::new(program).run(&line).exits(0);
        let html = fs::read_to_string(&out).expect("a page");
        assert!(html.contains("</body>"), "a page ends");
        let checked = scratch.file("checked.html");
        fs::write(&checked, html.replace("</body>", &format!("{CHECKS}</body>")))
            .expect("the scratch directory is writable");
        for width in WIDTHS {
            let (dom, log) = chromium(&scratch, &checked, width, &["--dump-dom"]);
            assert_eq!(console(&log), Vec::<&str>::new(), "{width}");
            let found =
                dom.split_once("data-checks=\"").and_then(|(_, rest)| rest.split_once('"')).map(|(found, _)| found);
            assert_eq!(found, Some("all passed"), "{width}");
        }
    }
}

/// That an error would be seen.
#[test]
fn the_console_is_read() {
    if !found(&["chromium"], 1) {
        return;
    }
    let scratch = Scratch::new("report-console");
    let page = scratch.file("bad.html");
    fs::write(&page, "<script>missing()</script>").expect("the scratch directory is writable");
    let (_, log) = chromium(&scratch, &page, 500, &["--dump-dom"]);
    assert!(console(&log).iter().any(|line| line.contains("missing is not defined")), "{log}");
}
