//! Fills the templates of the generator with names.

/// Whose names a template gets.
#[derive(Clone, Copy)]
pub(super) struct Names {
    /// Name of the component.
    pub(super) component: &'static str,
    /// Number of the order, which is a part of its names; `None` for harmless work.
    pub(super) number: Option<usize>,
    /// Whether tasks are inside the braces of the component, where they have short names.
    pub(super) inside: bool,
}

impl Names {
    fn outside(&self, name: &str) -> String {
        let number = self.number.map_or(String::new(), |n| n.to_string());
        format!("{}_{name}{number}", self.component.to_lowercase())
    }

    fn task(&self, name: &str) -> String {
        if self.inside { name.to_owned() } else { self.outside(name) }
    }
}

/// Returns a template with all names filled in. `$name` is a task, `%name` another item of the file, `#name` one of the
/// given texts. A line that is a text alone becomes the lines of the text, in the same column; no line if it is empty.
pub(super) fn fill(template: &str, names: &Names, texts: &[(&str, &str)]) -> String {
    let mut out = Vec::new();
    for line in template.lines() {
        let bare = line.trim_start();
        let margin = &line[..line.len() - bare.len()];
        match bare.strip_prefix('#').and_then(|name| texts.iter().find(|(known, _)| *known == name)) {
            Some((_, text)) => out.extend(text.lines().map(|l| format!("{margin}{}", inline(l, names, texts)))),
            None => out.push(format!("{margin}{}", inline(bare, names, texts))),
        }
    }
    out.join("\n")
}

// Fills in the names of one line.
fn inline(line: &str, names: &Names, texts: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['$', '%', '#']) {
        let (before, sign) = rest.split_at(at);
        out += before;
        let name = &sign[1..];
        let name = &name[..name.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(name.len())];
        out += &match &sign[..1] {
            _ if name.is_empty() => sign[..1].to_owned(),
            "$" => names.task(name),
            "%" => names.outside(name),
            _ => texts.iter().find(|(known, _)| *known == name).map_or(String::new(), |(_, text)| (*text).to_owned()),
        };
        rest = &sign[1 + name.len()..];
    }
    out + rest
}

/// Returns the text with each line four columns to the right.
pub(super) fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
