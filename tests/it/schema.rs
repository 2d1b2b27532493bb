//! A validator for the JSON schema of SARIF, draft 7. It knows the keywords that this schema has, and refuses a schema
//! with any other keyword, so that no requirement is skipped. A validator of all of JSON Schema is a library that takes
//! longer to build than everything else of the tests.

use crate::support::read;
use fancy_regex::Regex;
use serde_json::{Map, Value, json};

/// Keywords that require nothing.
const SILENT: [&str; 6] = ["$schema", "$id", "title", "description", "default", "definitions"];

/// Keywords that [`Schema::check`] knows.
const KNOWN: [&str; 14] = [
    "type",
    "enum",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "minItems",
    "uniqueItems",
    "minimum",
    "maximum",
    "pattern",
    "format",
    "anyOf",
    "oneOf",
];

/// A schema whose keywords are all known.
pub(crate) struct Schema(Value);

impl Schema {
    /// Panics if the schema has a keyword that is not known, or names a definition that it does not have.
    pub(crate) fn new(schema: Value) -> Self {
        let read = Self(schema);
        read.see(&read.0);
        for definition in read.0["definitions"].as_object().into_iter().flatten() {
            read.see(definition.1);
        }
        read
    }

    fn see(&self, schema: &Value) {
        // `true` allows everything, `false` nothing.
        let Some(schema) = schema.as_object() else { return assert!(schema.is_boolean(), "{schema}") };
        if let Some(name) = schema.get("$ref") {
            self.definition(name);
            return;
        }
        for (keyword, value) in schema {
            assert!(SILENT.contains(&&**keyword) || KNOWN.contains(&&**keyword), "unknown keyword `{keyword}`");
            match (&**keyword, value) {
                ("properties", Value::Object(all)) => all.values().for_each(|one| self.see(one)),
                ("anyOf" | "oneOf", Value::Array(all)) => all.iter().for_each(|one| self.see(one)),
                ("items" | "additionalProperties", one) => self.see(one),
                ("format", format) => assert!(has_format("", format.as_str().expect("a name")).is_some(), "{format}"),
                _ => {}
            }
        }
    }

    fn definition(&self, name: &Value) -> &Value {
        let name = name.as_str().and_then(|name| name.strip_prefix("#/definitions/")).expect("a definition");
        self.0["definitions"].get(name).unwrap_or_else(|| panic!("there is no definition `{name}`"))
    }

    /// Returns what is wrong with a value, each with its place.
    pub(crate) fn errors(&self, value: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        self.check(&self.0, value, "", &mut errors);
        errors
    }

    fn holds(&self, schema: &Value, value: &Value) -> bool {
        let mut errors = Vec::new();
        self.check(schema, value, "", &mut errors);
        errors.is_empty()
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
        let Some(keywords) = schema.as_object() else {
            if schema == false {
                errors.push(format!("{at}: not allowed"));
            }
            return;
        };
        // In draft 7 a reference replaces everything beside it.
        if let Some(name) = keywords.get("$ref") {
            return self.check(self.definition(name), value, at, errors);
        }
        for (keyword, required) in keywords {
            if !self.one(keyword, required, value) {
                errors.push(format!("{at}: `{keyword}` requires {required}, not {value}"));
            }
        }
        if let Value::Object(members) = value {
            self.members(keywords, members, at, errors);
        }
        if let (Value::Array(all), Some(items)) = (value, keywords.get("items")) {
            for (i, one) in all.iter().enumerate() {
                self.check(items, one, &format!("{at}/{i}"), errors);
            }
        }
    }

    // Checks the members of an object.
    fn members(&self, keywords: &Map<String, Value>, members: &Map<String, Value>, at: &str, errors: &mut Vec<String>) {
        for (name, member) in members {
            let own = keywords.get("properties").and_then(|properties| properties.get(name));
            if let Some(schema) = own.or_else(|| keywords.get("additionalProperties")) {
                self.check(schema, member, &format!("{at}/{name}"), errors);
            }
        }
    }

    // Returns whether a value meets one keyword. A keyword requires nothing of values of another type.
    fn one(&self, keyword: &str, required: &Value, value: &Value) -> bool {
        let list = || required.as_array().expect("a list").iter();
        match (keyword, value) {
            ("type", value) => has_type(value, required.as_str().expect("a name")),
            ("enum", value) => list().any(|one| one == value),
            ("anyOf", value) => list().any(|schema| self.holds(schema, value)),
            ("oneOf", value) => list().filter(|schema| self.holds(schema, value)).count() == 1,
            ("required", Value::Object(members)) => {
                list().all(|name| members.contains_key(name.as_str().expect("a name")))
            }
            ("minItems", Value::Array(all)) => all.len() as u64 >= required.as_u64().expect("a number"),
            ("uniqueItems", Value::Array(all)) => {
                required == false || (1..all.len()).all(|i| !all[..i].contains(&all[i]))
            }
            ("minimum", Value::Number(n)) => n.as_f64() >= required.as_f64(),
            ("maximum", Value::Number(n)) => n.as_f64() <= required.as_f64(),
            ("pattern", Value::String(text)) => {
                let pattern = Regex::new(required.as_str().expect("a pattern")).expect("a pattern");
                pattern.is_match(text).expect("no backtracking")
            }
            ("format", Value::String(text)) => has_format(text, required.as_str().expect("a name")) == Some(true),
            _ => true,
        }
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|n| n.fract() == 0.0),
        other => panic!("unknown type `{other}`"),
    }
}

