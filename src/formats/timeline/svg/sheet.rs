//! The elements of a picture, in layers, and its style. All lengths are whole pixels.

use crate::base::clean;
use quick_xml::Writer;
use quick_xml::events::BytesText;

/// Width of a character of the words. Common monospaced fonts are narrower at this size.
pub(super) const CHAR: i64 = 7;
/// Width of a character of the names of tasks.
pub(super) const SMALL: i64 = 6;

/// A part of the picture: elements that are drawn above those of the layers before it.
pub(super) struct Layer(Writer<Vec<u8>>);

impl Layer {
    pub(super) fn new() -> Self {
        // Each element is on a line of its own.
        Self(Writer::new_with_indent(Vec::new(), b' ', 0))
    }

    /// Adds an element without content.
    pub(super) fn shape<const N: usize>(&mut self, name: &str, class: &str, lengths: [(&str, i64); N]) {
        let lengths = lengths.map(|(name, length)| (name, length.to_string()));
        let element = self.0.create_element(name).with_attribute(("class", class));
        let element = element.with_attributes(lengths.iter().map(|(name, length)| (*name, length.as_str())));
        element.write_empty().expect("a vector takes all");
    }

    /// Adds a path.
    pub(super) fn path(&mut self, class: &str, path: &str) {
        let element = self.0.create_element("path").with_attribute(("class", class)).with_attribute(("d", path));
        element.write_empty().expect("a vector takes all");
    }

    /// Adds a text at the left end of its baseline, or at the place that its class says.
    pub(super) fn text(&mut self, class: &str, (x, y): (i64, i64), text: &str) {
        let (x, y) = (x.to_string(), y.to_string());
        let element = self.0.create_element("text").with_attributes([("class", class), ("x", &x), ("y", &y)]);
        element.write_text_content(BytesText::new(&clean(text))).expect("a vector takes all");
    }

    fn words(&mut self, name: &str, text: &str) {
        self.0.create_element(name).write_text_content(BytesText::new(text)).expect("a vector takes all");
    }

    fn finish(self) -> String {
        String::from_utf8(self.0.into_inner()).expect("all parts are UTF-8")
    }
}

/// Returns the whole picture. `title` and `description` are its texts for those who do not see it.
pub(super) fn picture((width, height): (i64, i64), title: &str, description: &str, layers: [Layer; 3]) -> String {
    let mut top = Layer::new();
    top.words("title", &clean(title));
    top.words("desc", &clean(description));
    top.words("style", STYLE);
    top.shape("rect", "page", [("width", width), ("height", height)]);
    let parts = [top].into_iter().chain(layers).map(Layer::finish).filter(|part| !part.is_empty());
    let parts: Vec<String> = parts.collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n{}\n</svg>\n",
        parts.join("\n")
    )
}

const STYLE: &str = "
text { font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace; fill: #1f2328; white-space: pre }
.title { font-size: 14px; font-weight: bold }
.head { font-weight: bold }
.small { font-size: 10px }
.mid { text-anchor: middle }
.end { text-anchor: end }
.dim { fill: #59636e }
.bad { fill: #b3141d; font-weight: bold }
.page { fill: #ffffff }
.shared { fill: #eff2f5 }
.edge { stroke: #59636e; stroke-dasharray: 6 3 }
.life { stroke: #818b98; stroke-width: 1.5 }
.idle { stroke-dasharray: 1 4 }
.waits { stroke-dasharray: 4 3 }
.task { fill: #ddf4ff; stroke: #0969da }
.arrow { stroke: #59636e; stroke-width: 1.2; fill: none }
.later { stroke-dasharray: 5 3 }
.front { stroke-width: 2.6 }
.tip { fill: #59636e }
.clock { stroke: #818b98; stroke-dasharray: 2 3 }
.step { fill: #1f2328 }
.wait { fill: #ffffff; stroke: #1f2328; stroke-width: 1.5 }
.tick { stroke: #1f2328; stroke-width: 2 }
.acts { stroke: #8250df; stroke-width: 4 }
.open { stroke: #8250df; stroke-width: 1.2 }
.cross { stroke: #b3141d; stroke-width: 2.4; fill: none }
.fails { fill: #ffe2e0 }
.race0 { fill: #ffe6a3 }
.race1 { fill: #d3c4f7 }
.race2 { fill: #b9ecc4 }
.race3 { fill: #ffd0e6 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.dim { fill: #9198a1 }
.bad { fill: #ff8a80 }
.page { fill: #0d1117 }
.shared { fill: #1a212b }
.edge { stroke: #9198a1 }
.life { stroke: #767e89 }
.task { fill: #10304f; stroke: #4493f8 }
.arrow { stroke: #9198a1 }
.tip { fill: #9198a1 }
.clock { stroke: #767e89 }
.step { fill: #e6edf3 }
.wait { fill: #0d1117; stroke: #e6edf3 }
.tick { stroke: #e6edf3 }
.acts { stroke: #c297ff }
.open { stroke: #c297ff }
.cross { stroke: #ff8a80 }
.fails { fill: #4a1a1e }
.race0 { fill: #5a4300 }
.race1 { fill: #43337a }
.race2 { fill: #12492a }
.race3 { fill: #5c2145 }
}
";
