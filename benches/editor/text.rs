//! Generates models of a given length.

use serde_json::{Value, json};
use std::fmt::Write;

/// Number of lines of a part of the model.
const PART: usize = 30;

/// Returns a well-formed model of about this many lines, without warnings.
pub(crate) fn model(lines: usize) -> String {
    let mut text =
        String::from("app \"generated\"\n\nlooper main\nlooper worker\nclass Node { var next: Node; var value = 0 }\n");
    let parts = lines.div_ceil(PART);
    for part in 0..parts {
        let (other, last) = ((part + 1) % parts, (part + parts - 1) % parts);
        // Writing to a text cannot fail.
        let _ = write!(
            text,
            "
// Part {part}: a thread posts to a looper, which changes what the next part reads.
var total{part} = 0
var seen{part} = false
var head{part}: Node
lock gate{part}

thread maker{part} {{
    sync gate{part} {{
        total{part} += 1
        @store{part}: seen{part} = true
    }}
    post handle{part}(total{other}) to main
    post finish{part}() to worker
}}

task handle{part}(amount: int) {{
    // The amount comes from another part.
    let twice = amount * 2
    if twice > 10 && !seen{other} {{
        @load{part}: total{part} = twice
    }} else {{
        head{part} = new Node
    }}
    if head{part} != null {{
        head{part}.value = amount
    }}
}}

task finish{part}() {{ sync gate{part} {{ @late{part}: seen{part} = total{part} > 3 }} }}
expect race @late{part} ~ @load{last}: real
"
        );
    }
    text
}

/// Returns a place in the middle of a model: behind the name that begins a statement.
pub(crate) fn middle(text: &str) -> Result<Value, String> {
    let lines: Vec<&str> = text.lines().collect();
    let half = lines.len() / 2;
    let found = lines.iter().enumerate().skip(half).find(|(_, line)| line.starts_with("        total"));
    let (line, written) = found
        .or_else(|| lines.iter().enumerate().find(|(_, line)| line.starts_with("        total")))
        .ok_or("there is no such line")?;
    let end = written.find(" +=").or_else(|| written.find(" =")).ok_or("there is no assignment")?;
    Ok(json!({ "line": line, "character": end }))
}