/// Returns whether a text has a format. `None` if the format is not known.
fn has_format(text: &str, name: &str) -> Option<bool> {
    let matches = |pattern: &str| Regex::new(pattern).expect("a pattern").is_match(text).expect("no backtracking");
    // RFC 3986: the characters of a URI, and its scheme.
    let in_uri = r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*$";
    match name {
        "uri" => Some(matches(&format!("^[A-Za-z][A-Za-z0-9+.-]*:{in_uri}"))),
        "uri-reference" => Some(matches(&format!("^{in_uri}"))),
        "date-time" => Some(matches(r"^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$")),
        _ => None,
    }
}

/// Returns the schema of OASIS as the crate serde-sarif ships it (`tests/data/README.md`).
pub(crate) fn sarif_schema() -> Schema {
    Schema::new(serde_json::from_str(&read("tests/data/sarif/sarif-schema-2.1.0.json")).expect("JSON"))
}

/// Returns a log as data. Panics if it does not meet the schema.
pub(crate) fn valid(schema: &Schema, log: &str) -> Value {
    let log: Value = serde_json::from_str(log).expect("JSON");
    let errors = schema.errors(&log);
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    log
}

#[test]
fn each_keyword_is_checked() {
    let cases = [
        (json!({ "type": "integer" }), json!(3.0), json!(3.5)),
        (json!({ "type": "object" }), json!({}), json!([])),
        (json!({ "enum": ["a", 1] }), json!(1), json!(2)),
        (json!({ "required": ["a"] }), json!({ "a": 1 }), json!({ "b": 1 })),
        (json!({ "properties": { "a": { "type": "string" } } }), json!({ "a": "" }), json!({ "a": 1 })),
        (json!({ "properties": { "a": {} }, "additionalProperties": false }), json!({ "a": 1 }), json!({ "b": 1 })),
        (json!({ "additionalProperties": { "minimum": 2 } }), json!({ "a": 2 }), json!({ "a": 1 })),
        (json!({ "items": { "maximum": 2 } }), json!([2]), json!([1, 3])),
        (json!({ "minItems": 1 }), json!([1]), json!([])),
        (json!({ "uniqueItems": true }), json!([1, 2]), json!([{ "a": 1 }, 2, { "a": 1 }])),
        (json!({ "pattern": "^a+$" }), json!("aa"), json!("ab")),
        (json!({ "format": "uri" }), json!("file:///a%20b"), json!("a b")),
        (json!({ "format": "uri-reference" }), json!("a/b"), json!("a\\b")),
        (json!({ "format": "date-time" }), json!("2026-01-02T03:04:05Z"), json!("yesterday")),
        (json!({ "anyOf": [{ "type": "string" }, { "minimum": 5 }] }), json!(5), json!(4)),
        (json!({ "oneOf": [{ "type": "integer" }, { "minimum": 5 }] }), json!(4), json!(5)),
        (json!({ "$ref": "#/definitions/a", "definitions": { "a": { "type": "string" } } }), json!(""), json!(1)),
    ];
    for (schema, good, bad) in cases {
        let read = Schema::new(schema.clone());
        assert_eq!(read.errors(&good), [""; 0], "{schema}");
        assert_eq!(read.errors(&bad).len(), 1, "{schema}: {bad}");
    }
}

#[test]
#[should_panic(expected = "unknown keyword `maxItems`")]
fn an_unknown_keyword_is_refused() {
    Schema::new(json!({ "properties": { "a": { "items": { "maxItems": 1 } } } }));
}

#[test]
fn broken_logs_do_not_meet_the_schema_of_sarif() {
    let schema = sarif_schema();
    let log = json!({
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "raceflip", "informationUri": "https://example.org/" } },
            "results": [{
                "message": { "text": "a race" },
                "level": "error",
                "locations": [{ "physicalLocation": { "region": { "startLine": 1 } } }],
            }],
        }],
    });
    assert_eq!(schema.errors(&log), [""; 0]);
    let breaks = [
        ("/version", json!("2.0.0")),
        ("/runs/0/tool/driver/name", json!(1)),
        ("/runs/0/tool/driver", json!({})),
        ("/runs/0/tool/driver/informationUri", json!("no address")),
        ("/runs/0/results/0/level", json!("fatal")),
        ("/runs/0/results/0/message", json!({ "texts": "a race" })),
        ("/runs/0/results/0/locations/0/physicalLocation/region/startLine", json!(0)),
        ("/runs/0/results/0/locations", json!({})),
    ];
    for (place, value) in breaks {
        let mut broken = log.clone();
        *broken.pointer_mut(place).expect("the log has it") = value;
        let errors = schema.errors(&broken);
        assert!(errors.iter().any(|error| error.starts_with(place)), "{place}: {errors:?}");
    }
}
